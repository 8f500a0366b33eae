"""Runs with equal keys are those that can be compared."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evaluations import make_evaluation
from karat.core import InputError
from karat.evaluation import Evaluation, comparison_key, require_comparable

SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "k": st.sampled_from([10, 20]),
        "unit": st.sampled_from(["document", "span"]),
        "paraphrases": st.booleans(),
        "sample": st.sampled_from([None, 5]),
        "seed": st.sampled_from([0, 1]),
        "concurrency": st.sampled_from([1, 8]),
    },
)


def scored(settings: dict[str, Any], definition: str) -> Evaluation:
    """A run of one query."""
    return make_evaluation(
        name="a",
        golden={"fingerprint": "f"},
        settings=settings,
        definitions={"RR": definition},
        values={"RR": {"q": (1.0,)}},
        means={"RR": 1.0},
    )


@given(SETTINGS, SETTINGS, st.sampled_from(["RR", "RR@10"]), st.sampled_from(["RR", "RR@10"]))
def test_equal_keys_mean_comparable_runs(
    first: dict[str, Any], second: dict[str, Any], measure: str, other: str
) -> None:
    """Whatever is set or left out: the key is the comparison of all pairs, without comparing all pairs."""
    a, b = scored(first, measure), scored(second, other)
    try:
        require_comparable(a, b)
        comparable = True
    except InputError:
        comparable = False
    assert (comparison_key(a) == comparison_key(b)) == comparable
