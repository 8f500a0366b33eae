"""What a sequential test says at a look: go on, graduate, stop for harm, stop because nothing is to be gained."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from karat.core import UsageError
from karat.stats._sample import check_share
from karat.stats.sequential._betting import log_e_above, log_e_below
from karat.stats.sequential._interval import confidence_sequence
from karat.stats.sequential._tally import HIGH, Tally


class Decision(StrEnum):
    """What the evidence allows."""

    CONTINUE = "continue"
    GRADUATE = "graduate"
    """The treatment is better."""
    HARM = "harm-stop"
    """The treatment is worse."""
    FUTILE = "futile"
    """The treatment is not better by the smallest effect worth shipping."""
    BELOW = "below-smallest-effect"
    """The treatment is better, but by less than that: a person decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppingRule:
    """The error rates of a trial, and the effects that matter."""

    alpha: float = 0.05
    """How often a treatment that is no better may graduate, and one that is no worse be stopped for harm."""
    beta: float = 0.2
    """How often a treatment that is better by ``effect`` may be called futile."""
    effect: float = 0.05
    """The smallest effect worth shipping."""
    margin: float = 0.05
    """The loss that is tolerated where a treatment only has to be no worse."""

    def __post_init__(self) -> None:
        check_share("alpha", self.alpha)
        check_share("beta", self.beta)
        for name, value in (("effect", self.effect), ("margin", self.margin)):
            if not 0 < value < HIGH:
                raise UsageError(f"{name} {value} should lie between 0 and {HIGH:g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """The evidence at a look, all of it valid however often one looks."""

    n: int
    mean: float | None
    """The mean difference; None if there is none."""
    low: float
    high: float
    """The confidence sequence."""
    log_better: float
    """log E+(0): that the treatment is better."""
    log_worse: float
    """log E-(0): that it is worse."""
    log_below_effect: float
    """log E-(effect): that it is not better by the smallest effect."""
    log_tolerable: float
    """log E+(-margin): that it is not worse by the margin."""
    decision: Decision
    rule: StoppingRule

    @property
    def non_inferior(self) -> bool:
        """Whether a loss of the margin is ruled out."""
        return self.log_tolerable >= -math.log(self.rule.alpha)


def assess(tally: Tally, rule: StoppingRule | None = None) -> Assessment:
    """Return what the differences of all units so far say.

    >>> assess(Tally.from_counts({1 / 6: 30, 0: 220})).decision
    <Decision.BELOW: 'below-smallest-effect'>
    >>> assess(Tally.from_counts({0.5: 8, -0.5: 2, 0: 90})).decision
    <Decision.CONTINUE: 'continue'>
    """
    rule = rule or StoppingRule()
    better, worse = log_e_above(tally), log_e_below(tally)
    below = log_e_below(tally, rule.effect)
    low, high = confidence_sequence(tally, rule.alpha)
    return Assessment(
        n=tally.n,
        mean=tally.mean,
        low=low,
        high=high,
        log_better=better,
        log_worse=worse,
        log_below_effect=below,
        log_tolerable=log_e_above(tally, -rule.margin),
        decision=_decide(better, worse, below, rule),
        rule=rule,
    )


def _decide(better: float, worse: float, below: float, rule: StoppingRule) -> Decision:
    enough, futile = -math.log(rule.alpha), below >= -math.log(rule.beta)
    if worse >= enough:
        return Decision.HARM
    if better >= enough:
        return Decision.BELOW if futile else Decision.GRADUATE
    return Decision.FUTILE if futile else Decision.CONTINUE
