"""Converting a golden set does not change a score, or says what was lost."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from each import each
from karat import golden
from karat.core import GRADES, Document, GoldenSet, Hit, InputError, Judgment, Query, Target
from karat.golden import FORMATS
from karat.measures import score_hits

MEASURES = ("RR@10", "R@2", "P@2", "AP@10", "nDCG@10")
BY_RELEVANCE = MEASURES[:-1]
SCALES = [
    (GRADES, 2),
    (GRADES, 1),
    (GRADES, 3),
    (("no", "perhaps", "yes"), 1),
    (("no", "perhaps", "yes"), 2),
    (("0", "1", "2", "3", "4"), 3),
    (("not relevant", "relevant"), 1),
]
WRITTEN = [known.name for known in FORMATS if known.write is not None and known.name != "blocks"]
FOLDERS = {known.name for known in FORMATS if known.folder}
RUN = {
    "q1": [Hit("a", 4.0), Hit("b", 3.0), Hit("c", 2.0), Hit("d", 1.0)],
    "q2": [Hit("d", 4.0), Hit("c", 3.0), Hit("x", 2.0), Hit("a", 1.0)],
    "q3": [Hit("x", 1.0)],
}


def make_set(grades: tuple[str, ...], relevant: int) -> GoldenSet:
    """Two queries with every grade of the scale, and one without an answer."""
    top = len(grades) - 1
    return GoldenSet(
        grades=grades,
        relevant=relevant,
        documents=tuple(Document(id=name, text=f"all about {name}") for name in "abcdx"),
        queries=(
            Query(id="q1", text="first?"),
            Query(id="q2", text="second?"),
            Query(id="q3", text="third?", answerable=False),
        ),
        judgments=tuple(
            Judgment(query=query, target=Target(document=name), grade=grade)
            for query, shift in (("q1", 0), ("q2", 1))
            for name, grade in zip("abcd", ((min(top, i) + shift) % (top + 1) for i in range(4)), strict=True)
        ),
    )


def scores(of: GoldenSet, measures: tuple[str, ...]) -> dict[str, dict[str, float]]:
    """Return the scores of the queries that have an answer, and of the other one where the set says so."""
    table = score_hits(of, RUN, measures)
    return {measure: table.column(measure, ["q1", "q2", *of.unanswerable]) for measure in measures}


def place(folder: Path, format: str) -> Path:
    return folder / (format if format in FOLDERS else f"{format}.json")


@pytest.mark.parametrize("first", WRITTEN)
@pytest.mark.parametrize("scale", SCALES, ids=lambda scale: f"{len(scale[0])} from {scale[1]}")
def test_converting_a_set_does_not_change_a_score(
    tmp_path: Path, first: str, scale: tuple[tuple[str, ...], int]
) -> None:
    """From each format to each other: what is relevant stays relevant, and grades stay unless their loss is told."""
    golden.write(make_set(*scale), place(tmp_path, first), first)
    before = golden.read(place(tmp_path, first), first)
    expected = scores(before, MEASURES)
    for second in WRITTEN:
        if second == first or (not before.documents and second in ("chroma", "deepeval")):  # which hold texts
            continue
        target = place(tmp_path / f"to {second}", second)
        lost = golden.write(before, target, second)
        after = golden.read(target, second)
        result = scores(after, MEASURES)
        stable = BY_RELEVANCE if any("judgments" in loss for loss in lost) else MEASURES
        assert {name: result[name] for name in stable} == {name: expected[name] for name in stable}, (second, lost)
        kept = before.unanswerable == after.unanswerable
        assert kept or "answerable of 1 queries" in " ".join(lost), (second, lost)


def test_a_rig_file_scores_as_its_copy_in_trec(tmp_path: Path) -> None:
    """The case that was found: with grades 1 and 2, RR was 0.5 as rig and 1.0 as TREC."""
    row = '{"query_id": "q1", "query": "?", "relevant_docs": {"a": 1, "b": 2}}\n'
    (tmp_path / "set.jsonl").write_text(row)
    rig = golden.read(tmp_path / "set.jsonl", "rig")
    assert golden.write(rig, tmp_path / "trec", "trec") == ()
    trec = golden.read(tmp_path / "trec")
    run = {"q1": [Hit("a", 2.0), Hit("b", 1.0)]}
    assert score_hits(trec, run, ["RR"]).mean() == score_hits(rig, run, ["RR"]).mean() == {"RR": 1.0}


@pytest.mark.parametrize(("first", "second"), list(permutations(("trec", "beir"), 2)))
def test_a_folder_keeps_a_scale_that_its_grades_do_not_show(tmp_path: Path, first: str, second: str) -> None:
    """The threshold of a set is in scale.toml, through any number of conversions, and only where it is needed."""
    start = make_set(("no", "perhaps", "yes"), 2)
    golden.write(start, tmp_path / "one", first)
    golden.write(golden.read(tmp_path / "one"), tmp_path / "two", second)
    back = golden.read(tmp_path / "two")
    assert (back.grades, back.relevant) == (start.grades, 2)
    golden.write(make_set(GRADES, 2), tmp_path / "usual", first)
    assert not list((tmp_path / "usual").rglob("scale.toml"))


def test_a_scale_that_is_too_short_is_a_mistake(tmp_path: Path) -> None:
    """A folder whose grades go beyond its declared scale is refused."""
    golden.write(make_set(("no", "perhaps", "yes"), 2), tmp_path / "one", "trec")
    (tmp_path / "one" / "scale.toml").write_text('grades = ["no", "yes"]\n')
    with pytest.raises(InputError, match="grades up to 2"):
        golden.read(tmp_path / "one")


@each("name", ["agent", "beir", "beluga", "fit", "karat", "rig"])
def test_what_has_no_answer_is_kept(tmp_path: Path, name: str) -> None:
    """A query without an answer goes round in the formats that have a place for it."""
    assert "query.answerable" in FORMATS.get(name).keeps
    golden.write(make_set(GRADES, 2), place(tmp_path, name), name)
    back = golden.read(place(tmp_path, name), name)
    assert back.unanswerable == {"q3"}
    assert [query.answerable for query in back.queries] == [True, True, False]


@pytest.mark.parametrize("value", ['"no"', "0", "[]"])
def test_an_answer_is_there_or_not(tmp_path: Path, value: str) -> None:
    """Anything but true and false is a mistake."""
    golden.write(make_set(GRADES, 2), tmp_path / "set")
    rows = (tmp_path / "set" / "queries.jsonl").read_text().replace("false", value)
    (tmp_path / "set" / "queries.jsonl").write_text(rows)
    with pytest.raises(InputError, match=r"queries.jsonl, line 3: 'answerable' is .*, neither true nor false"):
        golden.read(tmp_path / "set")


@pytest.mark.parametrize("relevant", [1, 2])
def test_blocks_keep_what_is_relevant(tmp_path: Path, relevant: int) -> None:
    """Rows list what is relevant, so that the threshold follows from them, and an unanswerable query stays one."""
    blocks = [Target(document="manual", block=f"S.1.p.Bk00{i}") for i in (1, 2, 3)]
    start = GoldenSet(
        grades=("no", "perhaps", "yes"), relevant=relevant,
        queries=(Query(id="q1", text="first?"), Query(id="q3", text="third?", answerable=False)),
        judgments=tuple(Judgment(query="q1", target=block, grade=grade) for grade, block in enumerate(blocks)),
    )  # fmt: skip
    golden.write(start, tmp_path / "manual.jsonl", "blocks")
    back = golden.read(tmp_path / "manual.jsonl")
    run = {"q1": [Hit(block.block, 3.0 - i, document="manual", block=block.block) for i, block in enumerate(blocks)]}
    before, after = (score_hits(some, run, ["RR", "R@2", "nDCG"], unit="target").column("RR") for some in (start, back))
    assert before == after == {"q1": 1 / (relevant + 1)}
    assert back.unanswerable == {"q3"}
