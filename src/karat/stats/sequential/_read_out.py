"""Numbers that people know, shown beside the test. They never decide: looked at often, they find what is not there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from karat.stats._bayes import probability_most_win
from karat.stats._bootstrap import bootstrap
from karat.stats.sequential._tally import HIGH, LOW, Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOut:
    """A bootstrap interval and a posterior probability at one look. Neither is a decision, so it has none."""

    low: float | None
    high: float | None
    """The ends of the bootstrap interval of 95 %; None with fewer than two differences."""
    probability_better: float
    """The probability that the treatment wins more than half of the units that differ, with a uniform prior; without
    ``pairs`` that its mean is higher, by the Bayesian bootstrap."""
    wins: int | None
    """None without ``pairs``, as are ties and losses."""
    ties: int | None
    losses: int | None


def read_out(tally: Tally, *, rng: np.random.Generator, resamples: int = 2_000, pairs: bool = True) -> ReadOut:
    """Return the bootstrap interval of the mean, and the Beta-Binomial probability that the treatment is better.

    Without ``pairs``, a difference is that of a session and the mean of several others. Then most differences of equal
    systems may have one sign, so that neither wins nor losses mean anything, and the probability is that of the mean.
    Where each arm has units of its own, :func:`karat.stats.probability_better` compares their shares of success.

    >>> shown = read_out(Tally.from_counts({0.5: 8, -0.5: 2, 0: 90}), rng=np.random.default_rng(1))
    >>> shown.wins, shown.ties, shown.losses, round(shown.probability_better, 4)
    (8, 90, 2, 0.9673)
    """
    wins = sum(count for value, count in tally.entries if value > 0)
    losses = sum(count for value, count in tally.entries if value < 0)
    interval = None
    if tally.n > 1:
        interval = bootstrap(np.repeat(tally.values, tally.counts), rng=rng, resamples=resamples)
    return ReadOut(
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        probability_better=probability_most_win(wins, losses) if pairs else _resample_better(tally, rng, resamples),
        wins=wins if pairs else None,
        ties=tally.n - wins - losses if pairs else None,
        losses=losses if pairs else None,
    )


def _resample_better(tally: Tally, rng: np.random.Generator, resamples: int) -> float:
    """Return the probability that the mean is above 0, by the Bayesian bootstrap (Rubin, Ann. Statist. 9, 1981).

    The weights of single differences are a Dirichlet draw with ones; those of equal ones add up to gamma variables. One
    difference at each bound is the prior, so that one session shows little.
    """
    tally += Tally.of([LOW, HIGH])
    sums = rng.standard_gamma(tally.counts, size=(resamples, len(tally.entries))) @ tally.values
    return float(np.mean(sums > 0) + np.mean(sums == 0) / 2)
