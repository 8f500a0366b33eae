"""Agreement between annotators against hand computations, statsmodels and the krippendorff package."""

from __future__ import annotations

import math

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from karat.stats import cohen_kappa, krippendorff_alpha

grades = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=40)


def test_kappa_by_hand():
    """Of four pairs three agree; chance would agree on (1*1 + 1*2 + 2*1)/16 of them."""
    assert cohen_kappa([0, 1, 2, 2], [0, 1, 2, 1]) == pytest.approx((0.75 - 5 / 16) / (1 - 5 / 16))


def test_quadratic_kappa_by_hand():
    """One disagreement by one grade, against an expected squared distance of 10 in four pairs."""
    expected = sum((a - b) ** 2 for a in [3, 2, 0, 1] for b in [3, 1, 0, 1]) / 4
    assert cohen_kappa([3, 2, 0, 1], [3, 1, 0, 1], weights="quadratic") == pytest.approx(1 - 1 / expected)


@given(grades, st.sampled_from(["none", "linear", "quadratic"]))
def test_kappa_agrees_with_statsmodels(pairs, weights):
    """Every kappa equals that of statsmodels on the table of counts."""
    a, b = zip(*pairs, strict=True)
    table = np.zeros((4, 4))
    np.add.at(table, (a, b), 1)
    ours = cohen_kappa(a, b, weights=weights)
    assume(not math.isnan(ours))
    wt = {"none": None, "linear": "linear", "quadratic": "quadratic"}[weights]
    assert ours == pytest.approx(cohens_kappa(table, wt=wt, return_results=False), abs=1e-12)


@pytest.mark.slow
@given(
    st.lists(st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=6, max_size=6), min_size=2, max_size=5),
    st.sampled_from(["nominal", "ordinal", "interval"]),
)
def test_alpha_agrees_with_krippendorff(rows, level):
    """Every alpha equals that of the krippendorff package, with missing grades and any number of annotators."""
    table = np.array([[np.nan if grade is None else grade for grade in row] for row in rows], dtype=float)
    ours = krippendorff_alpha(table, level=level)
    assume(not math.isnan(ours))
    theirs = krippendorff.alpha(reliability_data=table, level_of_measurement=level)
    assert ours == pytest.approx(theirs, abs=1e-9)


def test_one_grade_only_is_undefined():
    """Where everything has the same grade, chance agrees too, and no number is made up."""
    assert math.isnan(cohen_kappa([1, 1], [1, 1]))
    assert math.isnan(krippendorff_alpha([[1, 1], [1, 1]]))
    assert math.isnan(krippendorff_alpha([[1, np.nan], [np.nan, 2]]))


def test_different_lengths_are_refused():
    """Annotators of different items cannot be compared."""
    with pytest.raises(ValueError, match="same items"):
        cohen_kappa([1, 2], [1])
