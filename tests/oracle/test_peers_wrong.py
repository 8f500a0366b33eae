"""Where a peer or a source document is wrong: what it says, and the right number by hand."""

from __future__ import annotations

import math
from math import log2
from typing import Any

import ir_measures
import pytest
import pytrec_eval
from pytrec_eval_ext import RelevanceEvaluator

import karat
from each import each
from karat import InputError
from karat.measures import pass_at_k

# --- pytrec_eval ------------------------------------------------------------------------------------------------------


def test_single_precision_confuses_neighbouring_scores() -> None:
    """16777217 and 16777216 are one number to pytrec_eval, which then ranks by id; in trec_eval 9.0.8 they are two."""
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 16777217.0, "b": 16777216.0}}
    assert _pytrec(qrels, run, "recip_rank") == 1 / 2
    assert _karat(qrels, run, "RR") == 1 / 1


def test_interpolated_precision_is_rounded_to_too_few_documents() -> None:
    """Recall 0.03 of 35 relevant documents takes 2 of them (1/35 < 0.03 < 2/35); trec_eval 9 is content with 1."""
    qrels = {"q": {f"r{i:02}": 1 for i in range(35)}}
    run = {"q": {"r00": 3.0, "x": 2.0, "r01": 1.0}}
    assert math.floor(0.03 * 35 + 0.9) == 1
    assert _pytrec(qrels, run, "iprec_at_recall_0.03") == 1 / 1
    assert _karat(qrels, run, "IPrec(rounding='trec')@0.03") == 1 / 1
    assert _karat(qrels, run, "IPrec@0.03") == 2 / 3


def test_a_multiple_of_r_is_rounded_to_too_few_ranks() -> None:
    """0.03 times 35 relevant documents reaches into rank 2; trec_eval 9 stops at rank 1."""
    qrels = {"q": {f"r{i:02}": 1 for i in range(35)}}
    run = {"q": {"r00": 3.0, "x": 2.0, "r01": 1.0}}
    assert _pytrec(qrels, run, "Rprec_mult_0.03") == 1 / 1
    assert _karat(qrels, run, "Rprec(mult=0.03,rounding='trec')") == 1 / 1
    assert _karat(qrels, run, "Rprec(mult=0.03)") == 1 / 2


def test_a_small_multiple_of_r_is_rounded_to_no_rank_at_all() -> None:
    """0.02 times 4 is cut to rank 0 by trec_eval 9 (0.98 rounded down), where nothing can be found."""
    qrels, run = {"q": dict.fromkeys("abcd", 1)}, {"q": {"a": 1.0}}
    assert math.floor(0.02 * 4 + 0.9) == 0
    assert _pytrec(qrels, run, "Rprec_mult_0.02") == 0.0
    assert _karat(qrels, run, "Rprec(mult=0.02,rounding='trec')") == 0.0
    assert _karat(qrels, run, "Rprec(mult=0.02)") == 1 / 1


def test_a_share_means_the_decimal_number_that_was_written() -> None:
    """0.28 of 25 is 7, although 0.28 * 25 is 7.000000000000001 in binary, which would be rounded up to 8."""
    assert 0.28 * 25 > 7
    qrels = {"q": {f"r{i:02}": 1 for i in range(25)}}
    run = {"q": {f"r{i:02}": 100.0 - i for i in range(7)} | {"x": 1.0}}
    assert _karat(qrels, run, "IPrec@0.28") == 7 / 7
    assert _karat(qrels, run, "Rprec(mult=0.28)") == 7 / 7


def test_interpolated_precision_of_nothing_is_not_a_number() -> None:
    """When no judged document was returned, pytrec_eval divides 0 by 0; nothing found is worth nothing."""
    qrels, run = {"q": {"a": 1}}, {"q": {"x": 1.0}}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"iprec_at_recall_0.00"}, judged_docs_only_flag=True)
    assert math.isnan(evaluator.evaluate(run)["q"]["iprec_at_recall_0.00"])
    assert _karat(qrels, run, "IPrec(judged_only=True)@0") == 0.0


