"""The table of scores: values, reasons, means, and what comes out of it."""

from __future__ import annotations

import math
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

import karat
from karat import Scores, UsageError

# q1 is perfect, q2 has nothing to find, q3 is not in the run, and q4 is missed; the run also answers q5.
QRELS = {"q1": {"a": 1}, "q2": {"a": 0}, "q3": {"a": 1}, "q4": {"a": 1, "b": 1}}
RUN = {"q1": ["a"], "q2": ["a"], "q4": ["x"], "q5": ["a"]}


@pytest.fixture
def scores() -> Scores:
    """Recall with two reasons to be missing, precision with one, and a count."""
    return karat.score(QRELS, RUN, ["R@5", "P@1", "NumRet"], name="my run", missing="exclude")


def table(values: list[list[float]], **rest: object) -> Scores:
    """A table of numbers without gaps."""
    array = np.array(values, np.float64)
    return Scores(
        name="t",
        queries=tuple(f"q{i}" for i in range(len(values))),
        measures=tuple(f"M{j}" for j in range(array.shape[1])),
        values=array,
        codes=np.zeros(array.shape, np.uint8),
        **rest,  # type: ignore[arg-type]
    )


# --- Values and reasons -----------------------------------------------------------------------------------------------


def test_a_value_or_the_reason_why_there_is_none(scores: Scores) -> None:
    """Each cell has either a value or a reason, never both and never neither."""
    assert [scores.value(q, "R@5") for q in scores.queries] == [1.0, None, None, 0.0]
    assert [scores.reason(q, "R@5") for q in scores.queries] == [None, "no relevant documents", "not in the run", None]
    assert [scores.value(q, "P@1") for q in scores.queries] == [1.0, 0.0, None, 0.0]
    assert [scores.reason(q, "P@1") for q in scores.queries] == [None, None, "not in the run", None]


def test_missing_counts_the_reasons(scores: Scores) -> None:
    """Reasons are counted for each measure, and only those that occur."""
    assert scores.missing("R@5") == {"not in the run": 1, "no relevant documents": 1}
    assert scores.missing("P@1") == {"not in the run": 1}
    assert karat.score(QRELS, RUN, ["P@1"]).missing("P@1") == {}


def test_a_query_that_is_absent_and_has_nothing_to_find_is_absent() -> None:
    """Where both reasons hold, the run's comes first: judging would not help."""
    scores = karat.score({"q": {"a": 0}, "r": {"a": 1}}, {"r": ["a"]}, ["R@5"], missing="exclude")
    assert scores.reason("q", "R@5") == "not in the run"


def test_an_absent_query_counts_as_an_empty_list_by_default() -> None:
    """Failing to answer is not better than answering wrong."""
    scores = karat.score(QRELS, RUN, ["R@5", "P@1"])
    assert scores.value("q3", "R@5") == 0.0
    assert scores.mean() == {"R@5": (1 + 0 + 0) / 3, "P@1": (1 + 0 + 0 + 0) / 4}


@pytest.mark.parametrize(
    ("policy", "value", "mean"),
    [("exclude", None, (1 + 0 + 0) / 3), ("zero", 0.0, (1 + 0 + 0 + 0) / 4), ("one", 1.0, (1 + 1 + 0 + 0) / 4)],
)
def test_undefined_policies(policy: str, value: float | None, mean: float) -> None:
    """A query with nothing to find is left out, counts as 0, or counts as 1."""
    scores = karat.score(QRELS, RUN, ["R@5"], undefined=policy)
    assert scores.value("q2", "R@5") == value
    assert scores.mean() == {"R@5": mean}
    assert scores.missing("R@5") == ({"no relevant documents": 1} if value is None else {})


def test_different_measures_have_different_reasons() -> None:
    """The reason is that of the measure: nothing to find, nothing returned, or too few results to compare."""
    scores = karat.score({"q": {"a": 0}, "r": {"a": 1}}, {"q": [], "r": ["a"]}, ["AP", "Judged", "InvRate"])
    assert [scores.reason("q", name) for name in scores.measures] == [
        "no relevant documents",
        "nothing retrieved",
        "fewer than two results",
    ]


def test_what_was_asked_for_is_named(scores: Scores) -> None:
    """The table knows its run, its measures, its queries, and which queries did not meet."""
    assert scores.name == "my run"
    assert scores.measures == ("R@5", "P@1", "NumRet")
    assert scores.queries == ("q1", "q2", "q3", "q4")
    assert scores.total == 4
    assert scores.not_in_run == ("q3",)
    assert scores.not_judged == 1


