"""Corrections for several tests against statsmodels and their promises."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from statsmodels.stats.multitest import multipletests

from each import each
from karat.core import UsageError
from karat.stats import benjamini_hochberg, bonferroni, holm
from strategies import quick

Correction = Callable[[ArrayLike], NDArray[np.float64]]
THEIRS: dict[str, Correction] = {"holm": holm, "bonferroni": bonferroni, "fdr_bh": benjamini_hochberg}

values = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.01, 0.05, 1.0])), min_size=1, max_size=12)


def test_by_hand() -> None:
    """0.01, 0.02 and 0.03 times 3, 2 and 1 for Holm, times 3, 3/2 and 1 for Benjamini and Hochberg, never falling."""
    assert holm([0.03, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert benjamini_hochberg([0.03, 0.01, 0.02]) == pytest.approx([0.03, 0.03, 0.03])
    assert bonferroni([0.03, 0.01, 0.5]) == pytest.approx([0.09, 0.03, 1.0])


@pytest.mark.slow
@pytest.mark.parametrize("method", THEIRS)
@settings(quick, max_examples=25)  # statsmodels takes a tenth of a second
@given(values)
def test_corrections_are_those_of_statsmodels(method: str, p: list[float]) -> None:
    """Every adjusted p is that of statsmodels, ties and ends included."""
    assert THEIRS[method](p) == pytest.approx(multipletests(p, method=method)[1], abs=1e-15)


@quick
@given(values)
def test_order_does_not_matter(p: list[float]) -> None:
    """Each p has its adjusted value wherever it stands; none gets smaller; Holm's is never above Bonferroni's."""
    order = np.random.default_rng(len(p)).permutation(len(p))
    for correct in THEIRS.values():
        assert correct(np.array(p)[order]).tolist() == correct(p)[order].tolist()
        assert (correct(p) >= np.array(p) - 1e-15).all()
        assert (correct(p) <= 1).all()
    assert (holm(p) <= bonferroni(p)).all()
    assert (benjamini_hochberg(p) <= holm(p) + 1e-15).all()


@pytest.mark.parametrize("correct", THEIRS.values(), ids=THEIRS)
def test_one_test_and_none(correct: Correction) -> None:
    """A single p stays what it is; of none there is none."""
    assert correct([0.04]).tolist() == [0.04]
    assert correct([]).tolist() == []


@each("correct", THEIRS.values(), ids=THEIRS)
@each("bad", [math.nan, -0.01, 1.01, math.inf])
def test_what_is_no_p_is_refused(correct: Correction, bad: float) -> None:
    """NaN and what lies outside 0 to 1 is refused with its place: a missing p must not pass as none."""
    with pytest.raises(UsageError, match=r"p\[1\]"):
        correct([0.5, bad])
