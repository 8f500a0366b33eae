"""What is refused before any test is run, and sums by cluster."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from each import each
from karat.core import UsageError
from karat.stats import (
    bootstrap,
    decide,
    effect_size,
    evidence,
    non_inferior,
    paired_t,
    permutation,
    threshold,
    win_tie_loss,
)
from karat.stats._sample import sample

Call = Callable[..., Any]


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


CALLS: dict[str, Call] = {
    "bootstrap": lambda d, **more: bootstrap(d, rng=rng(), resamples=20, **more),
    "permutation": lambda d, **more: permutation(d, rng=rng(), **more),
    "paired_t": paired_t,
    "non_inferior": lambda d, **more: non_inferior(d, 0.1, **more),
}
UNCLUSTERED: dict[str, Call] = {"effect_size": effect_size, "win_tie_loss": win_tie_loss}
EVERY = CALLS | UNCLUSTERED


@each("call", EVERY.values(), ids=EVERY)
@each("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused_by_its_place(call: Call, bad: float) -> None:
    """A NaN or an infinity is named with its index."""
    with pytest.raises(UsageError, match=rf"differences\[2\] is {bad}"):
        call([0.1, 0.2, bad, bad])


@each("call", EVERY.values(), ids=EVERY)
@each("bad", [[[0.1, 0.2]], 0.1, ["a", "b"], [[0.1], [0.1, 0.2]]])
def test_what_is_no_list_of_numbers_is_refused(call: Call, bad: object) -> None:
    """Tables, single numbers, words and ragged lists are refused."""
    with pytest.raises(UsageError, match="differences"):
        call(bad)


@pytest.mark.parametrize("call", [CALLS[name] for name in ("bootstrap", "paired_t")] + [effect_size])
def test_a_spread_needs_two(call: Call) -> None:
    """Nothing with a spread is computed from no difference or one, where it would be 0 / 0 or a false certainty."""
    for few in ([], [0.5]):
        with pytest.raises(UsageError, match="at least 2"):
            call(few)


@pytest.mark.parametrize("call", [CALLS["bootstrap"], paired_t])
def test_a_spread_needs_two_clusters(call: Call) -> None:
    """Five repeats of one query are one thing that was seen."""
    with pytest.raises(UsageError, match="1 clusters: at least 2"):
        call([0.1, 0.2, 0.3, 0.2, 0.1], clusters=["q"] * 5)


@pytest.mark.parametrize("call", [CALLS["permutation"], CALLS["non_inferior"]])
def test_nothing_is_no_sample(call: Call) -> None:
    """A test on no differences at all is refused."""
    with pytest.raises(UsageError, match="0 differences: at least 1"):
        call([])


@each("call", CALLS.values(), ids=CALLS)
def test_cluster_labels_fit_the_differences(call: Call) -> None:
    """There is one label per difference, and none of them is missing or a list."""
    with pytest.raises(UsageError, match="2 cluster labels for 3 differences"):
        call([0.1, 0.2, 0.3], clusters=["a", "b"])
    with pytest.raises(UsageError, match=r"clusters\[1\] is None"):
        call([0.1, 0.2, 0.3], clusters=["a", None, "b"])
    with pytest.raises(UsageError, match=r"clusters\[2\] is nan"):
        call([0.1, 0.2, 0.3], clusters=np.array([1.0, 2.0, math.nan]))
    with pytest.raises(UsageError, match="names or numbers"):
        call([0.1, 0.2, 0.3], clusters=[["a"], ["b"], ["c"]])


def test_sums_by_cluster() -> None:
    """Labels of any kind are added up in the order in which they first come."""
    for labels in (["b", "a", "b"], np.array([2, 1, 2]), iter([2, "a", 2])):
        result = sample([0.25, 0.5, 0.5], labels)
        assert result.sums.tolist() == [0.75, 0.5]
        assert result.sizes.tolist() == [2, 1]
        assert result.mean == pytest.approx(1.25 / 3)


def test_scores_of_two_runs_fit_each_other() -> None:
    """Both runs have a finite score for each query; what has not is named."""
    with pytest.raises(UsageError, match="3 baseline and 2 candidate scores"):
        evidence([1, 1, 1], [1, 1], rng=rng())
    with pytest.raises(UsageError, match=r"candidate\[1\] is nan"):
        decide([([1, 1], [1, math.nan])], rng=rng())
    with pytest.raises(UsageError, match=r"baseline\[0\] is inf"):
        threshold([math.inf], [1])


def test_arguments_are_not_changed() -> None:
    """No function writes to the arrays it is given, which may be read-only."""
    values = np.array([0.5, 0.0, -0.25, 0.5, 1e-12, -0.5])
    before = values.copy()
    values.flags.writeable = False
    for call in EVERY.values():
        call(values)
    evidence(values, values, rng=rng())
    assert values.tolist() == before.tolist()


def test_a_generator_is_required() -> None:
    """Nothing random runs without being given its randomness."""
    for call in (bootstrap, permutation, evidence, decide):
        with pytest.raises(TypeError, match="rng"):
            call([0.1, 0.2], [0.1, 0.2]) if call is evidence else call([0.1, 0.2])  # type: ignore[operator]
