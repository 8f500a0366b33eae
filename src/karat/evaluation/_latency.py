"""The latency of a system: percentiles by stage."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from karat.core import Trace, TraceTable
from karat.stats import quantiles

_PERCENTILES = {"p50": 50, "p95": 95, "p99": 99}


def summarise_latency(milliseconds: Sequence[float], failed: int = 0) -> dict[str, float]:
    """Return the number, mean and percentiles (linearly interpolated) of times; {} if there are none.

    ``failed`` is how many questions have no answer. They would be slower than any answer: each counts as the slowest
    time, and ``falls_among_failed`` says which statistics are lower than the truth for it.

    >>> summary = summarise_latency(range(1, 21))
    >>> summary["p95"], summary["p99"]
    (19.05, 19.81)
    """
    if not milliseconds:
        return {}
    times = np.asarray(milliseconds, float)
    times = np.concatenate([times, np.full(failed, times.max())])
    shares = quantiles(times, [percent / 100 for percent in _PERCENTILES.values()])
    summary = {"n": len(times), "mean": float(times.mean()), **dict(zip(_PERCENTILES, shares, strict=True))}
    return {**summary, "failed": failed} if failed else summary


def falls_among_failed(times: Mapping[str, float], statistic: str) -> bool:
    """Return whether a statistic of a stage depends on how long the failed questions would have taken.

    The mean does as soon as one failed, a percentile where it is computed from their ranks, which are the last.

    >>> times = summarise_latency([10.0] * 29, failed=1)
    >>> falls_among_failed(times, "p95"), falls_among_failed(times, "p99")
    (False, True)
    """
    failed = times.get("failed", 0)
    if not failed or statistic not in _PERCENTILES:
        return bool(failed)
    rank = math.ceil(round(_PERCENTILES[statistic] / 100 * (times["n"] - 1), 6))
    return rank >= times["n"] - failed


def find_slowest(traces: Sequence[Trace], excused: int) -> float:
    """Return the time of the slowest question but for the excused ones; NaN if there are no times.

    A question that failed is slower than any answer: its time is infinite.

    >>> traces = [Trace(query=f"q{n}", text="?", timings={"total": 10.0 * n}) for n in range(1, 5)]
    >>> find_slowest([*traces, Trace(query="q5", text="?", error="timed out")], excused=2)
    30.0
    """
    if isinstance(traces, TraceTable):
        times = traces.timings["total"].tolist() if "total" in traces.timings else []
    else:
        times = [math.inf if trace.error else trace.timings.get("total", math.nan) for trace in traces]
    known = sorted(time for time in times if not math.isnan(time))
    return known[max(0, len(known) - 1 - excused)] if known else math.nan


def latency_by_stage(traces: Sequence[Trace]) -> dict[str, dict[str, float]]:
    """Return the latency of every stage, including ``total``, that a trace with an answer has.

    A trace that failed ranks behind all others, also in a stage that it did not reach.
    """
    if isinstance(traces, TraceTable):
        return {stage: summarise_latency(times.tolist()) for stage, times in traces.timings.items() if len(times)}
    answered = [trace.timings for trace in traces if not trace.error]
    failed = len(traces) - len(answered)
    stages: dict[str, list[float]] = defaultdict(list)
    for timings in answered:
        for stage, milliseconds in timings.items():
            stages[stage].append(milliseconds)
    return {stage: summarise_latency(times, failed) for stage, times in stages.items()}
