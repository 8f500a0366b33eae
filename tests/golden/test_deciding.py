"""What to judge next to know which of two runs is better."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from each import each
from karat import golden
from karat.core import Document, GoldenSet, Judgment, Query, Target, UsageError
from karat.golden import PoolDecision, decide_pool
from karat.stats import estimate_difference
from karat.systems.index import Lexical
from public_data import find_collection

QUERIES = (Query(id="q1", text="first?"), Query(id="q2", text="second?"))
SET = GoldenSet(queries=QUERIES, grades=("no", "yes"), relevant=1)
A = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"d": 2.0, "e": 1.0}}
B = {"q1": {"a": 3.0, "c": 2.0, "b": 1.0}, "q2": {"f": 2.0, "e": 1.0}}


def judged(set_: GoldenSet, **grades: int) -> GoldenSet:
    """The set with grades of documents, each judged for the query that A and B return it for."""
    query = dict.fromkeys("abc", "q1") | dict.fromkeys("def", "q2")
    more = [Judgment(query=query[d], target=Target(document=d), grade=grade) for d, grade in grades.items()]
    return replace(set_, judgments=(*set_.judgments, *more))


def listed(decision: PoolDecision) -> list[str]:
    return [pair.document for pair in decision.pairs]


def test_the_greatest_weight_comes_first_and_what_both_rank_alike_not_at_all() -> None:
    """DCG: d and f weigh 1, b and c the difference between ranks 2 and 3; a and e have the same rank in both."""
    assert listed(decide_pool(SET, (A, B), "DCG@10")) == ["d", "f", "b", "c"]


def test_by_hand_before_and_after_judgments() -> None:
    """Two queries halve the weights; nothing is known at first, then f is worth more than d."""
    first = decide_pool(SET, (A, B), "DCG@10")
    assert (first.better, first.judged, first.estimate.confidence) == (None, 0, 0.5)
    decision = decide_pool(judged(SET, d=0, f=1), (A, B), "DCG@10")
    step = (1 / math.log2(3) - 1 / math.log2(4)) / 2
    sd = math.sqrt(0.25 * 2 * step**2)
    assert decision.estimate.mean == pytest.approx(0.5)
    assert decision.estimate.sd == pytest.approx(sd)
    assert (decision.better, decision.judged, decision.relevant, listed(decision)) == (1, 2, 1, ["b", "c"])


def test_a_list_of_relevant_documents_gives_no_confidence() -> None:
    """If only f, which B has first, was judged, and is relevant, the rest would be expected to be relevant, too."""
    decision = decide_pool(judged(SET, f=1), (A, B), "DCG@10")
    assert (decision.judged, decision.relevant, decision.lacking, len(decision.pairs)) == (1, 1, 0, 3)
    assert (decision.better, decision.estimate.judged, decision.estimate.confidence) == (None, 0.5, 0.5)


def test_everything_judged_is_certain() -> None:
    decision = decide_pool(judged(SET, b=1, c=0, d=1, f=1), (A, B), "DCG@10")
    assert (decision.better, decision.estimate.confidence, decision.pairs) == (0, 1.0, ())


def test_below_the_cutoff_nothing_counts() -> None:
    """P@1 looks at the first document of each; a is the first of q1 in both."""
    assert listed(decide_pool(SET, (A, B), "P@1")) == ["d", "f"]


@pytest.mark.slow
@given(
    st.lists(st.permutations("abcdef"), min_size=2, max_size=2),
    st.lists(st.integers(0, 2), min_size=6, max_size=6),
    st.sampled_from(["DCG@3", "DCG(gain='exp')", "nDCG@3", "P@2", "P(rel=2)@3", "R@3", "RBP(p=0.5)@4", "RBP"]),
)
def test_judged_completely_it_is_the_difference_of_the_scores(
    orders: list[list[str]], grades: list[int], measure: str
) -> None:
    """The scorer of karat is the oracle, where the measure is defined for the query."""
    target = [Judgment(query="q1", target=Target(document=d), grade=g) for d, g in zip("abcdef", grades, strict=True)]
    set_ = GoldenSet(queries=QUERIES[:1], grades=("no", "partly", "yes"), relevant=1, judgments=tuple(target))
    first, second = ({"q1": {d: float(-rank) for rank, d in enumerate(order)}} for order in orders)
    values = [karat.score(set_.qrels(), run, [measure]).mean()[measure] for run in (first, second)]
    decision = decide_pool(set_, (first, second), measure)
    if not math.isnan(values[0]):
        assert decision.estimate.mean == pytest.approx(values[1] - values[0], abs=1e-12)
    assert not decision.pairs


def test_recall_and_ndcg_divide_by_what_is_judged_so_far() -> None:
    """In q1 two documents are relevant, so that each weighs half as much; the ideal DCG is that of two."""
    set_ = judged(SET, a=1, b=1)
    ideal = 1 + 1 / math.log2(3)
    move = 1 / math.log2(3) - 0.5
    recall, ndcg = (decide_pool(set_, (A, B), measure).estimate.mean for measure in ("R@2", "nDCG@10"))
    # Of those that tell the runs apart only b is judged, so that c is relevant with 2/3; d and f cancel.
    assert recall == pytest.approx((-1 / 2 + 2 / 3 / 2) / 2)
    assert ndcg == pytest.approx((-move + 2 / 3 * move) / ideal / 2)


def test_chunks_and_classes_count_once() -> None:
    """Two members of one class at the same rank are the same thing, and so are two chunks of a document."""
    set_ = replace(SET, classes={"both": ("d", "f")})
    assert listed(decide_pool(set_, (A, B), "P@1")) == []
    chunked = {"q2": {"d:chunk:0": 3.0, "d:chunk:4": 2.0, "e": 1.0}}
    pairs = decide_pool(SET, ({"q2": B["q2"]}, chunked), "DCG@10").pairs
    assert {pair.document: pair.hits for pair in pairs}["d"] == ("d:chunk:0", "d:chunk:4")


def test_what_nobody_can_judge_stays_unknown_and_is_not_listed() -> None:
    """The set lacks document f: it may be relevant, and nobody can read it."""
    set_ = judged(replace(SET, documents=tuple(Document(id=d, text=d) for d in "abcde")), b=0, c=0, d=0)
    decision = decide_pool(set_, (A, B), "DCG@10")
    assert (decision.pairs, decision.lacking) == ((), 1)
    assert (decision.better, decision.estimate.judged, decision.estimate.confidence) == (None, 0, 0.5)
    assert decision.estimate.sd > 0


def test_unanswerable_and_unknown_queries_do_not_count() -> None:
    set_ = replace(SET, queries=(QUERIES[0], replace(QUERIES[1], answerable=False)))
    assert listed(decide_pool(set_, (A | {"q9": {"x": 1.0}}, B), "DCG@10")) == ["b", "c"]


@each("measure", ["AP", "RR@10", "ERR@10", "F1@5", "Success@5"])
def test_a_measure_that_is_no_sum_is_refused(measure: str) -> None:
    with pytest.raises(UsageError, match=r"is not a sum over documents; choose DCG@k, nDCG@k, P@k, R@k or RBP@k"):
        decide_pool(SET, (A, B), measure)


def test_a_parameter_that_makes_it_no_sum_is_refused() -> None:
    with pytest.raises(UsageError, match="leave out judged_only"):
        decide_pool(SET, (A, B), "P(judged_only=True)@5")


SETTINGS = ({}, {"stemmer": "none"}, {"b": 0.0}, {"k1": 0.4}, {"k1": 3.0, "b": 1.0})
BATCH = 20


@pytest.mark.slow
@pytest.mark.public_data
def test_a_seventh_of_the_pool_tells_which_run_is_better() -> None:
    """Cranfield's judgments are hidden, and revealed in this order until the confidence is 95 %, for ten pairs."""
    set_ = golden.read(find_collection("cranfield"))
    runs = [_search(set_, options) for options in SETTINGS]
    shares, right = [], []
    for one, other in combinations(runs, 2):
        weights, gains, pool = _weigh(set_, one, other)
        estimate, needed = _reveal(weights, gains)
        shares.append(needed / pool)
        right.append(estimate * (weights * gains).sum() > 0)
    assert np.median(shares) < 0.2
    assert sum(right) >= 9


