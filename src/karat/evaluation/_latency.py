"""How long a system takes: percentiles around it, by stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from karat.core import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Milliseconds around the system, over all questions that it answered."""

    n: int
    mean: float
    p50: float
    p95: float
    p99: float

    def to_dict(self) -> dict[str, float]:
        """Give it as JSON has it."""
        return {"n": self.n, "mean": self.mean, "p50": self.p50, "p95": self.p95, "p99": self.p99}


def latency(milliseconds: Sequence[float]) -> Latency | None:
    """Give mean and percentiles, linearly interpolated; None of nothing.

    >>> found = latency(range(1, 21))
    >>> found.p95, found.p99
    (19.05, 19.81)
    """
    if not milliseconds:
        return None
    p50, p95, p99 = (float(value) for value in np.percentile(np.asarray(milliseconds, float), [50, 95, 99]))
    return Latency(n=len(milliseconds), mean=float(np.mean(milliseconds)), p50=p50, p95=p95, p99=p99)


def latencies(run: Run) -> dict[str, Latency]:
    """Give the latency of every stage that the traces of a run tell of, and of the whole."""
    stages: dict[str, list[float]] = {}
    for trace in run.traces:
        if not trace.error:
            for stage, milliseconds in trace.timings.items():
                stages.setdefault(stage, []).append(milliseconds)
    return {stage: times for stage, values in stages.items() if (times := latency(values))}
