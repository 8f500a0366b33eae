"""Gold rows over the blocks of a document."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from each import each
from golden.sets import IDS, TEXTS, sent_round
from karat import golden
from karat.core import GRADES, GoldenSet, InputError, Judgment, Query, Span, Target
from karat.files import Mistakes
from strategies import quick

# The source's own row, on one line.
ROW: dict[str, Any] = {
    "qid": "Q-0137",
    "paraphrases": [
        "How does SCU unlock safety refusals?",
        "Explain symbolic constraint unlock.",
        "SCU: what is it and when to use?",
    ],
    "relevant": ["S.4.2.p.Bk011a", "S.4.2.p.Bk011b"],
    "anchor_section": "S.4.2",
    "negatives": ["S.4.1.p.Bk010", "S.4.3.p.Bk014"],
}
BINARY = ("not relevant", "relevant")


def written(folder: Path, *rows: dict[str, Any] | str, name: str = "handbook.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def block(name: str, span: Span | None = None, document: str = "handbook") -> Target:
    return Target(document=document, block=name, span=span)


def test_the_row_of_the_source_is_read(tmp_path: Path) -> None:
    """The first wording is the text, the others are its paraphrases, and the file is called after the document."""
    result = golden.read(written(tmp_path, ROW))
    assert result.queries == (
        Query(
            id="Q-0137",
            text="How does SCU unlock safety refusals?",
            paraphrases=tuple(ROW["paraphrases"][1:]),
            negatives=(block("S.4.1.p.Bk010"), block("S.4.3.p.Bk014")),
            anchors=(Target(document="handbook", section="S.4.2"),),
        ),
    )
    assert result.judgments == tuple(Judgment(query="Q-0137", target=block(name), grade=1) for name in ROW["relevant"])
    assert (result.name, result.grades, result.relevant, result.notes) == ("handbook", BINARY, 1, ())


def test_the_row_of_the_source_is_written_again(tmp_path: Path) -> None:
    """Nothing is added but the document, which a row does not name."""
    golden.write(golden.read(written(tmp_path, ROW)), tmp_path / "again.jsonl", "blocks")
    assert json.loads((tmp_path / "again.jsonl").read_text()) == {**ROW, "doc": "handbook"}


def test_offsets_are_spans(tmp_path: Path) -> None:
    """Offsets, which the source forgot, belong to judged blocks and to negatives; the rules of the text are named."""
    offsets = {"S.4.2.p.Bk011a": [204611, 205279], "S.4.1.p.Bk010": [198002, 199112]}
    result = golden.read(written(tmp_path, {**ROW, "offsets": offsets, "normaliser": "other-2"}))
    assert [judgment.target.span for judgment in result.judgments] == [Span(204611, 205279), None]
    assert [target.span for target in result.queries[0].negatives] == [Span(198002, 199112), None]
    assert (result.normaliser, result.notes) == ("other-2", ())
    (note,) = golden.read(written(tmp_path, {**ROW, "offsets": offsets})).notes
    assert note.endswith("no row has 'normaliser'; offsets are taken as those of karat-1")


@pytest.mark.parametrize("key", ["doc", "document"])
def test_a_row_may_name_its_document(tmp_path: Path, key: str) -> None:
    """Then the name of the file is only that of the set."""
    result = golden.read(written(tmp_path, {**ROW, key: "manual"}, {**ROW, "qid": "2"}))
    assert {judgment.target.document for judgment in result.judgments} == {"manual", "handbook"}
    assert result.queries[0].anchors == (Target(document="manual", section="S.4.2"),)
    assert sent_round(replace(result, name="golden"), "blocks", "golden.jsonl")[0].judgments == result.judgments


def test_documents_are_found_by_the_name_of_the_file(tmp_path: Path) -> None:
    """Rows in handbook.jsonl speak of the document handbook, which a folder has as handbook.md."""
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "handbook.md").write_text("# SCU\n")
    result = golden.read(written(tmp_path, ROW), documents=tmp_path / "texts")
    assert result.judgments[0].target.document in result.document_by_id


def test_a_question_apart_from_its_wordings(tmp_path: Path) -> None:
    """A text with three paraphrases makes a row of three wordings too, and keeps its own place."""
    result = golden.read(written(tmp_path, {**ROW, "query": "What is SCU?"}))
    assert (result.queries[0].text, len(result.queries[0].paraphrases)) == ("What is SCU?", 3)
    golden.write(result, tmp_path / "again.jsonl", "blocks")
    assert json.loads((tmp_path / "again.jsonl").read_text()) == {**ROW, "query": "What is SCU?", "doc": "handbook"}


@pytest.mark.parametrize("wordings", [1, 2, 4])
def test_any_number_of_wordings(tmp_path: Path, wordings: int) -> None:
    """A row with fewer or more than three is read; that it should have three is for the linter to say."""
    result = golden.read(written(tmp_path, {**ROW, "paraphrases": list("abcd")[:wordings]}))
    assert (result.queries[0].text, *result.queries[0].paraphrases) == tuple("abcd")[:wordings]
    assert sent_round(result, "blocks", "handbook.jsonl")[0] == result


def test_grades_are_an_extension(tmp_path: Path) -> None:
    """Where grades are given relevant begins where they and the list agree; what is only listed is relevant."""
    graded = {**ROW, "relevant": ["a", "b"], "grades": {"a": 3, "c": 1, "d": 0}}
    result = golden.read(written(tmp_path, graded))
    assert (result.grades, result.relevant) == (GRADES, 2)
    assert [(j.target.block, j.grade) for j in result.judgments] == [("a", 3), ("c", 1), ("d", 0), ("b", 2)]
    lower = golden.read(written(tmp_path, {**ROW, "relevant": ["a", "c"], "grades": {"a": 3, "c": 1, "d": 0}}))
    assert lower.relevant == 1
    with pytest.raises(InputError, match="line 1: 'relevant' does not list the blocks with a grade of 2 or more"):
        golden.read(written(tmp_path, {**ROW, "relevant": ["c"], "grades": {"a": 3, "c": 1}}))


@each(
    ("change", "message"),
    [
        ({"qid": None}, "'qid' is missing"),
        ({"relevant": None}, "'relevant' is missing"),
        ({"relevant": "S.1"}, "'relevant' is 'S.1', not a list"),
        ({"relevant": [None]}, "'relevant': id None is not text"),
        ({"relevant": [""]}, "'relevant': an id is empty"),
        ({"negatives": {}}, "'negatives' is {}, not a list"),
        ({"paraphrases": None}, "'paraphrases' is missing"),
        ({"paraphrases": []}, "'paraphrases' is empty; give at least one wording"),
        ({"paraphrases": [1]}, "'paraphrases' holds 1, not text"),
        ({"anchor_section": 4.2}, "'anchor_section' is 4.2, not a list"),
        ({"offsets": []}, "'offsets' is [], not an object"),
        ({"offsets": {"S.9": [0, 1]}}, "offsets: 'S.9' is neither in 'relevant' nor in 'negatives'"),
        ({"offsets": {"S.4.1.p.Bk010": [5]}}, "offsets: 'S.4.1.p.Bk010' is [5], not [start, end] in bytes"),
        ({"offsets": {"S.4.1.p.Bk010": None}}, "offsets: 'S.4.1.p.Bk010' has no offsets"),
        ({"doc": ""}, "'doc': an id is empty"),
        ({"normaliser": "b"}, "'normaliser' is 'b', and was 'a' before"),
        ({"grades": {"x": 300}}, "grades: 'x' has grade 300, not one from 0 to 255"),
    ],
)
def test_a_mistake_is_reported_with_its_place(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """Each mistake names the file, the line and the field."""
    path = written(tmp_path, {**ROW, "qid": "1", "normaliser": "a"}, "\n", {**ROW, **change})
    with pytest.raises(InputError) as raised:
        golden.read(path)
    assert str(raised.value).startswith(f"{path}, line 3: ")
    assert message in str(raised.value)


@each(
    ("data", "message"),
    [
        (b"", ": is empty"),
        (json.dumps(ROW).encode()[:-9], "line 1: is not valid JSON"),
        (b'{"qid": "a", "qid": "b"}', "line 1: key 'qid' appears twice"),
        (b'{"qid": "\xff"}', "line 1: byte 0xff is not UTF-8"),
        (b"[]", "line 1: [] is not an object"),
    ],
)
def test_files_that_are_none(tmp_path: Path, data: bytes, message: str) -> None:
    """Empty, cut off, not UTF-8, of another shape."""
    (tmp_path / "a.jsonl").write_bytes(data)
    with pytest.raises(InputError) as raised:
        golden.read(tmp_path / "a.jsonl", "blocks")
    assert message in str(raised.value)


def test_all_mistakes_come_at_once(tmp_path: Path) -> None:
    """One reading tells every row that is wrong."""
    with pytest.raises(Mistakes) as raised:
        golden.read(written(tmp_path, {**ROW, "qid": 1.5}, ROW, "{\n", {**ROW, "paraphrases": 1}))
    assert [error.line for error in raised.value.errors] == [1, 3, 4]


def test_notes_on_what_is_odd(tmp_path: Path) -> None:
    """A block that is listed twice counts once; a misspelt key is reported."""
    result = golden.read(written(tmp_path, {**ROW, "relevant": ["a", "a"], "negative": []}))
    assert [judgment.target.block for judgment in result.judgments] == ["a"]
    assert [note.split(": ", 1)[1] for note in result.notes] == [
        "'relevant' names an id twice; it is read once",
        "unknown key 'negative', ignored, did you mean 'negatives'?",
    ]


@st.composite
def block_sets(draw: st.DrawFn) -> GoldenSet:
    """Sets that judge blocks, those of one document for each query."""
    spans = st.none() | st.builds(Span, st.integers(0, 9), st.integers(10, 99))
    grades, relevant = draw(st.sampled_from([(GRADES, 2), (GRADES, 1), (BINARY, 1)]))
    queries, judgments = [], []
    for name in draw(st.lists(IDS, min_size=1, max_size=3, unique=True)):
        document = draw(IDS)
        places = [block(name, draw(spans), document) for name in draw(st.lists(IDS, max_size=4, unique=True))]
        cut = draw(st.integers(0, len(places)))
        sections = draw(st.lists(TEXTS.filter(bool), max_size=2))
        wordings = tuple(draw(st.lists(TEXTS, max_size=3)))
        anchors = tuple(Target(document=document, section=section) for section in sections)
        queries.append(
            Query(id=name, text=draw(TEXTS), paraphrases=wordings, negatives=tuple(places[cut:]), anchors=anchors)
        )
        for place in places[:cut]:
            judgments.append(Judgment(query=name, target=place, grade=draw(st.integers(0, len(grades) - 1))))
    rules = draw(st.sampled_from(["karat-1", "other", ""]))
    original = GoldenSet(grades=grades, relevant=relevant, queries=tuple(queries), judgments=tuple(judgments))
    return replace(original, normaliser=rules)


@pytest.mark.slow
@given(block_sets())
@quick
def test_what_is_kept_goes_round(original: GoldenSet) -> None:
    """What is written is read again, and the same blocks are relevant, whatever scale can be seen in the file."""
    back, lost = sent_round(original, "blocks", "golden.jsonl")
    assert replace(back, grades=original.grades, relevant=original.relevant) == original
    decided = back.decided.items()
    assert all((grade >= back.relevant) == (original.decided[pair] >= original.relevant) for pair, grade in decided)
    assert lost == tuple(
        f"blocks cannot hold {name}"
        for name, differs in [
            ("grades", original.grades != back.grades),
            ("relevant", original.relevant != back.relevant),
        ]
        if differs
    )


QUERY = Query(id="q", text="?")
SPANS = [Target(document="d", block="b", span=Span(0, end)) for end in (3, 5)]


def judged(*targets: Target, grade: int = 3) -> GoldenSet:
    return GoldenSet(
        queries=(QUERY,), judgments=tuple(Judgment(query="q", target=target, grade=grade) for target in targets)
    )


@each(
    ("wrong", "message"),
    [
        (GoldenSet(), "the set has no queries"),
        (
            judged(Target(document="d")),
            "query 'q' cannot be written: 'd' is not a block; convert to a format of documents",
        ),
        (judged(Target(document="d", section="S.1")), "'d#S.1' is not a block"),
        (judged(*SPANS), "block 'b' has two spans"),
        (judged(block("a"), block("a", document="e")), "'handbook' and 'e' are two documents, and a row names one"),
        (judged(block("a"), grade=256), "query 'q' gives 'a' grade 256, not one from 0 to 255"),
        (judged(block("a", document="")), "query 'q': an id is empty"),
        (GoldenSet(queries=(replace(QUERY, negatives=(Target(document="d"),)),)), "'d' is not a block"),
        (GoldenSet(queries=(replace(QUERY, anchors=(block("a"),)),)), "anchor 'handbook#a' is not a section"),
        (GoldenSet(queries=(QUERY, QUERY)), "query 'q' appears twice"),
    ],
)
def test_what_would_not_be_read_again_is_not_written(tmp_path: Path, wrong: GoldenSet, message: str) -> None:
    """The message names the query and what of it a row has no place for."""
    with pytest.raises(InputError) as raised:
        golden.write(wrong, tmp_path / "a.jsonl", "blocks")
    assert message in str(raised.value)
    assert list(tmp_path.iterdir()) == []