def test_a_measure_asked_for_twice_stands_once() -> None:
    """Two spellings of one measure are one column."""
    assert karat.score(QRELS, RUN, ["mrr@5", "RR@5", "RR(rel=1)@5"]).measures == ("RR@5",)


def test_one_measure_may_be_given_as_text() -> None:
    """A single measure needs no list, as text or as a value."""
    assert karat.score(QRELS, RUN, "P@1").measures == ("P@1",)
    assert karat.score(QRELS, RUN, karat.Measure.parse("P@1")).measures == ("P@1",)


# --- Aggregates -------------------------------------------------------------------------------------------------------


def test_mean_sum_and_count_are_over_the_values_that_are_there(scores: Scores) -> None:
    """Missing cells take no part, and n says how many did."""
    assert scores.mean() == {"R@5": (1 + 0) / 2, "P@1": (1 + 0 + 0) / 3, "NumRet": (1 + 1 + 1) / 3}
    assert [scores.count(name) for name in scores.measures] == [2, 3, 3]
    assert scores.sum("NumRet") == 1 + 1 + 1
    assert scores.aggregates == {"NumRet": "sum"}


def test_the_mean_of_nothing_is_not_a_number() -> None:
    """Where no query has a value the mean is NaN, the sum 0 and the count 0: never a zero mean."""
    scores = karat.score({"q": {"a": 0}}, {"q": ["a"]}, ["R@5", "GMAP"])
    assert all(math.isnan(mean) for mean in scores.mean().values())
    assert scores.count("R@5") == 0
    assert scores.sum("R@5") == 0.0


def test_the_mean_is_rounded_once() -> None:
    """Numbers that plain addition loses are kept: (1e16 + 1 - 1e16) / 3 is 1/3, in any order."""
    assert table([[1e16], [1.0], [-1e16]]).mean() == {"M0": 1 / 3}
    assert table([[1.0], [1e16], [-1e16]]).mean() == {"M0": 1 / 3}
    assert table([[0.1]] * 10).sum("M0") == 1.0


def test_the_geometric_mean_has_a_floor() -> None:
    """Zeros count as 0.00001: the mean of 1/4 and 0 is sqrt(0.25 * 0.00001)."""
    scores = table([[0.25], [0.0]], aggregates={"M0": "geometric"})
    assert scores.mean()["M0"] == pytest.approx(math.sqrt(0.25 * 0.00001), rel=1e-14)
    assert table([[1.0], [1.0]], aggregates={"M0": "geometric"}).mean() == {"M0": 1.0}


# --- Select -----------------------------------------------------------------------------------------------------------


def test_select_keeps_the_tables_own_order(scores: Scores) -> None:
    """Some of the queries, in the order of the table, with their values, reasons and absences."""
    some = scores.select(["q4", "nobody", "q3", "q1"])
    assert some.queries == ("q1", "q3", "q4")
    assert [some.value(q, "R@5") for q in some.queries] == [1.0, None, 0.0]
    assert some.reason("q3", "R@5") == "not in the run"
    assert some.not_in_run == ("q3",)
    assert some.mean()["R@5"] == 1 / 2
    assert (some.name, some.measures, some.definitions) == (scores.name, scores.measures, scores.definitions)


def test_select_takes_an_iterator_and_changes_nothing(scores: Scores) -> None:
    """The queries may come from a generator; the table stays whole."""
    assert scores.select(query for query in ("q1",)).total == 1
    assert scores.total == 4


def test_an_empty_selection_has_no_queries(scores: Scores) -> None:
    """Nothing selected is a table without rows, of which every mean is NaN."""
    nobody = scores.select([])
    assert nobody.queries == ()
    assert nobody.values.shape == (0, 3)
    assert nobody.not_in_run == ()
    assert all(math.isnan(mean) for mean in nobody.mean().values())
    assert nobody.missing("R@5") == {}
    assert nobody.to_dicts() == []
    assert nobody.to_polars().shape == (0, 4)
    assert nobody.to_pandas().shape == (0, 3)


def test_no_measures_is_a_table_without_columns() -> None:
    """An empty list of measures asks for nothing, which is not the same as asking for the defaults."""
    scores = karat.score(QRELS, RUN, [])
    assert scores.measures == ()
    assert scores.mean() == {}
    assert scores.total == 4


# --- Other forms ------------------------------------------------------------------------------------------------------


