"""What was done with a golden set, as documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from karat.core import GoldenSet
from karat.golden._deciding import PoolDecision
from karat.golden._fingerprint import fingerprint
from karat.golden._pool import Pooled
from karat.schema import GoldenConversion, GoldenDecision, GoldenPool, GoldenSample, GoldenSynthesis


def describe_conversion(golden: GoldenSet, written: str, format: str, lost: tuple[str, ...]) -> GoldenConversion:
    """Return how much of a set was written in a format, and what the format could not hold.

    >>> describe_conversion(GoldenSet(), "copy", "trec", ("documents are left out",)).lost
    ('documents are left out',)
    """
    return GoldenConversion(
        written=written,
        format=format,
        documents=len(golden.documents),
        queries=len(golden.queries),
        judgments=len(golden.judgments),
        notes=golden.notes,
        lost=lost,
    )


def describe_sample(sample: GoldenSet, written: str, stratify: str | None = None) -> GoldenSample:
    """Return the queries of a sample, and how many each group has of them if it was drawn by groups.

    >>> from karat.core import Query
    >>> describe_sample(GoldenSet(queries=(Query(id="q", text="Where?", category="rooms"),)), "some", "category").groups
    {'rooms': 1}
    """
    groups = Counter(getattr(query, stratify) for query in sample.queries) if stratify else Counter[str]()
    return GoldenSample(written=written, queries=tuple(query.id for query in sample.queries), groups=dict(groups))


def describe_synthesis(golden: GoldenSet, written: str) -> GoldenSynthesis:
    """Return how much was made, with its fingerprint.

    >>> describe_synthesis(GoldenSet(), "starter").queries
    0
    """
    return GoldenSynthesis(
        written=written,
        documents=len(golden.documents),
        queries=len(golden.queries),
        fingerprint=fingerprint(golden),
    )


def describe_pool(pairs: Sequence[Pooled], written: int) -> GoldenPool:
    """Return how many pairs a pool has, how many nobody judged, and how many were written.

    >>> describe_pool([Pooled(query="q", document="a", rank=1, runs=1, grade=None)], 1).unjudged
    1
    """
    return GoldenPool(pairs=len(pairs), unjudged=sum(pair.grade is None for pair in pairs), written=written)


def describe_decision(decision: PoolDecision, runs: tuple[str, str], written: int) -> GoldenDecision:
    """Return which of two runs is better as far as judgments tell, by the names of the runs."""
    estimate = decision.estimate
    return GoldenDecision(
        measure=str(decision.measure),
        runs=runs,
        better=None if decision.better is None else runs[decision.better],
        difference=estimate.mean,
        sd=estimate.sd,
        judged_difference=estimate.judged,
        share=estimate.share,
        highest_share=estimate.highest_share,
        confidence=estimate.confidence,
        judged=decision.judged,
        unjudged=len(decision.pairs),
        lacking=decision.lacking,
        written=written,
    )
