"""What to judge next, and taking it back."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from each import each
from karat.core import Document, GoldenSet, InputError, Judgment, Query, Span, Target, UsageError
from karat.golden import merge, pool, pool_rows, read_runs, write_pool
from karat.golden._merge import agreement
from karat.golden._passages import Passage

GOLDEN = GoldenSet(
    documents=tuple(Document(id=d, title=d.upper(), text=f"about {d}") for d in "abcd"),
    queries=(Query(id="q1", text="first?"), Query(id="q2", text="second?")),
    judgments=(Judgment(query="q1", target=Target(document="a"), grade=3, annotator="ana"),),
)
RUN = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"d": 1.0}}
OTHER = {"q1": {"c": 3.0, "a": 2.0}}


def test_unjudged_pairs_come_first_and_each_once():
    """By hand: at depth 2 the union is a, b, c for q1 and d for q2; a is judged and comes last."""
    pairs = pool(GOLDEN, [RUN, OTHER], depth=2)
    assert [(p.query, p.document, p.rank, p.runs, p.grade) for p in pairs] == [
        ("q1", "c", 1, 1, None),
        ("q2", "d", 1, 1, None),
        ("q1", "b", 2, 1, None),
        ("q1", "a", 1, 2, 3),
    ]


def test_chunks_and_classes_count_once():
    """Chunks of one document, and documents of one class, are one thing to judge."""
    run = {"q1": {"a:chunk:0": 4.0, "a:chunk:3": 3.0, "b": 2.0, "c": 1.0}}
    golden = replace(GOLDEN, judgments=(), classes={"bc": ("b", "c")})
    assert [(p.document, p.rank) for p in pool(golden, [run])] == [("a", 1), ("b", 2)]


def test_what_judges_see_does_not_sway_them():
    """A row has query, text and an empty grade, and neither ranks nor the grades of others."""
    [first, *_] = pool_rows(GOLDEN, pool(GOLDEN, [RUN]))
    assert first == {
        "query": "q2", "query_text": "second?", "document": "d", "title": "D", "text": "about d", "grade": None,
    }  # fmt: skip


def lines(tmp_path, name, *rows):
    (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / name


def test_a_judged_pool_comes_back(tmp_path):
    """Grades are added, an annotator's second grade replaces the first, and rows without a grade are skipped."""
    rows = list(pool_rows(GOLDEN, pool(GOLDEN, [RUN, OTHER])))
    for row, grade in zip(rows, [2, None, 0, 1], strict=True):
        row["grade"] = grade
    merged = merge(GOLDEN, [lines(tmp_path, "ana.jsonl", *rows)], annotator="ana", date="2026-11-15")
    assert (merged.added, merged.replaced, merged.empty, merged.notes) == (2, 1, 1, ())
    assert merged.golden.qrels() == {"q1": {"a": 1, "c": 2, "b": 0}, "q2": {}}
    assert merged.golden.judgments[-1].date == "2026-11-15"
    assert merged.agreement is None


def test_agreement_by_hand(tmp_path):
    """Two annotators on three pairs, one disputed by one grade."""
    both = [("a", 3, 3), ("b", 2, 1), ("c", 0, 0)]
    golden = replace(GOLDEN, judgments=())
    for i, name in enumerate(["ana", "bo"]):
        rows = [{"query": "q1", "document": d, "grade": grades[i]} for d, *grades in both]
        golden = merge(golden, [lines(tmp_path, f"{name}.jsonl", *rows)], annotator=name).golden
    result = agreement(golden.judgments)
    assert result is not None
    assert (result.annotators, result.pairs) == (("ana", "bo"), 3)
    assert result.same == pytest.approx(2 / 3)
    # Squared distances: observed 1; expected, over all 9 pairings of (3, 2, 0) and (3, 1, 0), divided by 3.
    expected = sum((x - y) ** 2 for x in (3, 2, 0) for y in (3, 1, 0)) / 3
    assert result.kappa == {("ana", "bo"): (pytest.approx(1 - 1 / expected), 3)}
    assert result.disputed == (("q1", Target(document="b"), {"ana": 2, "bo": 1}),)
    assert result.document().kappa[0].pairs == 3


def test_a_settled_dispute_is_no_longer_one():
    """A validated judgment settles what annotators dispute, and is no annotator's voice itself."""
    wifi = Target(document="wifi")
    said = [Judgment(query="q", target=wifi, grade=g, annotator=a) for g, a in [(3, "ana"), (1, "bo")]]
    said.append(Judgment(query="q", target=wifi, grade=2, source="validated", annotator="cy"))
    result = agreement(said)
    assert result is not None
    assert (result.annotators, result.disputed, result.settled, result.same) == (("ana", "bo"), (), 1, 0.0)


def test_undefined_agreement_is_null():
    """Where all say the same there is no alpha, and JSON has null."""
    said = [Judgment(query="q", target=Target(document=d), grade=1, annotator=a) for d in "ab" for a in ("ana", "bo")]
    result = agreement(said)
    assert result is not None
    assert math.isnan(result.alpha)
    assert result.document().alpha is None


