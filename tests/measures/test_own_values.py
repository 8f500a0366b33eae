"""A measure of one's own is held to what it declares."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import karat
from karat.core import MEASURES, MeasureError
from karat.measures import measure

QRELS, RUN = {"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": {"a": 1.0}, "q2": {"b": 1.0}}
Register = Callable[..., None]


@pytest.fixture
def register() -> Iterator[Register]:
    def register(values: list[float], **options: object) -> None:
        @measure("Own", cutoff="optional", **options)  # type: ignore[arg-type]
        def own(a: object, k: object):  # type: ignore[no-untyped-def]
            """Own."""
            return np.array(values)

    yield register
    del MEASURES._values["Own"], MEASURES._folded["own"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.5, 7.0], r"Own@3 returned 7, outside of the range that it declares, 0 to 1"),
        ([-0.1, 0.0], r"Own@3 returned -0.1, outside of the range"),
        ([math.inf, 0.0], r"Own@3 returned inf, outside of the range"),
        ([0.5, 7.0], r"return NaN where a query has no value"),
        ([0.5], r"Own@3 returned 1 values for 2 queries; return one for each, in order"),
        ([], r"Own@3 returned 0 values for 2 queries"),
    ],
)
def test_what_it_does_not_declare_is_refused(register: Register, values: list[float], message: str) -> None:
    register(values)
    with pytest.raises(MeasureError, match=message):
        karat.score(QRELS, RUN, ["Own@3"])


def test_what_it_declares_is_taken(register: Register) -> None:
    """NaN is no value, a little rounding is none outside, and the highest value may be the cut-off or anything."""
    register([math.nan, 1 + 1e-12])
    assert karat.score(QRELS, RUN, ["Own@3"]).mean()["Own@3"] == pytest.approx(1)


def test_without_a_highest_value_the_cutoff_is_one(register: Register) -> None:
    register([3.0, 3.5], high=None)
    assert karat.score(QRELS, RUN, ["Own@4"]).mean()["Own@4"] == 3.25
    with pytest.raises(MeasureError, match=r"returned 3.5, outside of the range that it declares, 0 to 3"):
        karat.score(QRELS, RUN, ["Own@3"])
