"""Whether units were assigned as planned: a mismatch means that what is compared is not comparable."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from karat.core import UsageError

LEVEL = 0.001
"""Far below 5 %, because the check runs at every look, and what it finds stops the reading of a trial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRatio:
    """How far the numbers of units are from their planned shares."""

    chi_squared: float
    df: int
    p: float
    level: float

    @property
    def mismatched(self) -> bool:
        """Whether so great a distance is too unlikely to be chance."""
        return self.p < self.level


def check_sample_ratio(counts: Mapping[str, int], shares: Mapping[str, float], *, level: float = LEVEL) -> SampleRatio:
    """Test by Pearson's chi-squared whether the units of each variant fit the planned shares.

    Fabijan and others, Diagnosing sample ratio mismatch in online controlled experiments, KDD 2019.

    >>> check_sample_ratio({"control": 5030, "treatment": 4970}, {"control": 1, "treatment": 1}).mismatched
    False
    >>> check_sample_ratio({"control": 5200, "treatment": 4800}, {"control": 1, "treatment": 1}).mismatched
    True
    """
    if len(shares) < 2 or not all(0 < share < math.inf for share in shares.values()):
        raise UsageError("planned shares should be positive numbers of at least two variants")
    strange = sorted(set(counts) - set(shares))
    if strange:
        raise UsageError(f"variant {strange[0]!r} has units, but no planned share")
    observed = [counts.get(name, 0) for name in shares]
    if min(observed) < 0:
        raise UsageError("a number of units is negative")
    n, whole = sum(observed), math.fsum(shares.values())
    expected = [n * share / whole for share in shares.values()]
    pairs = zip(observed, expected, strict=True)
    statistic = math.fsum((seen - mean) ** 2 / mean for seen, mean in pairs) if n else 0.0
    df = len(shares) - 1
    return SampleRatio(chi_squared=statistic, df=df, p=chi_squared_above(statistic, df), level=level)


def chi_squared_above(statistic: float, df: int) -> float:
    """Return the probability that a chi-squared variable exceeds a value (DLMF 8.4.8 and 8.4.10, closed forms).

    >>> round(chi_squared_above(3.841458820694124, 1), 6), round(chi_squared_above(5.991464547107979, 2), 6)
    (0.05, 0.05)
    """
    x, odd = statistic / 2, df % 2
    term = math.sqrt(4 * x / math.pi) * math.exp(-x) if odd else math.exp(-x)
    total = math.erfc(math.sqrt(x)) if odd else 0.0
    for i in range(df // 2):
        total += term
        term *= x / (i + (1.5 if odd else 1.0))
    return min(total, 1.0)
