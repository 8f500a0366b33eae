"""Random judgments and runs, and the three ways to hand them to karat that must give the same bits."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
import polars as pl
from hypothesis import settings
from hypothesis import strategies as st

import karat
from karat.core import MEASURES, Measure

Table = dict[str, dict[str, Any]]

QUERIES = ["1", "10", "2", "q", "\u00e9", "\ufb01", "\U0001f642"]
# Bytes order U+FB01 and U+FFFD before U+1F642, UTF-16 after it; "d10" < "d2" as text; "D" < "d"; "d" is a prefix.
DOCUMENTS = ["d", "d1", "d10", "d2", "D", "a b", "\u00e9", "e\u0301", "\u65e5\u672c", "\ufb01", "\ufffd"]
DOCUMENTS += ["\U00010000", "\U0001f642", "\U0010ffff"]
# Exact in single precision, which is how pytrec_eval keeps scores. Few values, so that there are many ties.
TIED_SCORES = [0.0, -0.0, 1.0, 2.0, 0.5, -1.0, -2.5, 2.0**24, 2.0**120, -(2.0**120), 2.0**-100]

GRADES = st.integers(0, 4)
GRADES_AND_POOLED = st.integers(-1, 4)
"""-1: in the pool, and not judged."""
SCORES = st.one_of(st.sampled_from(TIED_SCORES), st.floats(width=32, allow_nan=False, allow_infinity=False))

quick = settings(max_examples=60, deadline=None, derandomize=True)
thorough = settings(max_examples=150, deadline=None, derandomize=True)


@cache  # a strategy is checked anew each time that it is made
def judged(grades: st.SearchStrategy[int] = GRADES_AND_POOLED) -> st.SearchStrategy[dict[str, int]]:
    """Judgments of one query, at least one of them a grade.

    Where every grade is negative, trec_eval reads the levels of the query before, and may never return.
    """
    judgments = st.dictionaries(st.sampled_from(DOCUMENTS), grades, min_size=1, max_size=12)
    return judgments.filter(lambda first: max(first.values()) >= 0)


@cache
def ranking(scores: st.SearchStrategy[float] = SCORES) -> st.SearchStrategy[dict[str, float]]:
    """The scored documents of one query."""
    return st.dictionaries(st.sampled_from(DOCUMENTS), scores, min_size=1, max_size=14)


@st.composite
def tables(
    draw: st.DrawFn,
    grades: st.SearchStrategy[int] = GRADES_AND_POOLED,
    scores: st.SearchStrategy[float] = SCORES,
) -> tuple[Table, Table]:
    """Judgments and a run: some queries are missing from the run, and some have no judgments."""
    both = draw(st.lists(st.sampled_from(QUERIES), min_size=1, max_size=3, unique=True))
    rest = [query for query in QUERIES if query not in both]
    missing = draw(st.lists(st.sampled_from(rest), max_size=2, unique=True))
    extra = [query for query in rest if query not in missing][: draw(st.integers(0, 2))]
    qrels = {query: draw(judged(grades)) for query in draw(st.permutations(both + missing))}
    run = {query: draw(ranking(scores)) for query in draw(st.permutations(both + extra))}
    return qrels, run


@st.composite
def untied_rankings(draw: st.DrawFn, size: int = 12) -> dict[str, float]:
    """The scored documents of one query, no two with the same score."""
    documents = draw(st.lists(st.sampled_from(DOCUMENTS), min_size=1, max_size=size, unique=True))
    scores = draw(
        st.lists(st.integers(1, 1000), min_size=len(documents), max_size=len(documents), unique=True).map(
            lambda numbers: [number / 8 for number in numbers]
        )
    )
    return dict(zip(documents, scores, strict=True))


def frame(table: Mapping[str, Mapping[str, Any]], value: str, *, seed: int | None = None) -> pl.DataFrame:
    """Return a table as a Polars frame: shuffled, or each query's rows together from the highest value down."""
    rows = [(query, document, number) for query, inner in table.items() for document, number in inner.items()]
    if seed is None:
        rows.sort(key=lambda row: (row[0], -row[2]))
    else:
        random.Random(seed).shuffle(rows)
    return pl.DataFrame(rows, schema=["query_id", "doc_id", value], orient="row")


def score_all_ways(
    qrels: Table, run: Table, measures: Iterable[str | karat.Measure], *, seed: int, **options: Any
) -> karat.Scores:
    """Score dicts, shuffled frames and sorted frames; fail unless all three give the same bits."""
    measures = list(measures)
    exact = karat.score(qrels, run, measures, **options)
    shuffled = frame(qrels, "relevance", seed=seed), frame(run, "score", seed=seed + 1)
    for frames in (shuffled, (frame(qrels, "relevance"), frame(run, "score"))):
        same_bits(exact, karat.score(*frames, measures, **options))
    return exact


def same_bits(first: karat.Scores, other: karat.Scores) -> None:
    """Fail unless two tables of scores are the same to the last bit, reasons included."""
    assert first.queries == other.queries
    assert first.measures == other.measures
    assert first.definitions == other.definitions
    assert first.not_in_run == other.not_in_run
    assert first.not_judged == other.not_judged
    assert first.reasons == other.reasons
    np.testing.assert_array_equal(first.codes, other.codes)
    np.testing.assert_array_equal(first.values.view(np.uint64), other.values.view(np.uint64))


def every_measure() -> list[Measure]:
    """Return every registered measure with its defaults: without a cut-off, and at rank 5 or recall 0.5."""
    cutoffs = {"none": [None], "optional": [None, 5], "required": [5], "recall": [0.5]}
    return [Measure.of(definition.name, k) for definition in MEASURES for k in cutoffs[definition.cutoff]]
