"""What the queries of a run returned, in numbers, and how their scores spread."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec import UNSET, UnsetType

from karat.evaluation._evaluation import Evaluation
from karat.schema import QueryCounts, QueryFacts, ValueSpread
from karat.stats import quantiles


def summarise_spread(values: Iterable[float]) -> ValueSpread | None:
    """Return standard deviation, ends and percentiles of values; None if there are none.

    >>> summarise_spread([0.0, 0.5, 1.0])
    ValueSpread(sd=0.5, min=0.0, max=1.0, p50=0.5, p95=0.95)
    """
    array = np.fromiter(values, np.float64)
    if not array.size:
        return None
    low, middle, high, top = quantiles(array, (0.0, 0.5, 0.95, 1.0))
    deviation = float(array.std(ddof=1)) if array.size > 1 else 0.0
    return ValueSpread(sd=deviation, min=low, max=top, p50=middle, p95=high)


def list_facts(evaluation: Evaluation) -> dict[str, QueryFacts] | UnsetType:
    """Return what each query returned, found and took; UNSET if the evaluation does not know it."""
    table = evaluation.counts
    if table is None:
        return UNSET
    times = {
        trace.query: trace.timings.get("total")
        for trace in evaluation.traces
        if not (trace.paraphrase or trace.repeat or trace.error)
    }
    facts = {}
    for query in table.queries:
        rank = table.value(query, "RR")
        facts[query] = QueryFacts(
            retrieved=int(table.value(query, "NumRet") or 0),
            found=int(table.value(query, "NumRelRet") or 0),
            first=round(1 / rank) if rank else -1,
            milliseconds=times.get(query),
        )
    return facts


def count_queries(evaluation: Evaluation) -> QueryCounts | UnsetType:
    """Return how many queries found nothing relevant, and how many have it on top; UNSET if that is not known."""
    table = evaluation.counts
    if table is None:
        return UNSET
    answerable = table.select(table.rows.keys() - evaluation.unanswerable) if evaluation.unanswerable else table
    counts, first = (answerable.look_up(measure, answerable.queries) for measure in ("NumRelRet", "P@1"))
    return QueryCounts(
        queries=len(answerable.queries),
        without_hit=len(counts) - int((counts > 0).sum()),  # also one whose number is missing
        first_right=int((first == 1).sum()),
    )
