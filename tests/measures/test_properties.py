"""What holds for every ranking, whatever the numbers."""

from __future__ import annotations

import copy
import random
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from each import each
from karat.core import Measure, Scores
from strategies import (
    GRADES,
    Table,
    every_measure,
    frame,
    judged,
    quick,
    ranking,
    same_bits,
    tables,
    thorough,
    untied_rankings,
)

ALL = every_measure()
TOP_HEAVY = ["P@1", "P@5", "R@5", "RR", "RR@5", "AP", "AP@5", "nDCG", "nDCG@5", "nDCG(gain='exp')", "Success@5"]
TOP_HEAVY += ["DCG", "ERR", "RBP", "Rprec", "Bpref", "infAP", "SetP", "SetF", "INSQ", "IPrec@0.5", "IPrec11", "binG"]
PERFECT = ["nDCG", "nDCG@3", "nDCG(gain='exp')", "nDCG(ideal='returned')@3", "AP", "GMAP", "R@100", "RR", "Rprec"]
PERFECT += ["Bpref", "GBpref", "Compat", "Compat(p=0.5)", "R_cap@2", "R_cap@100", "Success@1", "P@1", "IPrec@1"]
PERFECT += ["IPrec11", "SetR", "binG", "G", "nDCG_rel", "RnDCG"]
seeds = st.integers(0, 2**32)


def _range(measure: Measure) -> tuple[float, float]:
    """Read the documented range: "0 to 1", "0 to k", "0 and up", "0 or 1", "1", "any number"."""
    match = re.search(r"^ *Range: (.*)$", measure.definition.doc, re.MULTILINE)
    assert match is not None, measure
    text = match[1]
    if text.startswith("any number"):
        return -np.inf, np.inf
    numbers = re.match(r"(-?[\d.]+)(?: (?:to less than|to|or|and) (\d+|k|up))?", text)
    assert numbers is not None, text
    if measure.definition.aggregate == "geometric":
        return 0.0, 1.0  # the range is that of the mean; a query may be 0
    high = {"k": np.inf if measure.cutoff is None else float(measure.cutoff), "up": np.inf, None: float(numbers[1])}
    return float(numbers[1]), high[numbers[2]] if numbers[2] in high else float(numbers[2])


RANGES = {str(measure): _range(measure) for measure in ALL}


@pytest.mark.slow
@quick
@given(qrels=judged(GRADES), run=untied_rankings())
def test_an_irrelevant_document_at_the_bottom_raises_nothing(qrels: dict[str, int], run: dict[str, float]) -> None:
    """One more document below all others that nobody judged relevant is never rewarded."""
    qrels = qrels | {"judged": 0}
    before = _values(qrels, run, TOP_HEAVY)
    for irrelevant in ("unjudged", "judged"):
        after = _values(qrels, run | {irrelevant: 0.0}, TOP_HEAVY)
        assert {name for name, value in after.items() if value > before[name]} == set()


@pytest.mark.slow
@quick
@given(qrels=judged(GRADES), run=untied_rankings(), data=st.data())
def test_a_better_document_moving_up_lowers_nothing(
    qrels: dict[str, int], run: dict[str, float], data: st.DataObject
) -> None:
    """When two neighbours change places so that the better one comes first, no measure of the ranking falls."""
    documents = sorted(run, key=lambda document: -run[document])
    grades = [qrels.get(document, 0) for document in documents]
    worse_first = [i for i in range(len(grades) - 1) if grades[i] < grades[i + 1]]
    if not worse_first:
        return
    i = data.draw(st.sampled_from(worse_first))
    upper, lower = documents[i], documents[i + 1]
    swapped = run | {upper: run[lower], lower: run[upper]}
    before, after = _values(qrels, run, TOP_HEAVY), _values(qrels, swapped, TOP_HEAVY)
    # Where nothing that counts has moved the sums have other terms in another order, and may differ in the last bit.
    assert {name for name, value in after.items() if value < before[name] * (1 - 1e-12)} == set()


