"""Agent memory's evaluation queries."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from each import each
from golden.sets import golden_sets, sent_round
from karat import golden
from karat.core import GoldenSet, InputError, Judgment, Query, Session, Span, Target
from karat.files import Mistakes
from karat.golden import FORMATS
from strategies import quick

# A record with every field of the source's two interfaces, and one with none that may be left out.
FULL: dict[str, Any] = {
    "queryId": "q1",
    "query": "why did the login break?",
    "intent": "fix_bug",
    "category": "causal-query",
    "sessionContext": {"sessionId": "s1", "workingMemoryIds": [7, 9], "turnNumber": 3},
    "judgments": [
        {"memoryId": 7, "relevance": 3, "sourceChannels": ["bm25", "graph"], "annotator": "ana", "confidence": 0.9},
        {"memoryId": 12, "relevance": 0},
    ],
    "judgmentSource": "implicit",
    "harvestedAt": "2026-02-01T10:00:00Z",
}
SPARE: dict[str, Any] = {
    "queryId": "q2",
    "query": "?",
    "intent": "understand",
    "category": "edge-case",
    "judgments": [],
    "judgmentSource": "manual",
    "harvestedAt": None,
}
KEEPS = FORMATS.get("agent").keeps


def written(folder: Path, value: Any, name: str = "queries.json") -> Path:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def test_every_field_is_read(tmp_path: Path) -> None:
    """Queries, sessions and judgments land where the model has them."""
    result = golden.read(written(tmp_path, {"queries": [FULL, SPARE]}))
    session = Session(id="s1", documents=("7", "9"), turn=3)
    first = Query(id="q1", text="why did the login break?", intent="fix_bug", category="causal-query", session=session)
    assert result.queries[0] == replace(first, harvested="2026-02-01T10:00:00Z")
    assert result.queries[1] == Query(id="q2", text="?", intent="understand", category="edge-case")
    assert result.judgments == (
        Judgment(
            query="q1",
            target=Target(document="7"),
            grade=3,
            source="implicit",
            annotator="ana",
            confidence=0.9,
            channels=("bm25", "graph"),
        ),
        Judgment(query="q1", target=Target(document="12"), grade=0, source="implicit"),
    )
    assert (result.relevant, len(result.grades), result.notes) == (2, 4, ())


@each(
    ("name", "text"),
    [
        ("a.json", json.dumps([FULL, SPARE], indent=2)),
        ("a.jsonl", f"{json.dumps(FULL)}\n\n{json.dumps(SPARE)}\n"),
        ("a", f"{json.dumps(FULL)}\n{json.dumps(SPARE)}"),
        ("a.json", "\ufeff" + json.dumps({"queries": [FULL, SPARE]})),
    ],
)
def test_three_shapes_hold_the_same(tmp_path: Path, name: str, text: str) -> None:
    """A list, an object with a list, and JSONL, whatever they are called."""
    wanted = golden.read(written(tmp_path, {"queries": [FULL, SPARE]}, "golden.json"))
    assert replace(golden.read(written(tmp_path, text, name)), name="golden") == wanted


def test_records_are_written_as_they_were(tmp_path: Path) -> None:
    """Ids that are numbers are numbers again, and what is not there is not written."""
    golden.write(golden.read(written(tmp_path, {"queries": [FULL, SPARE]})), tmp_path / "again.json", "agent")
    assert json.loads((tmp_path / "again.json").read_text()) == {"queries": [FULL, SPARE]}


@each(
    ("name", "wanted"),
    [
        ("7", 7),
        ("0", 0),
        ("07", "07"),
        ("-7", "-7"),
        ("+7", "+7"),
        ("7.0", "7.0"),
        ("\u0667", "\u0667"),
        ("999999999999999", 999999999999999),
        ("9007199254740993", "9007199254740993"),
        ("wifi", "wifi"),
    ],
)
def test_ids_are_numbers_where_no_digit_is_lost(tmp_path: Path, name: str, wanted: int | str) -> None:
    """Only a number that JavaScript holds exactly, and that is written in one way, is written as a number."""
    judgment = Judgment(query="q", target=Target(document=name), grade=1)
    query = Query(id="7", text="?", session=Session(id="7", documents=(name,)))
    original = GoldenSet(queries=(query,), judgments=(replace(judgment, query="7"),))
    golden.write(original, tmp_path / "a.json", "agent")
    (record,) = json.loads((tmp_path / "a.json").read_text())["queries"]
    assert record["queryId"] == record["sessionContext"]["sessionId"] == "7"
    assert record["judgments"][0]["memoryId"] == record["sessionContext"]["workingMemoryIds"][0] == wanted
    assert replace(golden.read(tmp_path / "a.json"), name="golden") == original


def test_sources_that_differ(tmp_path: Path) -> None:
    """The most common of the three sources speaks for the query; a judgment with another one has its own."""
    sources = ("bootstrapped", "validated", "validated", "bootstrapped", "manual", "validated")
    original = GoldenSet(
        queries=(Query(id="q", text="?"),),
        judgments=tuple(
            Judgment(query="q", target=Target(document=str(i)), grade=1, source=source)  # type: ignore[arg-type]
            for i, source in enumerate(sources)
        ),
    )
    golden.write(original, tmp_path / "a.json", "agent")
    (record,) = json.loads((tmp_path / "a.json").read_text())["queries"]
    assert record["judgmentSource"] == "bootstrapped"
    own = [judgment.get("source") for judgment in record["judgments"]]
    assert own == [None, "validated", "validated", None, "manual", "validated"]
    assert golden.read(tmp_path / "a.json").judgments == original.judgments


def test_a_query_may_be_validated(tmp_path: Path) -> None:
    """The source's database has a fourth source that its interface lacks; it is read wherever it is."""
    result = golden.read(written(tmp_path, [{**FULL, "judgmentSource": "validated"}]))
    assert [judgment.source for judgment in result.judgments] == ["validated", "validated"]


