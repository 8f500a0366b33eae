"""How many sessions a trial will need, from the differences of earlier sessions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from karat.core import UsageError
from karat.stats._bisection import bisect
from karat.stats.sequential._betting import BETS
from karat.stats.sequential._decision import StoppingRule
from karat.stats.sequential._tally import Tally

Floats = NDArray[np.float64]
_AT_ONCE = 256  # differences that are drawn at once for each simulated trial


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPlan:
    """How soon simulated trials find an effect. A number is None if fewer of them find it within ``most`` sessions."""

    effect: float
    """The true mean difference."""
    sd: float
    """The standard deviation of a difference."""
    half: int | None
    """The sessions after which half of the trials have found it."""
    most_of_them: int | None
    """Those after which 80 % have."""
    nearly_all: int | None
    """Those after which 95 % have."""
    found: float
    """The share of trials that find it within ``most`` sessions."""
    most: int
    runs: int


def plan_sessions(
    earlier: Tally,
    effect: float,
    *,
    rng: np.random.Generator,
    rule: StoppingRule | None = None,
    most: int = 20_000,
    runs: int = 400,
) -> SessionPlan:
    """Simulate trials in which sessions differ as much as earlier ones did, and the true effect is known.

    The earlier differences count with both signs, since their own effect is not what is planned for. Then the
    probabilities of larger ones grow exponentially until the mean is the effect, which changes their spread least.

    >>> earlier = Tally.from_counts({0.5: 10, -0.5: 10, 0: 80})
    >>> plan = plan_sessions(earlier, 0.05, rng=np.random.default_rng(1), runs=200)
    >>> plan.half, plan.found
    (151, 1.0)
    """
    if most < 1 or runs < 1:
        raise UsageError(f"{runs} trials of {most} sessions; use 1 or more of each")
    rule = rule or StoppingRule()
    values, chances = _tilt(earlier, effect)
    at = _simulate(values, chances, -math.log(rule.alpha), rng, most, runs)
    sd = math.sqrt(float((chances * values**2).sum()) - effect**2)
    half, eighty, ninety_five = (_quantile(at, share, most) for share in (0.5, 0.8, 0.95))
    share_found = float((at <= most).mean())
    return SessionPlan(
        effect=effect,
        sd=sd,
        half=half,
        most_of_them=eighty,
        nearly_all=ninety_five,
        found=share_found,
        most=most,
        runs=runs,
    )


def _tilt(earlier: Tally, effect: float) -> tuple[Floats, Floats]:
    """Return differences and their probabilities, with the effect as their mean."""
    both = earlier + Tally.from_counts({-value: count for value, count in earlier.entries})
    values, counts = both.values, both.counts.astype(np.float64)
    largest = float(values.max()) if len(values) else 0.0
    if not 0 <= effect < largest:
        raise UsageError(
            f"an effect of {effect:g} cannot be simulated: it should be 0 or above, and below the largest "
            f"difference of the earlier sessions, {largest:g}"
        )

    def weigh(slope: float) -> Floats:
        weights = counts * np.exp(slope * (values - largest))
        return np.asarray(weights / weights.sum())

    if not effect:
        return values, weigh(0.0)
    steepest = 1.0
    while float((weigh(steepest) * values).sum()) < effect:
        steepest *= 2
    slope = bisect(lambda slope: float((weigh(slope) * values).sum()) - effect, 0.0, steepest, 1e-12)
    return values, weigh(slope)


def _simulate(
    values: Floats, chances: Floats, enough: float, rng: np.random.Generator, most: int, runs: int
) -> NDArray[np.int64]:
    """Return after how many sessions each trial has enough evidence that the treatment is better."""
    gains = np.log1p(np.outer(BETS, values))
    wealth = np.zeros((runs, len(BETS), 1))
    at, going = np.full(runs, most + 1), np.arange(runs)
    for start in range(0, most, _AT_ONCE):
        drawn = rng.choice(len(values), size=(len(going), min(_AT_ONCE, most - start)), p=chances)
        path = wealth + np.cumsum(gains[:, drawn].transpose(1, 0, 2), axis=2)
        top = path.max(axis=1)
        evidence = top + np.log(np.exp(path - top[:, None]).mean(axis=1))
        reached = evidence >= enough
        done = reached.any(axis=1)
        at[going[done]] = start + 1 + reached[done].argmax(axis=1)
        going, wealth = going[~done], path[~done, :, -1:]
        if not len(going):
            break
    return at


def _quantile(at: NDArray[np.int64], share: float, most: int) -> int | None:
    value = int(np.sort(at)[math.ceil(share * len(at)) - 1])
    return value if value <= most else None
