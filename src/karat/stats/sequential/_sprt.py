"""Wald's sequential probability ratio test, for those who know the standard deviation of a difference beforehand."""

from __future__ import annotations

import math
from dataclasses import dataclass

from karat.core import UsageError
from karat.stats.sequential._decision import Decision, StoppingRule
from karat.stats.sequential._tally import Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class WaldTest:
    """The log-likelihood ratio of an effect against none, and its bounds."""

    n: int
    log_likelihood_ratio: float
    upper: float
    """From here on the treatment is accepted."""
    lower: float
    """Down to here the control is accepted."""
    decision: Decision
    """Continue, graduate (accept the treatment) or futile (accept the control)."""


def wald_sprt(tally: Tally, sigma: float, rule: StoppingRule | None = None) -> WaldTest:
    """Test a mean of ``rule.effect`` against 0, for normal differences with the standard deviation ``sigma``.

    The rates hold if ``sigma`` is right and was stated before the trial; of one that is estimated from the same
    differences, or of skewed differences, they do not. It also cannot tell harm from no effect.

    Wald, Sequential tests of statistical hypotheses, Annals of Mathematical Statistics 16(2), 1945.

    >>> test = wald_sprt(Tally.from_counts({0.5: 30, 0: 70}), sigma=0.25)
    >>> round(test.log_likelihood_ratio, 3), round(test.upper, 3), round(test.lower, 3), test.decision.value
    (10.0, 2.773, -1.558, 'graduate')
    """
    if not 0 < sigma < math.inf:
        raise UsageError(f"sigma {sigma} should be a positive number: the standard deviation of a difference")
    rule = rule or StoppingRule()
    upper, lower = math.log((1 - rule.beta) / rule.alpha), math.log(rule.beta / (1 - rule.alpha))
    away = tally.n * ((tally.mean or 0.0) - rule.effect / 2)
    ratio = rule.effect / sigma**2 * away
    decision = Decision.GRADUATE if ratio >= upper else Decision.FUTILE if ratio <= lower else Decision.CONTINUE
    return WaldTest(n=tally.n, log_likelihood_ratio=ratio, upper=upper, lower=lower, decision=decision)
