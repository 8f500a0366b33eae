"""What a set of queries can see, judged by the differences it has already given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from numpy.typing import ArrayLike

from karat.core import UsageError
from karat.stats._power import detectable, sample_size
from karat.stats._power import power as power_of
from karat.stats._sample import sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What n queries with this spread can see, and how many are needed for an effect."""

    n: int
    sd: float
    """Standard deviation of the differences; with clusters, the one that independent queries would need."""
    effect: float
    power: float
    """The chance that n queries show the effect."""
    needed: int
    """How many queries would show it with the power that was asked for."""
    detectable: float
    """The smallest effect that n queries show with that power."""


def plan(
    differences: ArrayLike,
    effect: float,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    sides: int = 2,
    clusters: Iterable[object] | None = None,
) -> Plan:
    """Plan the number of queries by the spread of the differences of two runs.

    With ``clusters`` the numbers are queries still, in clusters as large as these.

    >>> made = plan([0.5, 0, 0, -0.25, 0.5, 0, 0.5, 0], 0.1)
    >>> made.needed, round(made.power, 2), round(made.detectable, 2)
    (72, 0.13, 0.34)
    """
    pairs = sample(differences, clusters, least=2)
    if not pairs.sd:
        raise UsageError("all differences are the same: they have no spread to plan by")
    return Plan(
        n=pairs.n,
        sd=pairs.sd,
        effect=effect,
        power=power_of(pairs.n, effect, pairs.sd, alpha=alpha, sides=sides),
        needed=sample_size(effect, pairs.sd, power=power, alpha=alpha, sides=sides),
        detectable=detectable(pairs.n, pairs.sd, power=power, alpha=alpha, sides=sides),
    )