@pytest.mark.slow
@quick
@given(qrels=judged(GRADES).filter(lambda grades: max(grades.values()) > 0), rest=st.integers(0, 5))
def test_a_perfect_ranking_is_exactly_one(qrels: dict[str, int], rest: int) -> None:
    """All judged documents, best grade first and whatever else after them, is 1.0 to the last bit."""
    documents = sorted(qrels, key=lambda document: -qrels[document]) + [f"z{i}" for i in range(rest)]
    run = {document: float(-i) for i, document in enumerate(documents)}
    assert {name: value for name, value in _values(qrels, run, PERFECT).items() if value != 1.0} == {}


@pytest.mark.slow
@quick
@given(tables=tables(), steps=st.lists(st.floats(0.001, 1e6), min_size=60, max_size=60), shift=st.floats(-1e6, 1e6))
def test_only_the_order_of_scores_counts(tables: tuple[Table, Table], steps: list[float], shift: float) -> None:
    """Scores that are transformed so that order and ties stay give the same bits for every measure."""
    qrels, run = tables
    distinct = sorted({score for scored in run.values() for score in scored.values()})
    levels = np.cumsum([shift, *steps[: len(distinct)]]).tolist()
    moved = dict(zip(distinct, levels, strict=False))
    assert len(set(moved.values())) == len(distinct)
    other = {query: {document: moved[score] for document, score in scored.items()} for query, scored in run.items()}
    same_bits(karat.score(qrels, run, ALL), karat.score(qrels, other, ALL))


@pytest.mark.slow
@quick
@given(tables=tables(), seed=seeds)
def test_the_order_of_the_input_does_not_count(tables: tuple[Table, Table], seed: int) -> None:
    """Queries and documents may come in any order, in dicts and in frames, for the same bits of every measure."""
    qrels, run = tables
    scores = karat.score(qrels, run, ALL)
    same_bits(scores, karat.score(_shuffled(qrels, seed), _shuffled(run, seed + 1), ALL))
    same_bits(scores, karat.score(frame(qrels, "relevance", seed=seed), frame(run, "score", seed=seed), ALL))


@pytest.mark.slow
@quick
@given(tables=tables())
def test_a_query_is_scored_on_its_own(tables: tuple[Table, Table]) -> None:
    """The bits of a query's values do not depend on which other queries there are."""
    qrels, run = tables
    together = karat.score(qrels, run, ALL)
    for query in qrels.keys() & run.keys():
        alone = karat.score({query: qrels[query]}, {query: run[query]}, ALL)
        row = together.select([query])
        np.testing.assert_array_equal(alone.values.view(np.uint64), row.values.view(np.uint64))
        assert _reasons(alone) == _reasons(row)


@pytest.mark.slow
@thorough
@given(qrels=judged(), run=ranking())
def test_values_stay_in_the_documented_range(qrels: dict[str, int], run: dict[str, float]) -> None:
    """No value lies outside the range that the measure's documentation gives, not even by a rounding error."""
    scores = karat.score({"q": qrels}, {"q": run}, ALL)
    for measure, (low, high) in RANGES.items():
        value = scores.value("q", measure)
        assert value is None or low <= value <= high, measure


@each("p", [0.0, 0.05, 0.2, 0.36, 0.9, 0.999999])
@each("documents", [1, 20, 50, 1000])
def test_rounding_does_not_push_rbp_over_one(p: float, documents: int) -> None:
    """The chances of stopping at each rank make 1; their rounded sum must not make more, or leave less than nothing."""
    ids = [f"{i:04}" for i in range(documents)]
    values = karat.score({"q": dict.fromkeys(ids, 1)}, {"q": ids}, [f"RBP(p={p})", f"RBPres(p={p})"]).values
    assert values.min() >= 0
    assert values.max() <= 1
    assert values.sum() == pytest.approx(1, rel=1e-12)


