"""Whole documents are aligned for all queries at once, with the scores that the way hit by hit gives."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from each import each
from karat import Document, GoldenSet, Hit, Judgment, Query, Scores, Span, Target, score_hits
from karat.core import Grades
from karat.measures._whole import align_whole
from karat.text import resolver

MEASURES = ("nDCG@3", "AP", "RR", "Judged@3", "DupRate@3", "SpanP@3", "NumRet")


def draw_golden(rng: random.Random) -> GoldenSet:
    documents = [f"d{i}" for i in range(rng.randint(1, 7))]
    queries = [f"q{i}" for i in range(rng.randint(1, 5))]
    return GoldenSet(
        documents=tuple(Document(id=name, text="x" * rng.randint(0, 9)) for name in documents if rng.random() < 0.7),
        queries=tuple(Query(id=name, text="?") for name in queries),
        judgments=tuple(
            Judgment(query=query, target=Target(document=name), grade=rng.randint(-1, 3))
            for query in queries
            for name in documents
            if rng.random() < 0.5
        ),
    )


def draw_hits(rng: random.Random) -> dict[str, tuple[Hit, ...]]:
    """Return lists with equal scores, in any order, with chunks of one document, and with unknown documents."""
    ids = [f"d{i}{end}" for i in range(8) for end in ("", "", ":chunk:1", ":chunk:2")]
    return {
        f"q{i}": tuple(Hit(name, float(rng.randint(0, 3))) for name in rng.choices(ids, k=rng.randint(0, 6)))
        for i in range(5)
        if not i or rng.random() < 0.8
    }


def score(golden: GoldenSet, hits: dict[str, tuple[Hit, ...]]) -> Scores:
    return score_hits(golden, hits, MEASURES, resolve=resolver(golden))


@pytest.mark.slow
@each("seed", range(100))
def test_a_class_for_each_document_changes_no_score(seed: int) -> None:
    """Classes are collapsed hit by hit; with a class for each document nothing else may differ."""
    rng = random.Random(seed)
    golden, hits = draw_golden(rng), draw_hits(rng)
    names = {target.document for judgment in golden.judgments for target in [judgment.target]}
    names |= {hit.document for found in hits.values() for hit in found}
    at_once = score(golden, hits)
    one_by_one = score(replace(golden, classes={name: (name,) for name in sorted(names)}), hits)
    assert np.array_equal(at_once.values, one_by_one.values, equal_nan=True)
    assert np.array_equal(at_once.codes, one_by_one.codes)
    assert at_once.judged_retrieved == one_by_one.judged_retrieved


def test_ranks_by_hand() -> None:
    """Equal scores keep their order, a second chunk takes no rank, and what was not returned has rank 0."""
    judged = {"q1": {Target(document="a"): 3, Target(document="b"): 0, Target(document="z"): 1}}
    lists = [(Hit("c", 1.0), Hit("a:chunk:1", 2.0), Hit("a:chunk:2", 2.0), Hit("b", 1.0)), ()]
    rows = align_whole(Grades.from_dict(judged, grouped=True), ["q1", "q2"], lists, {"b": 7, "c": 5}.get)
    assert rows is not None
    assert rows.starts.tolist() == [0, 3, 3]
    assert rows.grades.tolist() == [3, 0, 1]
    assert rows.ranks.tolist() == [1, 3, 0]
    assert rows.retrieved.tolist() == [3, 0]
    assert rows.chunks.repeats.tolist() == [False, True, False, False]
    assert rows.chunks.size.tolist() == [0, 0, 5, 7]
    assert rows.chunks.unsized.tolist() == [1, 0]


@each(
    ("target", "hit"),
    [
        (Target(document="a", section="S.1"), Hit("a", 1.0)),
        (Target(document="a"), Hit("a:chunk:1", 1.0, span=Span(0, 5))),
        (Target(document="a"), Hit("a", 1.0, section="S.1")),
        (Target(document="a"), Hit("a", float("nan"))),
        (Target(document="a"), {"id": "a", "score": 1.0}),
    ],
)
def test_what_is_not_a_whole_document_is_left_to_the_way_hit_by_hit(target: Target, hit: Hit) -> None:
    """Parts have to be placed, and what is wrong has to be reported."""
    judged = Grades.from_dict({"q": {target: 1}}, grouped=True)
    assert align_whole(judged, ["q"], [(hit,)], lambda _: None) is None


@each("seed", range(30))
def test_places_are_looked_at_only_for_measures_of_places(seed: int) -> None:
    """Where parts are judged and documents count, a measure of spans beside the others changes none of them."""
    rng = random.Random(seed)
    golden, hits = draw_golden(rng), draw_hits(rng)
    parts = tuple(
        replace(judgment, target=replace(judgment.target, span=Span(start, start + rng.randint(0, 4))))
        for judgment in golden.judgments
        for start in range(rng.randint(0, 3))
    )
    golden = replace(golden, judgments=(*golden.judgments, *parts))
    if not golden.judgments:
        return
    names = tuple(name for name in MEASURES if not name.startswith("Span"))
    alone = score_hits(golden, hits, names, resolve=resolver(golden))
    beside = score_hits(golden, hits, MEASURES, resolve=resolver(golden)).only(alone.measures)
    assert np.array_equal(alone.values, beside.values, equal_nan=True)
    assert np.array_equal(alone.codes, beside.codes)
    assert alone.judged_retrieved == beside.judged_retrieved