def test_to_dicts_has_none_where_there_is_no_value(scores: Scores) -> None:
    """One dict per query, in order, as plain Python numbers."""
    rows = scores.to_dicts()
    assert rows == [
        {"query_id": "q1", "R@5": 1.0, "P@1": 1.0, "NumRet": 1.0},
        {"query_id": "q2", "R@5": None, "P@1": 0.0, "NumRet": 1.0},
        {"query_id": "q3", "R@5": None, "P@1": None, "NumRet": None},
        {"query_id": "q4", "R@5": 0.0, "P@1": 0.0, "NumRet": 1.0},
    ]
    assert type(rows[0]["R@5"]) is float


def test_to_polars_has_null_where_there_is_no_value(scores: Scores) -> None:
    """A frame with a text column of queries and a float column per measure."""
    frame = scores.to_polars()
    assert frame.schema == {"query_id": pl.String, "R@5": pl.Float64, "P@1": pl.Float64, "NumRet": pl.Float64}
    assert frame.to_dicts() == scores.to_dicts()


def test_without_pandas_it_is_named(scores: Scores, monkeypatch: pytest.MonkeyPatch) -> None:
    """pandas is optional, and its absence is no traceback of an import."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match=r"to_pandas\(\) needs pandas .*; pip install pandas"):
        scores.to_pandas()


def test_to_pandas_has_nan_where_there_is_no_value(scores: Scores) -> None:
    """A frame indexed by query, whose columns are the measures and whose own data may be changed."""
    frame = scores.to_pandas()
    assert list(frame.columns) == ["R@5", "P@1", "NumRet"]
    assert frame.index.name == "query_id"
    assert list(frame.index) == ["q1", "q2", "q3", "q4"]
    expected = pd.Series([1.0, math.nan, math.nan, 0.0], index=frame.index, name="R@5")
    pd.testing.assert_series_equal(frame["R@5"], expected)
    frame.loc["q1", "R@5"] = 7.0
    assert scores.value("q1", "R@5") == 1.0


# --- Frozen -----------------------------------------------------------------------------------------------------------


def test_arrays_are_read_only(scores: Scores) -> None:
    """Nobody can change a score after the fact, nor in a selection."""
    for array in (scores.values, scores.codes, scores.select(["q1"]).values, scores.select(["q1"]).codes):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1


def test_fields_cannot_be_set(scores: Scores) -> None:
    """The table is a value."""
    with pytest.raises(AttributeError):
        scores.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize(("values", "codes"), [((2, 1), (1, 1)), ((1, 1), (2, 1)), ((1, 2), (1, 2))])
def test_shapes_must_fit(values: tuple[int, int], codes: tuple[int, int]) -> None:
    """Values and codes have a row per query and a column per measure."""
    with pytest.raises(ValueError, match=r"should have shape \(1, 1\)"):
        Scores(name="t", queries=("q",), measures=("M",), values=np.zeros(values), codes=np.zeros(codes, np.uint8))


# --- Errors -----------------------------------------------------------------------------------------------------------


def test_an_unknown_measure_names_the_near_one(scores: Scores) -> None:
    """Every method that takes a measure suggests what was meant, or lists what there is."""
    for method in (scores.sum, scores.count, scores.missing):
        with pytest.raises(UsageError, match=r"no measure 'R@50' in these scores, did you mean 'R@5'"):
            method("R@50")
    with pytest.raises(UsageError, match=r"no measure 'xyzzy' in these scores; they have R@5, P@1, NumRet"):
        scores.value("q1", "xyzzy")
    with pytest.raises(UsageError, match=r"no measure 'xyzzy'"):
        scores.reason("q1", "xyzzy")


def test_an_unknown_query_names_the_near_one(scores: Scores) -> None:
    """A query that is not in the table is a mistake, not a missing value."""
    with pytest.raises(UsageError, match=r"no query 'q11' in these scores, did you mean 'q1'"):
        scores.value("q11", "R@5")
    with pytest.raises(UsageError, match=r"no query 'xyzzy' in these scores$"):
        scores.reason("xyzzy", "R@5")


def test_unjudged_queries_are_not_in_the_table(scores: Scores) -> None:
    """A query of the run that nobody judged has no row."""
    with pytest.raises(UsageError, match="no query 'q5'"):
        scores.value("q5", "R@5")


def test_values_that_are_missing_for_a_reason() -> None:
    """Every value counts, also those that are there."""
    reasons = {("q2", "R@5"): "no relevant", ("q3", "R@5"): "failed"}
    scores = Scores.from_columns("mine", {"R@5": {"q1": 1.0}}, queries=["q1", "q2", "q3"], reasons=reasons)
    assert scores.is_missing_for(lambda reason: reason == "failed").tolist() == [[False], [False], [True]]
    assert not scores.is_missing_for(lambda _: False).any()