@pytest.mark.slow
@quick
@given(tables=tables())
def test_judged_only_is_the_ranking_without_the_unjudged(tables: tuple[Table, Table]) -> None:
    """The parameter gives what scoring a run gives from which the unjudged documents were removed."""
    qrels, run = tables
    kept = {
        query: {d: score for d, score in scored.items() if qrels.get(query, {}).get(d, -1) >= 0}
        for query, scored in run.items()
    }
    for measure in ALL:
        if any(parameter.name == "judged_only" for parameter in measure.definition.parameters):
            only = Measure.of(measure.name, measure.cutoff, {"judged_only": True})
            removed = karat.score(qrels, kept, [measure]).values
            np.testing.assert_array_equal(karat.score(qrels, run, [only]).values, removed, str(only))


@pytest.mark.slow
@quick
@given(tables=tables(), rel=st.integers(2, 4))
def test_a_threshold_is_a_binary_grade(tables: tuple[Table, Table], rel: int) -> None:
    """Relevance from grade ``rel`` up gives what grades do that are 1 from there up and 0 below."""
    qrels, run = tables
    binary = {q: {d: min(g, int(g >= rel)) for d, g in grades.items()} for q, grades in qrels.items()}
    for measure in ALL:
        if any(parameter.name == "rel" and parameter.default == 1 for parameter in measure.definition.parameters):
            at_level = Measure.of(measure.name, measure.cutoff, {"rel": rel})
            expected = karat.score(binary, run, [measure]).values
            np.testing.assert_array_equal(karat.score(qrels, run, [at_level]).values, expected, str(at_level))


@pytest.mark.slow
@quick
@given(qrels=judged(), run=untied_rankings(), k=st.integers(1, 12))
def test_a_cut_off_is_a_shorter_list(qrels: dict[str, int], run: dict[str, float], k: int) -> None:
    """What stands below rank k makes no difference; a cut-off beyond the end is none."""
    top = dict(sorted(run.items(), key=lambda item: -item[1])[:k])
    names = ["P", "R", "R_cap", "F1", "AP", "GMAP", "RR", "Success", "Hits", "DCG", "nDCG", "ERR", "RBP", "RBPres"]
    names += ["INSQ", "InvRate", "Judged", "Unjudged", "Hole", "SetP", "SpanR", "SpanP", "SpanIoU", "DupRate"]
    names += ["FalseHits"]
    # Without tiers, chains, sessions and stages these have no value, whatever the list.
    names += ["Chain", "ChannelOnly", "ChannelShare", "ColdRR", "ColdStart", "ConflictFree", "Diversity"]
    names += ["ExpansionShare", "ImportanceR", "MustShow", "MustShowAll", "NewFound", "PipelineHealth", "Redundancy"]
    names += [
        "AnchorHit",
        "Confusion",
        "DeltaS",
        "ReorderRate",
        "SectionTokens",
        "StaleFree",
        "TierGap",
        "TierP",
        "WarmRR",
        "nDCG_intent",
    ]
    assert set(names) == {measure.name for measure in ALL if measure.definition.cutoff in ("optional", "required")}
    measures = [f"{name}@{k}" for name in names]
    same_bits(karat.score({"q": qrels}, {"q": run}, measures), karat.score({"q": qrels}, {"q": top}, measures))
    optional = [measure for measure in ALL if measure.definition.cutoff == "optional" and measure.cutoff is None]
    beyond = karat.score({"q": qrels}, {"q": run}, [f"{measure}@1000" for measure in optional])
    np.testing.assert_array_equal(karat.score({"q": qrels}, {"q": run}, optional).values, beyond.values)


@pytest.mark.slow
@quick
@given(tables=tables(), conventions=st.sampled_from(["karat", "trec", "beluga", "agent"]))
def test_dicts_are_not_changed(tables: tuple[Table, Table], conventions: str) -> None:
    """Scoring leaves judgments, run, classes and the list of measures as they were, order included."""
    qrels, run = tables
    measures, classes = list(ALL), {"d1": "d", "d2": "d", "D": "other"}
    before = copy.deepcopy((qrels, run, measures, classes))
    karat.score(qrels, run, measures, conventions=conventions)
    karat.score(qrels, run, measures, conventions=conventions, classes=classes)
    assert (qrels, run, measures, classes) == before
    assert _order(qrels) == _order(before[0])
    assert _order(run) == _order(before[1])


