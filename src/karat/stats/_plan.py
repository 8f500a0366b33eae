"""Planning the number of queries by the differences of two runs."""

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
    """The effect that n queries with this spread can detect, and the number that an effect needs."""

    n: int
    sd: float
    """The standard deviation of the differences; with clusters, that of independent queries with the same error."""
    effect: float
    power: float
    """The probability that n queries show the effect."""
    needed: int
    """The number of queries that show it with the requested power."""
    detectable: float
    """The smallest effect that n queries show with the requested power."""


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

    With ``clusters`` the numbers are still queries, in clusters of the same size.

    >>> planned = plan([0.5, 0, 0, -0.25, 0.5, 0, 0.5, 0], 0.1)
    >>> planned.needed, round(planned.power, 2), round(planned.detectable, 2)
    (72, 0.13, 0.34)
    """
    pairs = sample(differences, clusters, least=2)
    if not pairs.sd:
        raise UsageError("all differences are equal: there is no spread to plan by")
    return Plan(
        n=pairs.n,
        sd=pairs.sd,
        effect=effect,
        power=power_of(pairs.n, effect, pairs.sd, alpha=alpha, sides=sides),
        needed=sample_size(effect, pairs.sd, power=power, alpha=alpha, sides=sides),
        detectable=detectable(pairs.n, pairs.sd, power=power, alpha=alpha, sides=sides),
    )