def test_fractional_gains_lose_documents_from_the_ideal_list() -> None:
    """trec_eval sorts gains by their difference cut to a whole number, so that a perfect ranking can exceed 1."""
    qrels, run = {"q": {"a": 2, "b": 1, "c": 0}}, {"q": {"a": 2.0, "b": 1.0}}
    evaluator = RelevanceEvaluator(
        query_relevance=qrels, measures={"ndcg.1=0.5"}, relevance_level=1, judged_docs_only_flag=False
    )
    ideal_without_b = 2 / log2(2)
    assert evaluator.evaluate(run)["q"]["ndcg"] == (2 / log2(2) + 0.5 / log2(3)) / ideal_without_b > 1.15
    assert _karat(qrels, run, "nDCG(gains={1: 0.5})") == 1.0


def test_a_query_that_failed_vanishes_from_the_mean() -> None:
    """pytrec_eval returns no value for a judged query that is not in the run, so that failing improves the mean."""
    qrels, run = {"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": {"a": 1.0}}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"})
    assert evaluator.evaluate(run) == {"q1": {"recip_rank": 1.0}}
    scores = karat.score(qrels, run, ["RR"])
    assert scores.mean() == {"RR": (1 + 0) / 2}
    assert scores.not_in_run == ("q2",)


# --- ir-measures ------------------------------------------------------------------------------------------------------


def test_one_call_ranks_ties_in_two_ways() -> None:
    """Of two tied documents ir-measures puts b first for precision and a first for Judged; here b is first for both."""
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    precision, judged = ir_measures.P @ 1, ir_measures.Judged @ 1
    assert ir_measures.calc_aggregate([precision, judged], qrels, run) == {precision: 0.0, judged: 1.0}
    assert karat.score(qrels, run, ["P@1", "Judged@1"]).mean() == {"P@1": 0.0, "Judged@1": 0.0}


def test_compatibility_ranks_ties_by_ascending_id() -> None:
    """ir-measures finds a tied relevant document on top that trec_eval's order puts second."""
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    assert _ir_measures(qrels, run, "Compat") == 1.0
    overlap = 1 * 0 / 1 + 0.95 * 1 / 2
    ideal = 1 * 1 / 1 + 0.95 * 1 / 2
    assert _karat(qrels, run, "Compat") == pytest.approx(overlap / ideal, rel=1e-15)


def test_compatibility_takes_a_missing_document_for_one_with_score_zero() -> None:
    """With negative scores ir-measures puts the missing b before the retrieved a; adding 2 changes its value."""
    qrels = {"q": {"a": 1, "b": 1}}
    below, above = {"q": {"a": -1.0}}, {"q": {"a": 1.0}}
    ideal = 1 * 1 / 1 + 0.95 * 2 / 2
    missing_first, found_first = (0 + 0.95 * 1 / 2) / ideal, (1 + 0.95 * 1 / 2) / ideal
    assert _ir_measures(qrels, below, "Compat") == pytest.approx(missing_first, rel=1e-15)
    assert _ir_measures(qrels, above, "Compat") == pytest.approx(found_first, rel=1e-15)
    assert _karat(qrels, below, "Compat") == _karat(qrels, above, "Compat") == pytest.approx(found_first, rel=1e-15)


def test_a_pooled_document_counts_as_judged() -> None:
    """Grade -1 says that nobody judged the document; ir-measures counts it as judged all the same."""
    qrels, run = {"q": {"a": -1, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}}
    assert _ir_measures(qrels, run, "Judged@1") == 1.0
    assert _karat(qrels, run, "Judged@1") == 0.0


# --- The source documents ---------------------------------------------------------------------------------------------


def test_err_01_precision_of_the_example_is_three_fifths() -> None:
    """fit expects P@5 = 0.4 and R@5 = 0.6 of three relevant documents in five; both are 3/5."""
    qrels = {"q": dict.fromkeys(("r1", "r2", "r3", "r4", "r5"), 1)}
    run = {"q": ["r1", "x", "r2", "y", "r3"]}
    assert _karat(qrels, run, "P@5") == 3 / 5
    assert _karat(qrels, run, "R@5") == 3 / 5


