"""Means of a judge corrected by labels: by hand, at the ends, and coverage by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats as scipy

from karat.stats import LEAST_LABELS, correct_difference, correct_mean

N = 1000


def test_the_formula_by_hand() -> None:
    """Graded labels: every step written out, with SciPy's quantile."""
    y = np.tile([0.25, 0.5, 0.75, 1.0], 6)
    f = np.clip(y + np.tile([0.1, 0.2, 0.0, 0.0], 6), 0, 1)
    rest = np.tile([0.3, 0.5, 0.9, 1.0, 0.6], 20)
    n, m = len(y), len(rest)
    weight = np.cov(y, f)[0, 1] / ((1 + n / m) * np.var(np.concatenate([f, rest]), ddof=1))
    weight = min(max(weight, 0), 1)
    mean = y.mean() + weight * (rest.mean() - f.mean())
    error = math.sqrt(np.var(y - weight * f, ddof=1) / n + weight**2 * np.var(rest, ddof=1) / m)
    margin = scipy.t.ppf(0.975, n - 1) * error
    result = correct_mean(y, f, rest)
    assert (result.mean, result.weight) == (pytest.approx(mean), pytest.approx(weight))
    assert (result.low, result.high) == (pytest.approx(mean - margin), pytest.approx(mean + margin))
    assert (result.labels, result.judged, result.reason) == (24, 100, "")


def test_two_valued_labels_get_two_pairs() -> None:
    """The same as adding a good item that the judge calls bad, and the other way round."""
    y, f, rest = np.tile([1.0, 0.0, 1.0], 10), np.tile([1.0, 0.0, 0.0], 10), np.tile([1.0, 0.0], 50)
    added = correct_mean(np.append(y, [1, 0]), np.append(f, [0, 1]), rest, two_valued=False)
    result = correct_mean(y, f, rest)
    assert (result.mean, result.low, result.high) == (added.mean, added.low, added.high)
    assert result.labels == 30


def test_a_perfect_judge_and_one_that_knows_nothing() -> None:
    """One counts fully, the other not at all: then the interval is that of the labels."""
    y = np.tile([0.0, 0.25, 1.0], 20)
    perfect = correct_mean(y, y, np.tile(y, 20))
    assert perfect.weight == pytest.approx(np.var(y, ddof=1) / (1.05 * np.var(np.tile(y, 21), ddof=1)))
    flat = correct_mean(y, np.full(60, 0.5), np.full(N, 0.5))
    assert (flat.weight, flat.mean) == (0.0, pytest.approx(y.mean()))
    opposite = correct_mean(y, 1 - y, np.tile(1 - y, 20))
    assert opposite.weight == 0.0


def test_few_labels_stand_alone_and_equal_labels_leave_doubt() -> None:
    """No interval is better than what is known."""
    few = correct_mean([1.0] * 5, [0.2] * 5, [0.2] * N)
    assert few.weight == 0
    assert few.reason == f"5 labels; the judge counts from {LEAST_LABELS} on"
    assert few.high - few.low > 0.2
    assert correct_mean([0.75] * 40, [0.7] * 40, [0.7] * N).high > 0.75
    none = correct_mean([], [], [0.5] * N)
    assert math.isnan(none.mean)
    assert none.low == -math.inf
    with pytest.raises(ValueError, match="every labelled item has one of each"):
        correct_mean([1, 0], [1], [1])
    with pytest.raises(ValueError, match="not a number"):
        correct_mean([1, math.nan], [1, 1], [1])


def test_where_everything_is_labelled_the_labels_are_the_mean() -> None:
    """21 of 28 are good: .75, though two items are added for the interval, which stays from 0 to 1."""
    y, none = np.repeat([1.0, 0.0], [21, 7]), np.array([])
    result = correct_mean(y, np.full(28, 0.9), none)
    assert (result.mean, result.judge_mean) == (0.75, pytest.approx(0.9))
    assert result.low < 0.75 < result.high
    best = correct_mean(np.ones(28), np.ones(28), none)
    assert (best.mean, best.high, best.low < 1) == (1.0, 1.0, True)
    assert correct_mean(np.repeat([1.0, 0.0], [29, 1]), np.full(30, 0.5), np.full(9, 0.5)).high == 1.0
    worse = np.repeat([1.0, 0.0], [14, 14])
    change = correct_difference((y, worse), (y, y), (none, none))
    assert change.mean == -0.25
    assert (change.low + change.high) / 2 == pytest.approx(-0.25)
    up = correct_difference((np.full(28, 0.25), np.tile([0.25, 0.75], 14)), (y, y), (none, none))
    assert (up.mean, up.low > 0) == (0.25, True)
    rare = correct_difference((np.full(28, 0.25), np.append(np.full(27, 0.25), 0.5)), (y, y), (y, y))
    assert rare.low < 0  # a difference may be below 0, whatever those of the labels are


def yes_sayer(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Eight of ten are good; the judge says yes to 95 % of the good and 45 % of the bad."""
    y = rng.random(size) < 0.8
    return y.astype(float), (rng.random(size) < np.where(y, 0.95, 0.45)).astype(float), 0.8


def generous(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Graded labels in steps of .25; the judge is .1 too high."""
    grades, shares = np.arange(5) / 4, np.array([0.1, 0.1, 0.2, 0.3, 0.3])
    y = rng.choice(grades, p=shares, size=size)
    return y, y + 0.1 + rng.normal(0, 0.15, size), float(grades @ shares)


@pytest.mark.calibration
@pytest.mark.parametrize(
    ("world", "n", "least", "widest"),
    [(yes_sayer, 20, 0.96, 0.36), (yes_sayer, 50, 0.94, 0.21), (yes_sayer, 200, 0.93, 0.10),
     (generous, 20, 0.91, 0.15), (generous, 50, 0.92, 0.09)],
)  # fmt: skip
def test_coverage_of_the_interval(
    world: Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray, float]],
    n: int,
    least: float,
    widest: float,
) -> None:
    """As the specification has it, at a nominal 95 %; the judge alone is nearly always wrong."""
    rng = np.random.default_rng(16)
    covered, width, alone = [], [], []
    for _ in range(600):
        y, f, truth = world(rng, n + N)
        result = correct_mean(y[:n], f[:n], f[n:])
        covered.append(result.low <= truth <= result.high)
        width.append(result.high - result.low)
        alone.append(abs(f.mean() - truth) < 1.96 * f.std() / math.sqrt(len(f)))
    assert np.mean(covered) >= least
    assert np.mean(width) <= widest
    assert np.mean(alone) < 0.1
