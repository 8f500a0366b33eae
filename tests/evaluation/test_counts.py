"""What ``karat eval --json`` says about each query, how many found nothing, and how scores spread."""

from __future__ import annotations

from statistics import stdev

import pytest

from karat.core import GoldenSet, Hit, Judgment, Provenance, Query, Run, Target, Trace
from karat.evaluation import evaluation_report, score_run
from karat.schema import QueryCounts, QueryFacts, ValueSpread

GOLDEN = GoldenSet(
    queries=(*(Query(id=name, text="?") for name in "abcd"), Query(id="e", text="?", answerable=False)),
    judgments=tuple(Judgment(query=q, target=Target(document=d), grade=3) for q in "abcd" for d in ("x", "y")),
)


def trace(query: str, documents: str, **more: object) -> Trace:
    hits = tuple(Hit(name, float(9 - place)) for place, name in enumerate(documents))
    return Trace(query=query, text="?", hits=hits, timings={"total": 10.0}, **more)  # type: ignore[arg-type]


RUN = Run(
    provenance=Provenance(name="mine"),
    traces=(
        trace("a", "xzy"), trace("b", "zx"), trace("c", "z"), trace("e", ""),
        Trace(query="d", text="?", error="timed out"), trace("a", "z", repeat=1),
    ),
)  # fmt: skip


def test_facts_and_counts_by_hand() -> None:
    """Position -1 without a relevant document; a failed query found nothing; an unanswerable one is not counted."""
    report = evaluation_report(score_run(GOLDEN, RUN, ["RR@5"]), per_query=True).runs[0]
    assert report.counts == QueryCounts(queries=4, without_hit=2, first_right=1)
    assert report.facts == {
        "a": QueryFacts(retrieved=3, found=2, first=1, milliseconds=10.0),
        "b": QueryFacts(retrieved=2, found=1, first=2, milliseconds=10.0),
        "c": QueryFacts(retrieved=1, found=0, first=-1, milliseconds=10.0),
        "d": QueryFacts(retrieved=0, found=0, first=-1, milliseconds=None),
        "e": QueryFacts(retrieved=0, found=0, first=-1, milliseconds=10.0),
    }


def test_the_spread_by_hand() -> None:
    """RR of a, b, c and d is 0.5 over its repeats, 0.5, 0 and 0; p95 is interpolated: rank 2.85 of 0, 0, 0.5, 0.5."""
    spread = evaluation_report(score_run(GOLDEN, RUN, ["RR@5", "ColdRR@5"])).runs[0].spread
    expected = ValueSpread(sd=stdev([0.5, 0.5, 0, 0]), min=0.0, max=0.5, p50=0.25, p95=0.5)
    assert spread["RR@5"] is not None
    assert spread["RR@5"].sd == pytest.approx(expected.sd)
    assert (spread["RR@5"].min, spread["RR@5"].max, spread["RR@5"].p50, spread["RR@5"].p95) == (0.0, 0.5, 0.25, 0.5)
    assert spread["ColdRR@5"] is None