def test_err_02_chunks_of_one_entity_do_not_exceed_one() -> None:
    """fit counts two chunks of a grade-3 entity twice, which makes 1.63; as one unit they make 1."""
    assert (3 / log2(2) + 3 / log2(3)) / (3 / log2(2)) == pytest.approx(1.63, abs=0.005)
    classes = {"e:chunk:0": "e", "e:chunk:1": "e"}
    run = {"q": {"e:chunk:0": 2.0, "e:chunk:1": 1.0}}
    assert karat.score({"q": {"e": 3}}, run, ["nDCG@5"], classes=classes).mean() == {"nDCG@5": 1.0}


def test_err_03_recall_of_nothing_is_missing_and_says_why() -> None:
    """fit divides 0 by 0 for a query without relevant entities; here it has no value and a reason."""
    scores = karat.score({"q": {"a": 0}, "r": {"a": 1}}, {"q": {"a": 1.0}, "r": {"a": 1.0}}, ["R@5"])
    assert scores.value("q", "R@5") is None
    assert scores.reason("q", "R@5") == "no relevant documents"
    assert scores.mean() == {"R@5": 1.0}


def test_err_05_precision_with_one_relevant_entity_is_at_most_a_fifth() -> None:
    """fit asks for P@5 >= 0.60 of queries with one relevant entity, for which the best ranking has 0.2."""
    assert _karat({"q": {"a": 3}}, {"q": ["a", "b", "c", "d", "e"]}, "P@5") == 1 / 5


def test_err_06_a_single_label_has_five_possible_values() -> None:
    """fit reports nDCG 0.88 for a query with one label; only 1, .631, .5, .431 and .387 can occur."""
    values = []
    for place in range(5):
        ranked = ["v", "w", "x", "y"]
        ranked.insert(place, "a")
        values.append(_karat({"q": {"a": 3}}, {"q": ranked}, "nDCG@5"))
    assert values == pytest.approx([1, 0.631, 0.5, 0.431, 0.387], abs=0.0005)


def test_err_18_the_ndcg_example_is_097() -> None:
    """beluga computes 5.04 / 6.15 = 0.82 for the grades 3, 2, 1, 0, 2; it is 5.54 / 5.69 = 0.97, exponential 0.975."""
    qrels = {"q": {"a": 3, "b": 2, "c": 1, "d": 0, "e": 2}}
    run = {"q": ["a", "b", "c", "d", "e"]}
    dcg = 3 / log2(2) + 2 / log2(3) + 1 / log2(4) + 0 / log2(5) + 2 / log2(6)
    ideal = 3 / log2(2) + 2 / log2(3) + 2 / log2(4) + 1 / log2(5) + 0 / log2(6)
    assert (dcg, ideal) == pytest.approx((5.54, 5.69), abs=0.005)
    assert _karat(qrels, run, "DCG@5") == pytest.approx(dcg, rel=1e-15)
    assert _karat(qrels, run, "nDCG@5") == pytest.approx(dcg / ideal, rel=1e-15)
    assert dcg / ideal == pytest.approx(0.97, abs=0.005)
    exponential = (7 / log2(2) + 3 / log2(3) + 1 / log2(4) + 3 / log2(6)) / (
        7 / log2(2) + 3 / log2(3) + 3 / log2(4) + 1 / log2(5)
    )
    assert _karat(qrels, run, "nDCG(gain='exp')@5") == pytest.approx(exponential, rel=1e-15)
    assert exponential == pytest.approx(0.975, abs=0.0005)