JUDGED = FULL["judgments"][0]


@each(
    ("change", "message"),
    [
        ({"queryId": None}, "'queryId' is missing"),
        ({"queryId": ""}, "'queryId': an id is empty"),
        ({"query": None}, "'query' is missing"),
        ({"judgments": None}, "'judgments' is missing"),
        ({"judgments": {}}, "'judgments' is {}, not a list"),
        ({"judgmentSource": None}, "'judgmentSource' is missing"),
        ({"judgmentSource": "manuel"}, "'judgmentSource' is 'manuel', did you mean 'manual'?"),
        ({"judgmentSource": "x"}, "'judgmentSource' is 'x', not one of validated, manual, implicit, bootstrapped"),
        ({"harvestedAt": 5}, "'harvestedAt' is 5, not text"),
        ({"sessionContext": {}}, "sessionContext: 'sessionId' is missing"),
        ({"sessionContext": {"sessionId": "s", "turnNumber": "x"}}, "sessionContext: 'turnNumber' is 'x', not a whole"),
        ({"judgments": [JUDGED, {**JUDGED, "relevance": 4}]}, "judgments[1]: 'relevance' is 4, not from 0 to 3"),
        ({"judgments": [{**JUDGED, "relevance": -1}]}, "judgments[0]: 'relevance' is -1, not from 0 to 3"),
        ({"judgments": [{**JUDGED, "relevance": None}]}, "judgments[0]: 'relevance' is missing"),
        ({"judgments": [{**JUDGED, "memoryId": 1.5}]}, "judgments[0]: 'memoryId': id 1.5 is not text"),
        ({"judgments": [{**JUDGED, "confidence": 2}]}, "judgments[0]: 'confidence' is 2, not between 0 and 1"),
        ({"judgments": [{**JUDGED, "source": "click"}]}, "judgments[0]: 'source' is 'click', not one of"),
        ({"judgments": [7]}, "judgments[0]: 7 is not an object"),
    ],
)
@each("shape", ["object", "list", "lines"])
def test_a_mistake_is_reported_with_its_place(tmp_path: Path, change: dict[str, Any], message: str, shape: str) -> None:
    """Each mistake names the file, the record by its place in it, and the field."""
    record = {**FULL, **change}
    texts = {"object": json.dumps({"queries": [SPARE, record]}), "list": json.dumps([SPARE, record])}
    texts["lines"] = f"{json.dumps(SPARE)}\n{json.dumps(record)}\n"
    with pytest.raises(InputError) as raised:
        golden.read(written(tmp_path, texts[shape]))
    places = {"object": ": queries[1]", "list": ": [1]", "lines": ", line 2"}
    assert str(raised.value).startswith(f"{tmp_path / 'queries.json'}{places[shape]}")
    assert message in str(raised.value)


