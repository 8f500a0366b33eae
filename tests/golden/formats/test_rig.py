"""rig-retrieval-evals' judgments."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given

from each import each
from golden.sets import golden_sets, sent_round
from karat import golden
from karat.core import GoldenSet, InputError, Judgment, Query, Target
from karat.files import Mistakes
from karat.golden import FORMATS
from strategies import quick

EXAMPLE = """\
{"query_id": "q1", "query": "how?", "relevant_docs": {"doc-7": 2, "doc-9": 1}}

   \t\r
{"query_id": "q2", "query": "why?", "relevant_docs": {"doc-3": 1}, "reference_answer": "because"}
"""
BINARY = ("not relevant", "relevant")
KEEPS = FORMATS.get("rig").keeps


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "qrels.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def row(docs: str) -> str:
    return f'{{"query_id": "q", "query": "?", "relevant_docs": {docs}}}\n'


def test_rows_are_read(tmp_path: Path) -> None:
    """Blank lines are skipped; on three grades relevant begins at 1, as in every other format."""
    result = golden.read(written(tmp_path, EXAMPLE))
    assert (result.name, result.grades, result.relevant) == ("qrels", ("grade 0", "grade 1", "grade 2"), 1)
    assert result.queries == (Query(id="q1", text="how?"), Query(id="q2", text="why?", answer="because"))
    assert result.qrels() == {"q1": {"doc-7": 2, "doc-9": 1}, "q2": {"doc-3": 1}}
    assert not result.notes


def test_rigs_own_rule_for_relevance_is_in_a_note(tmp_path: Path) -> None:
    """On karat's four grades relevant begins at 2, and to rig at 1."""
    graded = EXAMPLE.replace('"doc-7": 2', '"doc-7": 3').replace('"doc-3": 1', '"doc-3": 2')
    (note,) = golden.read(written(tmp_path, graded)).notes
    assert note.endswith("relevant from grade 2 on; to rig itself every grade above 0 is")


def test_a_scale_is_declared_in_the_first_row(tmp_path: Path) -> None:
    """A set whose scale cannot be inferred keeps it; rows that declare different scales are refused."""
    own = GoldenSet(
        grades=("no", "perhaps", "yes"), relevant=2, queries=(Query(id="q", text="?"), Query(id="r", text="?")),
        judgments=(Judgment(query="q", target=Target(document="a"), grade=2),),
    )  # fmt: skip
    assert golden.write(own, tmp_path / "own.jsonl", "rig") == ()
    first, second = (tmp_path / "own.jsonl").read_text().splitlines()
    assert json.loads(first)["scale"] == {"grades": ["no", "perhaps", "yes"], "relevant": 2}
    other = json.dumps({**json.loads(second), "scale": {"grades": ["no", "yes"], "relevant": 1}})
    with pytest.raises(InputError, match="rows declare different scales"):
        golden.read(written(tmp_path, f"{first}\n{other}\n"), "rig")


def test_rows_are_read_packed(tmp_path: Path) -> None:
    """A gzipped file is recognised and read as it is."""
    (tmp_path / "qrels.jsonl.gz").write_bytes(gzip.compress(EXAMPLE.encode()))
    result = golden.read(tmp_path / "qrels.jsonl.gz")
    assert (result.name, len(result.judgments)) == ("qrels", 3)


@each(
    ("docs", "top", "relevant"), [('{"a": 1, "b": 0}', 1, 1), ('{"a": 3}', 3, 2), ('{"a": 255}', 255, 1), ("{}", 1, 1)]
)
def test_the_scale_is_that_of_the_best_grade(tmp_path: Path, docs: str, top: int, relevant: int) -> None:
    """Nothing declares it; a 0 that is written out is a judgment."""
    result = golden.read(written(tmp_path, row(docs)))
    assert (len(result.grades) - 1, result.relevant) == (top, relevant)
    assert result.qrels() == {"q": json.loads(docs)}


