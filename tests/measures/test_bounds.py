"""Bounds over unjudged documents, held against the values of all grades that they could have."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from each import each
from karat import Measure, MeasureError, UsageError
from karat.core import MEASURES
from karat.measures import REL, Alignment, Bound, measure, ratio

EXACT = (
    "P@3", "R@3", "R_cap@2", "F1@3", "AP", "AP@3", "GMAP@4", "RR", "RR@2", "Success@2", "Hits@3", "DCG@3",
    "DCG(gain='exp')", "ERR@3", "RBP@4", "RBP(rel=2)", "INSQ@3", "INSQ(max_grade=2)", "SetP@3",
    "SetP(relative=True)@3", "SetR", "SetF", "SetF(beta=0)", "SetAP", "Utility", "Utility(a=-1,b=1)", "R(rel=2)@3",
    "AP(rel=2)@3", "TrueEmpty", "FalseHits@3", "nDCG@3", "nDCG", "nDCG(gain='exp')@3", "nDCG(ideal='returned')@4",
)  # fmt: skip
HIGHEST = 2
Table = dict[str, dict[str, int]]


@pytest.fixture(scope="module", autouse=True)
def miss() -> Iterator[None]:
    """A measure where lower is better, registered for these tests."""

    @measure("MissedShare", REL, cutoff="required", higher_is_better=False, unjudged="monotone")
    def missed(a: Alignment, k: int, *, rel: int):  # type: ignore[no-untyped-def]
        """Missed."""
        relevant = a.relevant(rel)
        return ratio(relevant - a.hits.relevant(rel).top(k).count(), relevant)

    yield
    del MEASURES._values["MissedShare"], MEASURES._folded["missedshare"]


@pytest.fixture(scope="module")
def loose() -> Iterator[str]:
    """The name of a measure with a bound that no grades may reach."""
    bound = Bound(lambda a, k, unjudged: (np.zeros(len(a.queries)), np.ones(len(a.queries))), exact=False)

    @measure("Loose", cutoff="required", unjudged=bound)
    def loose(a: Alignment, k: int):  # type: ignore[no-untyped-def]
        """Loose."""
        return a.hits.top(k).count() / k

    yield "Loose"
    del MEASURES._values["Loose"], MEASURES._folded["loose"]


def all_values(judged: dict[str, int], ranking: list[str], name: str) -> list[float]:
    """Return the values for all grades of the unjudged documents in the top k; NaN where it is undefined."""
    top = ranking[: Measure.parse(name).cutoff or len(ranking)]
    unjudged = [document for document in top if document not in judged]
    run = {"q": {document: float(-rank) for rank, document in enumerate(ranking)}}
    values = []
    for grades in product(range(HIGHEST + 1), repeat=len(unjudged)):
        world = judged | dict(zip(unjudged, grades, strict=True))
        value = karat.score({"q": world}, run, [name]).value("q", name)
        values.append(math.nan if value is None else value)
    return values


def bounds(judged: dict[str, int], ranking: list[str], name: str) -> tuple[float | None, float | None]:
    run = {"q": {document: float(-rank) for rank, document in enumerate(ranking)}}
    # The other query makes the highest grade 2, whatever this one has.
    scores = karat.score({"q": judged, "z": {"a": HIGHEST}}, run, [name], bounds=True)
    return scores.at_worst().value("q", name), scores.at_best().value("q", name)


LISTS = st.lists(st.sampled_from("abcdef"), unique=True, max_size=5)
JUDGED = st.dictionaries(st.sampled_from("abcdxy"), st.integers(0, HIGHEST), min_size=1)


@pytest.mark.slow
@given(JUDGED, LISTS, st.sampled_from([*EXACT, "MissedShare@3"]))
def test_bounds_are_the_extremes_over_all_grades(judged: dict[str, int], ranking: list[str], name: str) -> None:
    worst, best = bounds(judged, ranking, name)
    values = all_values(judged, ranking, name)
    if math.isnan(values[0]):  # undefined as it is judged, so that it has no bounds either
        assert (worst, best) == (None, None)
        return
    low, high = np.nanmin(values), np.nanmax(values)
    if Measure.parse(name).definition.higher_is_better is False:
        low, high = high, low
    assert (worst, best) == pytest.approx((low, high), abs=1e-12)


def test_bounds_by_hand() -> None:
    """One relevant document at rank 2 of 3; the first and the last are unjudged."""
    scores = karat.score({"q": {"a": 1}}, {"q": {"x": 3, "a": 2, "y": 1}}, ["P@2", "R@2", "RR", "AP"], bounds=True)
    assert scores.at_worst().mean() == {"P@2": 0.5, "R@2": 1.0, "RR": 0.5, "AP": 0.5}
    assert scores.at_best().mean() == {"P@2": 1.0, "R@2": 1.0, "RR": 1.0, "AP": 1.0}
    assert scores.bounds is not None
    assert scores.bounds.unjudged.tolist() == [[1, 1, 2, 2]]


def test_one_more_relevant_document_can_lower_average_precision_and_ndcg() -> None:
    """A perfect list of one; a second relevant document at rank 4 would make it (1 + 2/4) / 2."""
    run = {"q": {"a": 4, "x": 3, "n": 2, "y": 1}}
    scores = karat.score({"q": {"a": 1, "n": 0, "x": 0}}, run, ["AP", "nDCG"], bounds=True)
    ndcg = (1 + 1 / math.log2(5)) / (1 + 1 / math.log2(3))
    assert scores.at_worst().mean() == pytest.approx({"AP": 0.75, "nDCG": ndcg})
    assert scores.at_best().mean() == {"AP": 1.0, "nDCG": 1.0}


def test_bounds_close_when_everything_is_judged() -> None:
    names = [name for name in EXACT if name not in ("TrueEmpty", "FalseHits@3")]
    scores = karat.score({"q": {"a": 1, "b": 0, "c": 2}}, {"q": {"b": 3, "c": 2, "a": 1}}, names, bounds=True)
    assert scores.at_worst().mean() == scores.mean() == scores.at_best().mean()


@each(
    ("name", "why"),
    [
        ("Bpref", "none are known"),
        ("InvRate", "none are known"),
        ("Rprec", "none are known"),
        ("Judged@2", "it counts unjudged documents itself"),
        ("NumRet", "neither higher nor lower values of it are better"),
        ("P(judged_only=True)@2", "judged_only leaves unjudged documents out"),
        ("DCG(gains={1:5})", "it has gains of its own"),
    ],
)
def test_a_measure_without_bounds_says_why(name: str, why: str) -> None:
    scores = karat.score({"q": {"a": 1}}, {"q": {"x": 2, "a": 1}}, [name], bounds=True)
    assert scores.bounds is not None
    assert list(scores.bounds.unknown.values()) == [why]
    assert scores.at_worst().count(name) == 0
    assert "no bounds" in scores.at_worst().missing(name)


def test_the_best_ndcg_is_below_one_where_no_grades_reach_it() -> None:
    """One document of grade 3 is known and was not returned; the best is the unjudged one having grade 3, too."""
    scores = karat.score({"q": {"a": 3}}, {"q": {"x": 1}}, ["nDCG@2"], bounds=True)
    assert scores.at_best().mean() == pytest.approx({"nDCG@2": 1 / (1 + 1 / math.log2(3))})
    assert scores.bounds is not None
    assert scores.bounds.loose == frozenset()


def test_a_bound_that_is_not_exact_is_named_as_loose(loose: str) -> None:
    scores = karat.score({"q": {"a": 1}}, {"q": {"x": 2, "a": 1}}, [f"{loose}@2", "P@2"], bounds=True)
    assert scores.bounds is not None
    assert scores.bounds.loose == {f"{loose}@2"}


def test_a_pooled_document_without_a_judgment_is_unjudged() -> None:
    """A negative grade means that nobody judged it."""
    scores = karat.score({"q": {"a": 1, "x": -1}}, {"q": {"x": 2, "a": 1}}, ["P@2", "AP"], bounds=True)
    assert scores.at_best().mean() == {"P@2": 1.0, "AP": 1.0}
    assert scores.at_worst().mean() == {"P@2": 0.5, "AP": 0.5}


def test_bounds_follow_the_selected_queries_and_measures() -> None:
    qrels = {"q": {"a": 1}, "r": {"a": 1, "x": 0}}
    run = {"q": {"x": 2, "a": 1}, "r": {"x": 2, "a": 1}}
    scores = karat.score(qrels, run, ["P@2", "RR"], bounds=True).select(["r"]).only(["RR"])
    assert scores.at_best().mean() == scores.at_worst().mean() == {"RR": 0.5}


def test_a_query_that_a_policy_fills_could_have_any_value() -> None:
    scores = karat.score({"q": {"a": 0}, "r": {"b": 1}}, {"q": {"x": 1}}, ["RR"], bounds=True, undefined="one")
    assert scores.column("RR") == {"q": 1.0, "r": 0.0}
    assert scores.at_worst().column("RR") == {"q": 0.0, "r": 0.0}
    assert scores.at_best().column("RR") == {"q": 1.0, "r": 0.0}


def test_scores_without_bounds_say_how_to_get_them() -> None:
    with pytest.raises(UsageError, match="bounds=True"):
        karat.score({"q": {"a": 1}}, {"q": {"a": 1}}, ["P@2"]).at_best()


def test_a_grade_beyond_the_scale_of_err_is_still_an_error() -> None:
    with pytest.raises(MeasureError, match="max_grade=5"):
        karat.score({"q": {"a": 5}}, {"q": {"a": 1, "x": 2}}, ["ERR"], bounds=True)