def test_err_21_one_hit_of_five_is_not_perfect() -> None:
    """beluga cuts the ideal list at the one document returned and finds 1.0; against all five relevant it is 0.339."""
    qrels = {"q": dict.fromkeys("abcde", 1)}
    right = 1 / (1 / log2(2) + 1 / log2(3) + 1 / log2(4) + 1 / log2(5) + 1 / log2(6))
    assert right == pytest.approx(0.339, abs=0.0005)
    assert _karat(qrels, {"q": ["a"]}, "nDCG@10") == pytest.approx(right, rel=1e-15)
    assert _karat(qrels, {"q": ["a"]}, "nDCG(ideal='returned')@10") == 1.0


def test_err_22_a_document_returned_twice_is_refused() -> None:
    """beluga counts [a, a] as recall 2.0 of one relevant document; here it is a mistake in the run."""
    with pytest.raises(InputError, match="document 'a' appears twice for query 'q'"):
        karat.score({"q": {"a": 1}}, {"q": ["a", "a"]}, ["R@5"])


def test_err_25_unjudged_documents_gain_nothing() -> None:
    """agent gives unjudged documents grade 1, which makes (7 + .63 + .5) / 7 = 1.16; without a gain it is 1."""
    assert (7 / log2(2) + 1 / log2(3) + 1 / log2(4)) / (7 / log2(2)) == pytest.approx(1.16, abs=0.005)
    assert _karat({"q": {"a": 3}}, {"q": ["a", "x", "y"]}, "nDCG(gain='exp')@5") == 1.0


def test_err_34_trec_evals_gain_is_linear() -> None:
    """rig calls the exponential gain TREC's standard; trec_eval's ndcg_cut takes the grade itself."""
    qrels, run = {"q": {"a": 1, "b": 3}}, {"q": {"a": 2.0, "b": 1.0}}
    linear = (1 / log2(2) + 3 / log2(3)) / (3 / log2(2) + 1 / log2(3))
    exponential = (1 / log2(2) + 7 / log2(3)) / (7 / log2(2) + 1 / log2(3))
    assert _pytrec(qrels, run, "ndcg_cut_5") == pytest.approx(linear, rel=1e-15)
    assert _karat(qrels, run, "nDCG@5") == pytest.approx(linear, rel=1e-15)
    assert _karat(qrels, run, "nDCG(gain='exp')@5") == pytest.approx(exponential, rel=1e-15)


def test_err_35_trec_evals_recall_of_nothing_is_zero() -> None:
    """rig says that it follows trec_eval and gives 1.0 when there is nothing to find; trec_eval gives 0."""
    qrels, run = {"q": {"a": 0}}, {"q": {"a": 1.0}}
    assert _pytrec(qrels, run, "recall_5") == 0.0
    assert karat.score(qrels, run, ["R@5"], conventions="trec").mean() == {"R@5": 0.0}
    assert karat.score(qrels, run, ["R@5"], conventions="rig").mean() == {"R@5": 1.0}


def test_reciprocal_rank_looks_at_the_first_hit_only() -> None:
    """agent's review averages the hits at ranks 1, 3 and 5 to 0.467 and calls it MRR; the reciprocal rank is 1."""
    assert _karat({"q": {"a": 1, "b": 1, "c": 1}}, {"q": ["a", "x", "b", "y", "c"]}, "RR@10") == 1.0


# --- The examples of the source documents that are right --------------------------------------------------------------


def test_beluga_examples_of_precision_recall_and_mrr() -> None:
    """P@3 = 2/3 and R@3 = 2/5 of five relevant documents; first hits at 1, 3 and 2 make MRR 0.61."""
    qrels = {"q": dict.fromkeys("abcde", 1)}
    assert _karat(qrels, {"q": ["a", "x", "b"]}, "P@3") == 2 / 3
    assert _karat(qrels, {"q": ["a", "x", "b"]}, "R@3") == 2 / 5
    queries = {"1": {"a": 1}, "2": {"a": 1}, "3": {"a": 1}}
    mean = karat.score(queries, {"1": ["a"], "2": ["x", "y", "a"], "3": ["x", "a"]}, ["MRR"]).mean()["RR"]
    assert mean == pytest.approx((1 + 1 / 3 + 1 / 2) / 3, rel=1e-15)
    assert mean == pytest.approx(0.61, abs=0.005)


