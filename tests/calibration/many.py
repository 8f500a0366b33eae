"""Decisions on many simulated experiments at once, by the rules of :func:`karat.gate.decide`.

Means, bounds and limits of all experiments are computed in one pass. Sign flips are the expensive part, and only a
measure that fell by more than its margin can fail: only such experiments are tested, by ``westfall_young`` itself, with
the generator that a gate has. tests/calibration compares every number with those of ``decide``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from karat.gate import Policy, Rule
from karat.stats import DropRule, make_generator, westfall_young
from karat.stats._sample import TIE
from karat.stats._student import critical

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Scores = Mapping[str, Floats]
"""By measure: a row for each experiment, and a column for each query."""


@dataclass(frozen=True, eq=False)
class Tests:
    """What the tests say on each experiment (rows) and measure (columns)."""

    low: Floats
    margin: Floats
    adjusted: Floats
    """The corrected p-value; NaN for an experiment in which no measure fell by more than its margin."""
    fails: Bools
    passes: Bools


def run_tests(before: Floats, after: Floats, rule: DropRule) -> Tests:
    """Test arrays of scores with an axis each for experiments, measures and queries."""
    n = before.shape[-1]
    change = np.where(np.abs(after - before) <= TIE, 0.0, after - before)
    mean = change.sum(axis=-1) / n
    residuals = change - mean[..., None]
    error = np.sqrt((residuals * residuals).sum(axis=-1) * n / (n - 1)) / n
    low = mean - critical(n - 1, rule.alpha) * error
    margin = np.vectorize(rule.margin)(before.sum(axis=-1) / n)
    dropped = mean < -margin - TIE
    adjusted = np.full(mean.shape, math.nan)
    for experiment in np.flatnonzero(dropped.any(axis=1)):
        flips = make_generator(0, "gate")
        adjusted[experiment] = westfall_young(
            change[experiment], rng=flips, resamples=rule.flips, alternative="less"
        ).adjusted
    fails = dropped & (adjusted <= rule.alpha)
    passes = ~fails & (~change.any(axis=-1) | (low > -margin))
    return Tests(low=low, margin=margin, adjusted=adjusted, fails=fails, passes=passes)


def decide_many(before: Scores, after: Scores, policy: Policy) -> tuple[NDArray[np.str_], Tests | None]:
    """Return the outcome of each experiment, and the tests if the policy has some.

    Latency is the same in both runs, and fast: only the rules on measures can fail.
    """
    shape = next(iter(before.values())).shape
    fails, passes = np.zeros(shape[0], bool), np.ones(shape[0], bool)
    for rule in policy.rules:
        if rule.is_measure:
            fails |= ~_meet_limits(rule, before[rule.metric].mean(axis=1), after[rule.metric].mean(axis=1))
    measures = [rule.metric for rule in policy.rules if rule.non_inferior]
    tests = None
    if measures:
        then, now = (np.stack([scores[name] for name in measures], axis=1) for scores in (before, after))
        tests = run_tests(then, now, policy.drop)
        fails, passes = fails | tests.fails.any(axis=1), tests.passes.all(axis=1)
    return np.where(fails, "fail", np.where(passes, "pass", "inconclusive")), tests


def _meet_limits(rule: Rule, then: Floats, now: Floats) -> Bools:
    """Return in which experiments a mean is within the limits of a rule on a measure where higher is better."""
    within = np.ones(len(now), bool)
    if rule.min is not None:
        within &= now >= rule.min
    if rule.max_drop_abs is not None:
        within &= then - now <= rule.max_drop_abs + TIE
    if rule.max_drop_rel is not None:
        within &= then - now <= rule.max_drop_rel * np.abs(then) + TIE
    if rule.min_gain_abs is not None:
        within &= now - then >= rule.min_gain_abs - TIE
    return within
