"""What to judge next, and taking it back."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from karat.core import Document, GoldenSet, InputError, Judgment, Query, Target, UsageError
from karat.golden import agreement, merge, pool, pool_lines

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
    """The file has query and text and an empty grade, and neither ranks nor what others said."""
    [first, *_] = pool_lines(GOLDEN, pool(GOLDEN, [RUN]))
    assert json.loads(first) == {
        "query": "q2", "query_text": "second?", "document": "d", "title": "D", "text": "about d", "grade": None,
    }  # fmt: skip


def lines(tmp_path, name, *rows):
    (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / name


def test_a_judged_pool_comes_back(tmp_path):
    """Grades are added, an annotator's second grade replaces the first, and rows without a grade are skipped."""
    rows = [json.loads(line) for line in pool_lines(GOLDEN, pool(GOLDEN, [RUN, OTHER]))]
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
    found = agreement(golden.judgments)
    assert found is not None
    assert (found.annotators, found.pairs) == (("ana", "bo"), 3)
    assert found.same == pytest.approx(2 / 3)
    # Squared distances: observed 1; expected, over all 9 pairings of (3, 2, 0) and (3, 1, 0), divided by 3.
    expected = sum((x - y) ** 2 for x in (3, 2, 0) for y in (3, 1, 0)) / 3
    assert found.kappa == {("ana", "bo"): (pytest.approx(1 - 1 / expected), 3)}
    assert found.disputed == (("q1", Target(document="b"), {"ana": 2, "bo": 1}),)
    assert found.to_dict()["kappa"][0]["pairs"] == 3


def test_a_settled_dispute_is_no_longer_one():
    """A validated judgment settles what annotators dispute, and is no annotator's voice itself."""
    wifi = Target(document="wifi")
    said = [Judgment(query="q", target=wifi, grade=g, annotator=a) for g, a in [(3, "ana"), (1, "bo")]]
    said.append(Judgment(query="q", target=wifi, grade=2, source="validated", annotator="cy"))
    found = agreement(said)
    assert found is not None
    assert (found.annotators, found.disputed, found.settled, found.same) == (("ana", "bo"), (), 1, 0.0)


def test_undefined_agreement_is_null():
    """Where all say the same there is no alpha, and JSON has null."""
    said = [Judgment(query="q", target=Target(document=d), grade=1, annotator=a) for d in "ab" for a in ("ana", "bo")]
    found = agreement(said)
    assert found is not None
    assert math.isnan(found.alpha)
    assert found.to_dict()["alpha"] is None


@pytest.mark.parametrize(
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