@each(
    ("ranked", "k", "expected"),
    [("abc", 3, 3 / 3), ("xyz", 3, 0 / 3), ("axb", 3, 2 / 3), ("ab", 5, 2 / 2)],
    ids=["all relevant", "none relevant", "mixed", "k larger than results"],
)
def test_n05_precision_table(ranked: str, k: int, expected: float) -> None:
    """beluga's table of precision, which divides by what was returned: karat's SetP, and P under its conventions."""
    qrels, run = {"q": dict.fromkeys("abc", 1)}, {"q": list(ranked)}
    assert _karat(qrels, run, f"SetP@{k}") == expected
    assert karat.score(qrels, run, [f"P@{k}"], conventions="beluga").mean() == {f"P@{k}": expected}


@each(
    ("relevant", "expected"),
    [("ab", 2 / 2), ("ay", 1 / 2), ("yz", 0 / 2), ("", 0.0)],
    ids=["all", "half", "none", "no"],
)
def test_n06_recall_table(relevant: str, expected: float) -> None:
    """beluga's table of recall, in which a query without relevant documents has 0."""
    qrels = {"q": {"unrelated": 0} | dict.fromkeys(relevant, 1)}
    assert karat.score(qrels, {"q": ["a", "b"]}, ["R@5"], conventions="beluga").mean() == {"R@5": expected}


@each(
    ("ranked", "expected"),
    [("abc", 1.0), ("cba", 0.790), ("xyz", 0.0), ("", 0.0)],
    ids=["best", "worst", "other", "no"],
)
def test_n07_ndcg_table(ranked: str, expected: float) -> None:
    """beluga's table of nDCG: the grades 3, 2, 1 in order, reversed (0.790), unjudged only, and nothing at all."""
    qrels = {"q": {"a": 3, "b": 2, "c": 1}}
    reverse = (1 / log2(2) + 2 / log2(3) + 3 / log2(4)) / (3 / log2(2) + 2 / log2(3) + 1 / log2(4))
    assert reverse == pytest.approx(0.790, abs=0.0005)
    value = karat.score(qrels, {"q": list(ranked)}, ["nDCG@3"], conventions="beluga").mean()["nDCG@3"]
    assert value == pytest.approx(expected, abs=0.0005)


def test_n09_average_precision_by_hand() -> None:
    """rig's example: both relevant documents, at ranks 1 and 3, make (1/1 + 2/3) / 2 = 0.8333."""
    value = _karat({"q": {"d1": 1, "d2": 1}}, {"q": ["d1", "x", "d2", "y"]}, "AP@10")
    assert value == pytest.approx((1 / 1 + 2 / 3) / 2, rel=1e-15)
    assert value == pytest.approx(0.8333, abs=0.00005)


def test_n12_pass_at_k_example() -> None:
    """rig's example: trials (1, 0, 1) and (0, 1, 0) of two queries make pass@2 = 5/6 and pass^2 = 1/6."""
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    outcomes = [("a", "x"), ("x", "a"), ("a", "x")]
    trials = [karat.score(qrels, {"q1": [first], "q2": [two]}, ["Success@1"]) for first, two in outcomes]
    passed = pass_at_k(trials, 2).mean()
    assert passed["pass@2(Success@1>=1)"] == pytest.approx(5 / 6, rel=1e-15)
    assert passed["pass^2(Success@1>=1)"] == pytest.approx(1 / 6, rel=1e-15)


def _karat(qrels: dict[str, dict[str, int]], run: dict[str, Any], measure: str) -> float:
    (value,) = karat.score(qrels, run, [measure]).mean().values()
    return value


def _pytrec(qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]], measure: str) -> float:
    (values,) = pytrec_eval.RelevanceEvaluator(qrels, {measure}).evaluate(run).values()
    return float(values[measure])


def _ir_measures(qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]], measure: str) -> float:
    (metric,) = ir_measures.iter_calc([ir_measures.parse_measure(measure)], qrels, run)
    return float(metric.value)