@pytest.mark.slow
@pytest.mark.public_data
def test_judgments_of_mostly_relevant_documents_name_no_wrong_run() -> None:
    """Cranfield lists what is relevant, and little else. If the rest were as good, most winners would be wrong."""
    set_ = golden.read(find_collection("cranfield"))
    runs = [_search(set_, options) for options in SETTINGS]
    means = [karat.score(set_.qrels(), run, ["nDCG@10"]).mean()["nDCG@10"] for run in runs]
    turned = 0
    for one, other in combinations(range(len(runs)), 2):
        decision = decide_pool(set_, (runs[one], runs[other]), "nDCG@10")
        difference = means[other] - means[one]
        assert decision.estimate.judged == pytest.approx(difference, abs=1e-12)
        assert decision.better is None or decision.estimate.confidence < 0.9
        assert decision.better in {None, int(difference > 0)}
        turned += decision.estimate.mean * difference < 0
    assert turned >= 5


def _search(set_: GoldenSet, options: dict[str, object]) -> dict[str, dict[str, float]]:
    ids = [document.id for document in set_.documents]
    index = Lexical(**options).build([f"{document.title} {document.text}" for document in set_.documents])  # type: ignore[arg-type]
    return {query.id: {ids[i]: score for i, score in index.search(query.text, 10)} for query in set_.queries}


def _weigh(set_: GoldenSet, one: dict[str, dict[str, float]], other: dict[str, dict[str, float]]):  # type: ignore[no-untyped-def]
    """Return weights by amount and gains of the documents that differ, and the size of the pool; by hand."""
    rows, pool, qrels = [], 0, set_.qrels()
    for query, grades in qrels.items():
        ranked = [sorted(run[query], key=lambda d: (run[query][d], d), reverse=True) for run in (one, other)]
        first, second = ({d: 1 / math.log2(rank + 1) for rank, d in enumerate(own, 1)} for own in ranked)
        pool += len({*first, *second})
        rows += [(second.get(d, 0) - first.get(d, 0), grades.get(d, 0) > 0) for d in dict.fromkeys([*first, *second])]
    weights, gains = np.array([row for row in rows if row[0]], float).T
    order = np.argsort(-np.abs(weights), kind="stable")
    return weights[order], gains[order], pool


def _reveal(weights, gains) -> tuple[float, int]:  # type: ignore[no-untyped-def]
    """Return the estimate and the number of judgments at which the confidence reaches 95 %."""
    for known in range(BATCH, len(weights) + BATCH, BATCH):
        estimate = estimate_difference(weights, np.where(np.arange(len(weights)) < known, gains, np.nan))
        if estimate.confidence >= 0.95:
            break
    return estimate.judged, known