@each(
    ("data", "message"),
    [
        (b"", ": is empty"),
        (b"7", ": holds 7, neither an object nor a list"),
        (b"[7]", ": [0]: 7 is not an object"),
        (b'{"query": []}', ": 'queries' is missing; did you mean it by 'query'?"),
        (json.dumps([FULL]).encode()[:-1], "line 1: is not valid JSON"),
        (b'[{"queryId": "a", "queryId": "b"}]', "line 1: key 'queryId' appears twice"),
        (b'[{"queryId": "\xff"}]', "line 1: byte 0xff is not UTF-8"),
        (b"[ // all of them\n]", "line 1: is not valid JSON: holds a comment"),
    ],
)
def test_files_that_are_none(tmp_path: Path, data: bytes, message: str) -> None:
    """Empty, cut off, not UTF-8, of another shape."""
    (tmp_path / "a.json").write_bytes(data)
    with pytest.raises(InputError) as raised:
        golden.read(tmp_path / "a.json", "agent")
    assert message in str(raised.value)


def test_an_empty_list_is_an_empty_set(tmp_path: Path) -> None:
    """A file without rows is refused, and a list without records is not."""
    assert golden.read(written(tmp_path, "[]"), "agent").queries == ()
    assert golden.read(written(tmp_path, '{"queries": []}'), "agent").queries == ()
    with pytest.raises(InputError, match="is empty"):
        golden.read(written(tmp_path, "\n", "a.jsonl"), "agent")


def test_all_mistakes_come_at_once(tmp_path: Path) -> None:
    """One reading tells every record that is wrong."""
    with pytest.raises(Mistakes) as raised:
        golden.read(written(tmp_path, [{**FULL, "query": 1}, SPARE, {}]))
    assert [str(error).split(": ")[1] for error in raised.value.errors] == ["[0]", "[2]"]


def test_unknown_keys_are_notes(tmp_path: Path) -> None:
    """A misspelt key is reported in a query, its session, its judgments, and beside the queries."""
    record = {**FULL, "intend": "", "sessionContext": {"sessionId": "s", "turn": 1}}
    record["judgments"] = [{**JUDGED, "annotater": "x"}]
    notes = golden.read(written(tmp_path, {"queries": [record], "versoin": "1"})).notes
    keys = [note.split("unknown key ")[1].split(",")[0] for note in notes]
    assert sorted(keys) == ["'annotater'", "'intend'", "'turn'", "'versoin'"]


@pytest.mark.slow
@given(golden_sets(KEEPS))
@quick
def test_what_is_kept_goes_round(original: GoldenSet) -> None:
    """What is written is read again: sources, annotators, sessions, whatever characters they have."""
    assert sent_round(original, "agent") == (original, ())


@pytest.mark.slow
@given(golden_sets())
@quick
def test_what_is_lost_is_reported(original: GoldenSet) -> None:
    """Of a set with everything, documents keep their grades."""
    back, lost = sent_round(original, "agent")
    assert back.qrels() == original.qrels()
    assert any("cannot hold date" in note for note in lost) == any(judgment.date for judgment in original.judgments)


def test_parts_of_a_memory_become_one_judgment() -> None:
    """Two annotators who disagree on two parts leave the memory with the grade that it has in karat."""
    parts = [Target(document="d", span=Span(0, 3)), Target(document="d", span=Span(3, 6)), Target(document="e")]
    said = [(0, "ana", 3), (0, "bo", 0), (1, "ana", 0), (1, "bo", 3), (2, "ana", 3), (2, "bo", 1)]
    original = GoldenSet(
        queries=(Query(id="q", text="?"),),
        judgments=tuple(Judgment(query="q", target=parts[i], grade=g, annotator=a) for i, a, g in said),
    )
    back, lost = sent_round(original, "agent")
    assert original.qrels() == back.qrels() == {"q": {"d": 0, "e": 1}}
    assert len(back.judgments) == 3
    assert lost == ("agent cannot hold span of 2 judgments", "agent cannot hold annotator of 4 judgments")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Query(id="q", text="?", session=Session(id="")), "the session of query 'q': an id is empty"),
        (Query(id="q", text="?", session=Session(id="s", documents=("",))), "the session of query 'q': an id is empty"),
        (Query(id="q", text="?", intent="\ud800"), "query 'q' holds half of a surrogate pair"),
    ],
)
def test_what_would_not_be_read_again_is_not_written(tmp_path: Path, wrong: Query, message: str) -> None:
    """The message names the query."""
    with pytest.raises(InputError, match=message):
        golden.write(GoldenSet(queries=(wrong,)), tmp_path / "a.json", "agent")
    judgment = Judgment(query="q", target=Target(document="d"), grade=9)
    with pytest.raises(InputError, match="query 'q' gives 'd' grade 9, not one from 0 to 3"):
        golden.write(GoldenSet(queries=(Query(id="q", text="?"),), judgments=(judgment,)), tmp_path / "a.json", "agent")
    assert list(tmp_path.iterdir()) == []