@pytest.mark.parametrize("kind", ["polars", "pandas", "arrow"])
def test_frames_are_not_changed(kind: str) -> None:
    """Scoring leaves frames of every kind as they were, rows in the same order."""
    qrels, run = (
        frame({"q": {"a": 1, "b": 0}}, "relevance"),
        frame({"q": {"b": 1.0, "a": 1.0, "x": 2.0}}, "score", seed=1),
    )
    convert: dict[str, Any] = {
        "polars": pl.DataFrame.clone,
        "pandas": pl.DataFrame.to_pandas,
        "arrow": pl.DataFrame.to_arrow,
    }
    inputs, before = [[convert[kind](table) for table in (qrels, run)] for _ in range(2)]
    assert karat.score(*inputs, ["RR"]).mean() == {"RR": 1 / 3}
    for table, other in zip(inputs, before, strict=True):
        if isinstance(table, pd.DataFrame):
            pd.testing.assert_frame_equal(table, other)
        else:
            assert table.equals(other)


def test_judgments_read_once_can_be_used_again() -> None:
    """Scoring several runs against the same Judgments leaves them as they were."""
    judgments = karat.read_judgments({"q": {"a": 1, "b": 2}})
    arrays = judgments.grades.copy(), judgments.starts.copy(), list(judgments.documents)
    first = karat.score(judgments, {"q": ["a", "b"]}, ALL)
    karat.score(judgments, {"q": ["b"]}, ALL, classes={"a": "b"}, conventions="agent")
    np.testing.assert_array_equal(judgments.grades, arrays[0])
    np.testing.assert_array_equal(judgments.starts, arrays[1])
    assert list(judgments.documents) == arrays[2]
    same_bits(first, karat.score(judgments, {"q": ["a", "b"]}, ALL))


@quick
@given(
    values=st.lists(st.floats(-1e15, 1e15), min_size=1, max_size=30),
    aggregate=st.sampled_from(["mean", "geometric"]),
    seed=seeds,
)
def test_the_mean_does_not_depend_on_the_order_of_the_queries(values: list[float], aggregate: str, seed: int) -> None:
    """Means and sums are rounded once, so that shuffled queries give the same bits, whatever their magnitudes."""
    shuffled = list(values)
    random.Random(seed).shuffle(shuffled)
    first, other = _column(values, aggregate), _column(shuffled, aggregate)
    assert first.mean() == other.mean()
    assert first.sum("M") == other.sum("M")


def _values(qrels: dict[str, int], run: dict[str, float], measures: list[str]) -> dict[str, float]:
    """Return the values of one query, 0 where there is none."""
    scores = karat.score({"q": qrels}, {"q": run}, measures, undefined="zero")
    return dict(zip(scores.measures, scores.values[0].tolist(), strict=True))


def _shuffled(table: Table, seed: int) -> Table:
    draw = random.Random(seed)
    queries = draw.sample(sorted(table), len(table))
    return {
        query: {d: table[query][d] for d in draw.sample(sorted(table[query]), len(table[query]))} for query in queries
    }


def _order(table: Table) -> list[tuple[str, list[str]]]:
    return [(query, list(inner)) for query, inner in table.items()]


def _reasons(scores: Scores) -> list[str | None]:
    return [scores.reason(query, measure) for query in scores.queries for measure in scores.measures]


def _column(values: list[float], aggregate: str) -> Scores:
    shape = (len(values), 1)
    return Scores(
        name="run",
        queries=tuple(map(str, range(len(values)))),
        measures=("M",),
        values=np.array(values).reshape(shape),
        codes=np.zeros(shape, np.uint8),
        aggregates={"M": aggregate},
    )
