"""Planning: how many queries a difference needs, and which differences the existing queries can show."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from statistics import fmean, stdev, variance
from typing import Any

from karat.core import UsageError
from karat.evaluation import Evaluation
from karat.gate._pairing import pair_scores, scale_of
from karat.stats import detectable, power, sample_size

SPREADS = (0.15, 0.25, 0.35)
"""Standard deviations of differences to assume if none was measured: two similar systems, a usual change, two that
differ much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What a test should find, and how reliably."""

    effect: float = 0.05
    """The difference of two means that should be found."""
    power: float = 0.8
    """The probability that a test finds such a difference."""
    alpha: float = 0.05
    """The probability that a test finds a difference although there is none."""
    sides: int = 2
    """1 if only a drop is tested for, as a gate does; 2 if either run may be better."""

    def __post_init__(self) -> None:
        if not 0 < self.effect < math.inf:
            raise UsageError(f"effect {self.effect} should be a finite number above 0")
        if not self.alpha < self.power < 1:
            raise UsageError(f"power {self.power} should lie between alpha ({self.alpha}) and 1")


_AIM = Aim()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Which differences a number of queries can show, and how many queries an effect needs."""

    sd: float | None
    """The standard deviation of the differences by query; None if nothing differs, and then the rest is None, too."""
    n: int | None = None
    """The number of queries; None if none was given."""
    measure: str | None = None
    needed: int | None = None
    """How many queries show the effect of the aim with its power."""
    power: float | None = None
    """The probability that n queries show the effect of the aim."""
    detectable: float | None = None
    """The smallest difference that n queries show with the power of the aim."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        return asdict(self)


def compute_reach(sd: float | None, n: int | None = None, aim: Aim = _AIM, *, measure: str | None = None) -> Reach:
    """Return how many queries an aim needs, and with ``n`` what that number of queries can show.

    ``sd`` is the standard deviation of the differences between two runs, query by query.

    >>> compute_reach(0.15).needed
    73
    >>> reach = compute_reach(0.15, 15, Aim(effect=0.1))
    >>> round(reach.power, 2), round(reach.detectable, 3), reach.needed
    (0.67, 0.117, 20)
    """
    if sd is None or sd == 0:
        return Reach(sd=None, n=n, measure=measure)
    options: dict[str, Any] = {"alpha": aim.alpha, "sides": aim.sides}
    return Reach(
        sd=sd,
        n=n,
        measure=measure,
        needed=sample_size(aim.effect, sd, power=aim.power, **options),
        power=None if n is None or n < 2 else power(n, aim.effect, sd, **options),
        detectable=None if n is None or n < 2 else detectable(n, sd, power=aim.power, **options),
    )


def compute_reach_of_runs(
    candidate: Evaluation,
    baseline: Evaluation,
    measures: Iterable[str],
    aim: Aim = _AIM,
    *,
    n: int | None = None,
) -> tuple[Reach, ...]:
    """Return for each measure what the queries of two runs can show, by the spread of their differences.

    ``n`` is another number of queries to plan for; by default it is the number that both runs have. A geometric mean
    has no spread of differences to plan by, and an sd of None.
    """
    rows = []
    for measure in measures:
        if scale_of(measure) == "geometric":
            rows.append(compute_reach(None, n, aim, measure=measure))
            continue
        changes = [after - before for _, before, after in pair_scores(candidate, baseline, measure)]
        sd = stdev(changes) if len(changes) > 1 else None
        rows.append(compute_reach(_drop_rounding(sd), n or len(changes), aim, measure=measure))
    return tuple(rows)


def compute_reach_of_repeats(
    evaluation: Evaluation,
    measures: Iterable[str],
    aim: Aim = _AIM,
    *,
    n: int | None = None,
) -> tuple[Reach, ...]:
    """Return for each measure what the queries of a run with repeats could show at best.

    The spread is that of two runs of the same system: only the noise between repeats. A real change adds to it, so
    that more queries are needed than this says.
    """
    return tuple(
        compute_reach(_measure_noise(evaluation, measure), n or len(evaluation.values(measure)), aim, measure=measure)
        for measure in measures
    )


def _measure_noise(evaluation: Evaluation, measure: str) -> float | None:
    """Return the standard deviation of the difference of two means over the repeats; None without repeats or noise."""
    variances = []
    columns = [table.column(measure) for table in evaluation.repeats]
    for query in columns[0] if columns else ():
        values = [column[query] for column in columns if query in column]
        if len(values) > 1:
            variances.append(variance(values) / len(values))
    return _drop_rounding(math.sqrt(2 * fmean(variances))) if variances else None


def _drop_rounding(sd: float | None) -> float | None:
    """Return a standard deviation, or None if it is within rounding error."""
    return sd if sd is not None and sd > 1e-12 else None