@each(
    ("text", "message"),
    [
        (EXAMPLE + "not json\n", "line 5: is not valid JSON"),
        (EXAMPLE + "[]\n", "line 5: [] is not an object"),
        ("\n" + row('{"a": 256}'), "line 2: relevant_docs: 'a' has grade 256, not one from 0 to 255"),
        (row('{"a": -1}'), "line 1: relevant_docs: 'a' has grade -1, not one from 0 to 255"),
        (row('{"a": 1.5}'), "line 1: relevant_docs: 'a' is 1.5, not a whole number"),
        (row('{"a": null}'), "line 1: relevant_docs: 'a' has grade None"),
        (row('{"a": 1, "a": 2}'), "line 1: key 'a' appears twice in one object"),
        (row('["a"]'), "line 1: 'relevant_docs' is ['a'], not an object"),
        ('{"query_id": "q", "query": "?", "relevant_doc": {}}', "'relevant_docs' is missing; did you mean it by"),
        ('{"query": "?", "relevant_docs": {}}', "line 1: 'query_id' is missing"),
        ('{"query_id": "q", "relevant_docs": {}}', "line 1: 'query' is missing"),
        ('{"query_id": "q", "query": "?", "relevant_docs": {}, "reference_answer": 1}', "'reference_answer' is 1, not"),
        (row("{}")[:-5], "line 1: is not valid JSON"),
        (b'\n{"query_id": "\xff"}', "line 2: byte 0xff is not UTF-8"),
        ("", ": is empty"),
        ("\n\n", ": is empty"),
    ],
)
def test_a_mistake_is_reported_with_its_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    """Lines count from 1, blank ones too."""
    with pytest.raises(InputError) as raised:
        golden.read(written(tmp_path, text), "rig")
    assert str(raised.value).startswith(str(tmp_path / "qrels.jsonl"))
    assert message in str(raised.value)


def test_all_mistakes_come_at_once(tmp_path: Path) -> None:
    """One reading tells every line that is wrong."""
    with pytest.raises(Mistakes) as raised:
        golden.read(written(tmp_path, "{\n" + row('{"a": 300}') + row("{}") + "7\n"), "rig")
    assert [error.line for error in raised.value.errors] == [1, 2, 4]


def test_unknown_keys_are_notes(tmp_path: Path) -> None:
    """A misspelt key is reported once for all rows."""
    line = '{"query_id": "q", "query": "?", "relevant_docs": {}, "refrence_answer": "a"}\n'
    (note,) = golden.read(written(tmp_path, line * 3)).notes
    assert note.endswith("(and in 2 more rows), ignored, did you mean 'reference_answer'?")


@pytest.mark.slow
@given(golden_sets(KEEPS))
@quick
def test_what_is_kept_goes_round(original: GoldenSet) -> None:
    """What is written is read again, with its scale and with what has no answer."""
    if not original.queries:
        return
    assert sent_round(original, "rig", "golden.jsonl") == (original, ())


@pytest.mark.slow
@given(golden_sets())
@quick
def test_what_is_lost_is_reported(original: GoldenSet) -> None:
    """Of a set with everything, documents keep their grades."""
    if not original.queries:
        return
    back, lost = sent_round(original, "rig", "golden.jsonl")
    assert back.qrels() == original.qrels()
    assert ("rig cannot hold relevant" in lost) == (original.relevant != back.relevant)


def test_what_would_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    """A set without queries, and a grade that rig has no room for."""
    with pytest.raises(InputError, match="the set has no queries"):
        golden.write(GoldenSet(), tmp_path / "a.jsonl", "rig")
    judgment = Judgment(query="q", target=Target(document="d"), grade=256)
    original = GoldenSet(grades=tuple("g" * 300), queries=(Query(id="q", text="?"),), judgments=(judgment,))
    with pytest.raises(InputError, match="query 'q' gives 'd' grade 256, not one from 0 to 255"):
        golden.write(original, tmp_path / "a.jsonl", "rig")
    assert list(tmp_path.iterdir()) == []


def test_rows_are_written_as_they_were(tmp_path: Path) -> None:
    """An answer that is not there is not written."""
    golden.write(golden.read(written(tmp_path, EXAMPLE)), tmp_path / "again.jsonl", "rig")
    assert (tmp_path / "again.jsonl").read_text().split("\n") == [EXAMPLE.split("\n")[0], EXAMPLE.split("\n")[3], ""]
