"""The latency of a system: percentiles by stage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from karat.core import Trace


def summarise_latency(milliseconds: Sequence[float]) -> dict[str, float]:
    """Return the number, mean and percentiles (linearly interpolated) of times; {} if there are none.

    >>> summary = summarise_latency(range(1, 21))
    >>> summary["p95"], summary["p99"]
    (19.05, 19.81)
    """
    if not milliseconds:
        return {}
    times = np.asarray(milliseconds, float)
    p50, p95, p99 = np.percentile(times, [50, 95, 99]).tolist()
    return {"n": len(times), "mean": float(times.mean()), "p50": p50, "p95": p95, "p99": p99}


def latency_by_stage(traces: Iterable[Trace]) -> dict[str, dict[str, float]]:
    """Return the latency of every stage, including ``total``, over the traces that did not fail."""
    stages: dict[str, list[float]] = {}
    for trace in traces:
        if not trace.error:
            for stage, milliseconds in trace.timings.items():
                stages.setdefault(stage, []).append(milliseconds)
    return {stage: summarise_latency(times) for stage, times in stages.items()}