@each(
    ("row", "message"),
    [
        ({"query": "q7", "document": "a", "grade": 1}, "line 1: the set has no query 'q7'"),
        ({"query": "q1", "document": "x", "grade": 1}, "line 1: the set has no document 'x'"),
        ({"query": "q1", "document": "a", "grade": 4}, "line 1: grade 4 is not on the set's scale, 0 to 3"),
        ({"query": "q1", "document": "a", "grade": "good"}, "line 1: 'grade' is 'good', not a whole number"),
        ({"query": "q1", "grade": 1}, "line 1: 'document' is missing"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, row, message):
    """A judgment of something that the set does not have, or off its scale, is a mistake with its line."""
    with pytest.raises(InputError) as raised:
        merge(GOLDEN, [lines(tmp_path, "f.jsonl", row)])
    assert message in str(raised.value)


def test_the_same_pair_twice_in_what_came_back_is_refused(tmp_path):
    """One annotator has one opinion on a pair."""
    row = {"query": "q1", "document": "b", "grade": 1}
    with pytest.raises(InputError, match="line 2: query 'q1' and 'b' stand twice"):
        merge(GOLDEN, [lines(tmp_path, "f.jsonl", row, row)])


def test_a_set_with_duplicates_is_not_merged_into():
    """Which of two equal judgments a new one replaces is not guessed."""
    with pytest.raises(UsageError, match="karat golden check"):
        merge(replace(GOLDEN, judgments=GOLDEN.judgments * 2), [])


def test_a_row_shows_the_passage_that_was_returned():
    """A hit with a span shows its bytes of the canonical text beside the whole document; merge ignores it."""
    text = "# Pool\r\n\r\nOpens at six.\r\n\r\nCloses at nine.\r\n"
    golden = GoldenSet(documents=(Document(id="pool", text=text),), queries=(Query(id="q", text="when?"),))
    pairs = pool(golden, [{"q": {"pool:chunk:1": 1.0}}])
    [row] = pool_rows(golden, pairs, {("q", "pool:chunk:1"): Passage(span=Span(23, 38))})
    assert row == {
        "query": "q", "query_text": "when?", "document": "pool", "text": text, "grade": None,
        "passage": "Closes at nine.",
    }  # fmt: skip


def test_a_row_without_a_document_shows_what_the_run_holds():
    """Where no set is named, the texts of the run's own queries and hits are shown."""
    passage = Passage(query_text="when?", text="Opens at six.")
    [row] = pool_rows(GoldenSet(), pool(GoldenSet(), [{"q": {"pool": 1.0}}]), {("q", "pool"): passage})
    assert row == {"query": "q", "query_text": "when?", "document": "pool", "text": "Opens at six.", "grade": None}


def test_merge_ignores_what_was_only_shown(tmp_path):
    """Query text, title, text and passage of a pool are not taken for parts of a judgment."""
    row = {"query": "q2", "document": "d", "grade": 2, "query_text": "x", "title": "t", "text": "y", "passage": "z"}
    merged = merge(GOLDEN, [lines(tmp_path, "ana.jsonl", row)])
    assert merged.notes == ()
    assert merged.golden.judgments[-1] == Judgment(query="q2", target=Target(document="d"), grade=2)


def test_a_pool_replaces_only_an_unjudged_pool(tmp_path):
    """A run, or a pool with a grade in it, is refused and stays; a pool without grades is replaced."""
    file = tmp_path / "pool.jsonl"
    write_pool(file, pool_rows(GOLDEN, pool(GOLDEN, [OTHER])))
    write_pool(file, pool_rows(GOLDEN, pool(GOLDEN, [RUN])))
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(rows) == 4
    rows[0]["grade"] = 3
    for name, content in (
        ("pool.jsonl", "".join(json.dumps(row) + "\n" for row in rows)),
        ("run.txt", "q Q0 a 1 1 t\n"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(InputError, match="exists already, and is not a pool without grades"):
            write_pool(tmp_path / name, pool_rows(GOLDEN, pool(GOLDEN, [OTHER])))
        assert (tmp_path / name).read_text() == content


def test_a_folder_stands_for_the_runs_in_it(tmp_path):
    """Every format is read; files that are not runs, and unfinished ones, are left out with a note."""
    folder = tmp_path / "project" / "runs"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("q Q0 d1 1 2 t\n")
    (folder / "b.csv").write_text("query,document,score\nq,d2,1\n")
    (folder / "c.json").write_text('{"q": {"d3": 1.5}}')
    (folder / "d.jsonl.part").write_text("{}\n")
    (folder / "e.txt").write_text("not a run\n")
    (folder / "notes.md").write_text("mine\n")
    for path in (folder, tmp_path / "project"):
        runs = read_runs([path])
        assert runs.tables == ({"q": {"d1": 2.0}}, {"q": {"d2": 1.0}}, {"q": {"d3": 1.5}})
        assert [("d.jsonl.part" in note, "e.txt" in note) for note in runs.notes] == [(True, False), (False, True)]


def test_a_project_without_runs_says_how_to_make_them(tmp_path):
    """The files of a golden set are not taken for runs."""
    (tmp_path / "golden.toml").write_text('name = "x"\n')
    (tmp_path / "queries.jsonl").write_text('{"id": "q", "text": "?"}\n')
    with pytest.raises(InputError, match="there are no runs yet; 'karat eval"):
        read_runs([tmp_path])


def test_a_folder_of_nothing_readable_is_refused(tmp_path):
    """A folder in which no file is a run is an error that shows why."""
    (tmp_path / "a.txt").write_text("not a run\n")
    with pytest.raises(InputError, match="holds no run that can be read"):
        read_runs([tmp_path])


def test_a_baseline_file_is_a_run(tmp_path):
    """Its lists are pooled as they stand; another JSON file is read as a run."""
    queries = {"q1": {"RR": [1.0], "hits": ["c", "a"]}, "q2": {"RR": [0.0], "hits": []}}
    (tmp_path / "baseline.json").write_text(json.dumps({"karat": "baseline", "format": 1, "queries": queries}))
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    runs = read_runs([tmp_path / "baseline.json", tmp_path / "run.json"])
    assert runs.tables == ({"q1": {"c": 2.0, "a": 1.0}, "q2": {}}, RUN)
