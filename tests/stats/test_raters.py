"""Agreement of several people with intervals, against hand computations, other packages and simulation."""

from __future__ import annotations

import math

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from karat.stats import cohen_kappa, krippendorff_alpha
from karat.stats.trust import measure_raters

NAN = float("nan")


def rng():
    return np.random.default_rng(0)


def test_by_hand():
    """Six items: both agree on five. Observed 5/6; Cohen expects (3*2 + 3*4)/36 = 1/2, Fleiss (5² + 7²)/12²."""
    agreement = measure_raters([[0, 1, 1, 0, 1, 0], [0, 1, 0, 0, 1, 0]], rng=rng())
    assert agreement.same == pytest.approx(5 / 6)
    kappa, items, same = agreement.kappa[0, 1]
    assert (kappa.value, items, same) == (pytest.approx((5 / 6 - 1 / 2) / (1 / 2)), 6, pytest.approx(5 / 6))
    chance = (5**2 + 7**2) / 12**2
    assert agreement.fleiss.value == pytest.approx((5 / 6 - chance) / (1 - chance))
    assert [own.value for own in agreement.against_others] == pytest.approx([kappa.value] * 2)


def test_the_example_of_fleiss():
    """Ten subjects, fourteen raters, five categories: 0.210, as in the paper's example."""
    counts = [
        (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
        (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
    ]  # fmt: skip
    columns = [[grade for grade, count in enumerate(row) for _ in range(count)] for row in counts]
    agreement = measure_raters(np.array(columns, float).T, rng=rng(), resamples=20)
    assert agreement.fleiss.value == pytest.approx(0.2099, abs=1e-4)


tables = st.integers(2, 4).flatmap(
    lambda people: st.lists(
        st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0, NAN]), min_size=people, max_size=people), min_size=1, max_size=12
    )
)


@given(tables)
@settings(max_examples=60)
def test_values_are_those_of_the_functions_on_all_items(rows):
    """With missing grades and any number of people; NaN where they are."""
    table = np.array(rows).T
    agreement = measure_raters(table, rng=rng(), resamples=5)
    shared = table[:, (~np.isnan(table)).sum(axis=0) > 1]
    if agreement is None:
        assert not shared.size
        return
    assert agreement.alpha.value == pytest.approx(krippendorff_alpha(table), nan_ok=True)
    for (a, b), (kappa, items, _) in agreement.kappa.items():
        both = ~np.isnan(table[a]) & ~np.isnan(table[b])
        assert items == both.sum()
        expected = cohen_kappa(table[a, both], table[b, both], weights="quadratic")
        assert kappa.value == pytest.approx(expected, nan_ok=True)


@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=5, max_size=15))
@settings(max_examples=40)
def test_fleiss_and_alpha_agree_with_other_packages(rows):
    agreement = measure_raters(np.array(rows, float).T, rng=rng(), resamples=5)
    if len({grade for row in rows for grade in row}) == 1:
        assert math.isnan(agreement.fleiss.value)
        return
    assert agreement.fleiss.value == pytest.approx(fleiss_kappa(aggregate_raters(np.array(rows))[0]))
    alpha = krippendorff.alpha(reliability_data=np.array(rows, float).T, level_of_measurement="ordinal")
    assert agreement.alpha.value == pytest.approx(alpha)


def test_whole_queries_are_drawn():
    """Ten items of a query that are alike are no more evidence than one: the interval is as wide."""
    one = np.array([[0, 1, 2, 3, 0, 1, 2, 3, 1, 2], [0, 1, 2, 3, 1, 1, 3, 3, 0, 2]], float)
    many = np.repeat(one, 10, axis=1)
    single = measure_raters(one, rng=rng()).kappa[0, 1][0]
    grouped = measure_raters(many, np.repeat(np.arange(10), 10).tolist(), rng=rng()).kappa[0, 1][0]
    apart = measure_raters(many, rng=rng()).kappa[0, 1][0]
    assert (grouped.low, grouped.high) == pytest.approx((single.low, single.high))
    assert apart.high - apart.low < (grouped.high - grouped.low) / 2


def test_few_queries_have_no_interval():
    agreement = measure_raters([[0, 1, 2, 0] * 4, [0, 1, 1, 0] * 4], ["a", "b", "c", "d"] * 4, rng=rng())
    assert agreement.alpha.value == agreement.alpha.value
    assert math.isnan(agreement.alpha.low)
    assert measure_raters([[0, NAN], [NAN, 1]], rng=rng()) is None


@pytest.mark.calibration
@pytest.mark.slow
def test_intervals_cover():
    """Kappa of two people who see the same truth with errors: the interval holds it in about 95 of 100 samples."""
    draw = np.random.default_rng(7)

    def sample(queries, items):
        truth = draw.integers(0, 4, (queries, items))
        noise = draw.random((2, queries, items)) < 0.25
        return np.where(noise, draw.integers(0, 4, (2, queries, items)), truth).reshape(2, -1).astype(float)

    population = sample(40_000, 5)
    truth = cohen_kappa(*population, weights="quadratic")
    hits = 0
    for _ in range(200):
        names = np.repeat(np.arange(60), 5).tolist()
        kappa = measure_raters(sample(60, 5), names, rng=draw, resamples=400).kappa[0, 1][0]
        hits += kappa.low <= truth <= kappa.high
    assert 178 <= hits <= 199  # 190, standard deviation 3.1; a percentile interval is a little narrow
