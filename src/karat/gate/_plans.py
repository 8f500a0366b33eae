"""How many queries are needed, and what those that are there can see: by a given spread, or by that of two runs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from statistics import fmean, stdev, variance
from typing import Any

from karat.core import UsageError
from karat.evaluation import Evaluation
from karat.gate._comparison import differences
from karat.stats import detectable, power, sample_size

SPREADS = (0.15, 0.25, 0.35)
"""Standard deviations of differences, where none is known: two systems much alike, a usual change, two that differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What a test is to find, and how surely."""

    effect: float = 0.05
    """The difference of two means."""
    power: float = 0.8
    """The share of such tests that find it when it is there."""
    alpha: float = 0.05
    """The share of such tests that find something where nothing is."""
    sides: int = 2
    """1 where only a drop is looked for, as a gate does; 2 where either may be better."""

    def __post_init__(self) -> None:
        if not 0 < self.effect < math.inf:
            raise UsageError(f"effect {self.effect} should be a finite number above 0")
        if not self.alpha < self.power < 1:
            raise UsageError(f"power {self.power} should lie between alpha ({self.alpha}) and 1")


_AIM = Aim()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What queries with this spread can see, and how many are needed to see more."""

    sd: float | None
    """Standard deviation of the differences, query by query; None where nothing differs, so that nothing follows."""
    n: int | None = None
    """How many queries there are; None where no number was given."""
    measure: str | None = None
    needed: int | None = None
    """How many queries find the effect with the power that was asked for."""
    power: float | None = None
    """The chance that n queries find it."""
    detectable: float | None = None
    """The smallest difference that n queries find with the power that was asked for."""

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON has it."""
        return asdict(self)


def reach(sd: float | None, n: int | None = None, aim: Aim = _AIM, *, measure: str | None = None) -> Reach:
    """Give what n queries can see, or without n how many are needed.

    >>> reach(0.15).needed
    73
    >>> found = reach(0.15, 15, Aim(effect=0.1))
    >>> round(found.power, 2), round(found.detectable, 3), found.needed
    (0.67, 0.117, 20)
    """
    if sd is None or sd == 0:
        return Reach(sd=None, n=n, measure=measure)
    how: dict[str, Any] = {"alpha": aim.alpha, "sides": aim.sides}
    return Reach(
        sd=sd,
        n=n,
        measure=measure,
        needed=sample_size(aim.effect, sd, power=aim.power, **how),
        power=None if n is None or n < 2 else power(n, aim.effect, sd, **how),
        detectable=None if n is None or n < 2 else detectable(n, sd, power=aim.power, **how),
    )


def reach_of_runs(
    candidate: Evaluation,
    baseline: Evaluation,
    measures: Iterable[str],
    aim: Aim = _AIM,
    *,
    n: int | None = None,
) -> tuple[Reach, ...]:
    """Give for each measure what the queries of two runs can see, by the spread of their differences.

    ``n`` asks for another number of queries of the same kind.
    """
    found = []
    for measure in measures:
        changes = [after - before for before, after in differences(candidate, baseline, measure).values()]
        sd = stdev(changes) if len(changes) > 1 else None
        found.append(reach(_spread(sd), n or len(changes), aim, measure=measure))
    return tuple(found)


def reach_of_repeats(
    evaluation: Evaluation,
    measures: Iterable[str],
    aim: Aim = _AIM,
    *,
    n: int | None = None,
) -> tuple[Reach, ...]:
    """Give for each measure what the queries of a run that was repeated could see at best.

    The spread is that of two such runs of the same system: the noise from one asking to the next, without any change. A
    real change comes on top, so that more queries are needed than this says.
    """
    return tuple(
        reach(_noise(evaluation, measure), n or len(evaluation.values(measure)), aim, measure=measure)
        for measure in measures
    )


def _noise(evaluation: Evaluation, measure: str) -> float | None:
    """Give the standard deviation of the difference of two means over the repeats; None without repeats or noise."""
    spreads = []
    columns = [table.column(measure) for table in evaluation.repeats]
    for query in columns[0] if columns else ():
        values = [column[query] for column in columns if query in column]
        if len(values) > 1:
            spreads.append(variance(values) / len(values))
    return _spread(math.sqrt(2 * fmean(spreads))) if spreads else None


def _spread(sd: float | None) -> float | None:
    """Give a standard deviation; what is smaller than rounding is none."""
    return sd if sd is not None and sd > 1e-12 else None
