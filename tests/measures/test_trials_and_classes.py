"""Repeated trials (C24) and equivalence classes (A22), by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from each import each
from karat import Scores, UsageError
from karat.measures import Judgments, pass_at_k
from karat.measures._classes import collapse_judgments
from strategies import Table, frame, quick, same_bits, tables


def trial(outcomes: str, measures: tuple[str, ...] = ("Success@1",)) -> Scores:
    """One trial of as many queries: + where the relevant document is on top, - where it is missing."""
    queries = [f"q{i}" for i in range(len(outcomes))]
    run = {query: ["a" if outcome == "+" else "x"] for query, outcome in zip(queries, outcomes, strict=True)}
    return karat.score({query: {"a": 1} for query in queries}, run, measures)


# --- pass@k and pass^k ------------------------------------------------------------------------------------------------


@each(
    ("outcomes", "k", "ever", "always"),
    [
        # n = 4 trials, c = 2 successes: 6 pairs, of which 1 has no success and 1 has only successes.
        ("++--", 2, 1 - 1 / 6, 1 / 6),
        # 4 triples; none without a success, none with three.
        ("++--", 3, 1.0, 0.0),
        # k = 1 is the share of successes, both ways.
        ("+---", 1, 1 / 4, 1 / 4),
        ("---", 2, 0.0, 0.0),
        ("+++", 3, 1.0, 1.0),
        ("+", 1, 1.0, 1.0),
    ],
)
def test_pass_at_k_by_hand(outcomes: str, k: int, ever: float, always: float) -> None:
    """pass@k is the share of k-subsets that hold a success, pass^k of those that hold nothing else."""
    scores = pass_at_k([trial(outcome) for outcome in outcomes], k)
    assert scores.measures == (f"pass@{k}(Success@1>=1)", f"pass^{k}(Success@1>=1)")
    assert scores.values[0].tolist() == pytest.approx([ever, always], rel=1e-15)


@quick
@given(outcomes=st.text("+-", min_size=1, max_size=8), data=st.data())
def test_pass_at_k_counts_subsets(outcomes: str, data: st.DataObject) -> None:
    """The formula gives what counting all subsets gives."""
    k = data.draw(st.integers(1, len(outcomes)))
    subsets = list(combinations([outcome == "+" for outcome in outcomes], k))
    ever, always = (sum(map(test, subsets)) / len(subsets) for test in (any, all))
    values = pass_at_k([trial(outcome) for outcome in outcomes], k).values[0].tolist()
    assert values == pytest.approx([ever, always], rel=1e-12, abs=1e-15)


def test_a_trial_succeeds_from_the_threshold_up() -> None:
    """The threshold itself is a success, and is part of the name."""
    qrels = {"q": {"a": 1, "b": 1}}
    trials = [karat.score(qrels, {"q": ranked}, ["R@2"]) for ranked in (["a", "b"], ["a", "x"], ["x", "y"])]
    half, whole = pass_at_k(trials, 1, threshold=0.5), pass_at_k(trials, 1)
    assert half.mean() == pytest.approx({"pass@1(R@2>=0.5)": 2 / 3, "pass^1(R@2>=0.5)": 2 / 3})
    assert whole.mean() == pytest.approx({"pass@1(R@2>=1)": 1 / 3, "pass^1(R@2>=1)": 1 / 3})


def test_every_measure_and_query_passes_on_its_own() -> None:
    """Columns come in pairs, measure after measure; rows are the queries."""
    trials = [trial(outcomes, measures=("Success@1", "RR@5")) for outcomes in ("+-", "++")]
    scores = pass_at_k(trials, 2, name="agent")
    names = "pass@2(Success@1>=1)", "pass^2(Success@1>=1)", "pass@2(RR@5>=1)", "pass^2(RR@5>=1)"
    assert scores.measures == names
    assert scores.name == "agent"
    assert scores.to_dicts() == [
        {"query_id": "q0"} | dict(zip(names, (1.0, 1.0, 1.0, 1.0), strict=True)),
        {"query_id": "q1"} | dict(zip(names, (1.0, 0.0, 1.0, 0.0), strict=True)),
    ]


def test_a_query_without_a_score_in_one_trial_is_missing_for_that_reason() -> None:
    """A missing score is no failure: the query is left out, and says why."""
    qrels = {"q": {"a": 1}, "r": {"a": 1}, "s": {"a": 0}}
    full = {"q": ["a"], "r": ["a"], "s": ["a"]}
    trials = [
        karat.score(qrels, full, ["R@1"], missing="exclude"),
        karat.score(qrels, {"q": ["a"], "s": ["a"]}, ["R@1"], missing="exclude"),
    ]
    scores = pass_at_k(trials, 1)
    assert scores.mean() == {"pass@1(R@1>=1)": 1.0, "pass^1(R@1>=1)": 1.0}
    assert scores.reason("r", "pass@1(R@1>=1)") == "not in the run"
    assert scores.reason("s", "pass^1(R@1>=1)") == "no relevant documents"
    assert scores.missing("pass@1(R@1>=1)") == {"not in the run": 1, "no relevant documents": 1}
    assert scores.not_in_run == ("r",)


@pytest.mark.parametrize(("trials", "k", "needed"), [(0, 1, "1 trial"), (2, 3, "3 trials")])
def test_too_few_trials_are_an_error(trials: int, k: int, needed: str) -> None:
    """k trials cannot be drawn from fewer."""
    with pytest.raises(UsageError, match=f"pass@{k} needs at least {needed}, and there are {trials}"):
        pass_at_k([trial("+")] * trials, k)


@pytest.mark.parametrize("k", [0, -1])
def test_drawing_no_trial_is_an_error(k: int) -> None:
    """One trial is the least that can be drawn."""
    with pytest.raises(UsageError, match=f"pass@{k}: k should be at least 1"):
        pass_at_k([trial("+")], k)


def test_trials_of_different_queries_or_measures_are_refused() -> None:
    """Trials repeat one experiment: the same queries, measures and definitions."""
    qrels, run = {"q0": {"a": 2}}, {"q0": ["a"]}
    other = [trial("++"), trial("+", measures=("RR@1",)), karat.score(qrels, run, ["R@1"], conventions="agent")]
    for scores, first in zip(other, (trial("+"), trial("+"), karat.score(qrels, run, ["R@1"])), strict=True):
        with pytest.raises(UsageError, match="trials must have the same queries and measures"):
            pass_at_k([first, scores], 1)


def test_trials_are_not_changed() -> None:
    """The scores of the trials are read, never written."""
    trials = [trial("+-"), trial("--")]
    before = [trial.values.copy() for trial in trials]
    pass_at_k(trials, 2)
    for scores, values in zip(trials, before, strict=True):
        np.testing.assert_array_equal(scores.values, values)


# --- Equivalence classes ----------------------------------------------------------------------------------------------

# A parent and its two chunks are one class P; the judged s stands alone.
#   run                 x   p2  p1  y   s   p
#   as classes          x   P       y   s        the class stands where p2 stood; p1 and p leave no gap
#   new rank            1   2       3   4
CLASSES = {"p": "P", "p1": "P", "p2": "P"}
QRELS = {"q": {"p": 3, "p1": 1, "s": 1, "missing": 2}}
RUN = {"q": ["x", "p2", "p1", "y", "s", "p"]}


@each(
    ("measure", "expected"),
    [
        ("R@2", 1 / 3),  # P of P, s and missing, although two of its members stand in the top 3
        ("R@4", 2 / 3),
        ("P@4", 2 / 4),
        ("RR", 1 / 2),
        ("AP", (1 / 2 + 2 / 4) / 3),
        ("NumRel", 3),
        ("NumRet", 4),
        ("Hits@10", 2),
        ("R(rel=3)@2", 1 / 1),  # the class has the best grade of its members, also where that one stands last
        ("DCG@2", 3 / np.log2(3)),
        ("Judged@3", 1 / 3),
    ],
)
def test_a_class_counts_once_where_its_best_member_stands(measure: str, expected: float) -> None:
    """A hit by any member is one hit, at the rank of the best; the other members leave no gap."""
    scores = karat.score(QRELS, RUN, [measure], classes=CLASSES)
    assert scores.values[0, 0] == pytest.approx(expected, rel=1e-14)


def test_a_member_that_nobody_judged_hits_for_its_class() -> None:
    """The answer in a chunk counts although only its parent was judged."""
    scores = karat.score({"q": {"p": 1}}, {"q": ["p1"]}, ["R@1", "nDCG@1"], classes=CLASSES)
    assert scores.mean() == {"R@1": 1.0, "nDCG@1": 1.0}
    assert karat.score({"q": {"p": 1}}, {"q": ["p1"]}, ["R@1"]).mean() == {"R@1": 0.0}


def test_chunks_of_one_document_cannot_exceed_one() -> None:
    """Every chunk returned, and still recall and nDCG are 1."""
    scores = karat.score({"q": {"P": 3}}, {"q": ["p2", "p1", "p"]}, ["R@5", "nDCG@5", "AP"], classes=CLASSES)
    assert scores.mean() == {"R@5": 1.0, "nDCG@5": 1.0, "AP": 1.0}


def test_classes_keep_the_order_of_ties() -> None:
    """Members with the same score as others stand by descending id, as documents do."""
    run = {"q": {"p1": 1.0, "z": 1.0, "b": 1.0}}  # z p1 b, so that P stands second
    assert karat.score({"q": {"P": 1}}, run, ["RR"], classes=CLASSES).mean() == {"RR": 1 / 2}
    run = {"q": {"p1": 1.0, "a": 1.0, "b": 1.0}}  # p1 b a: the id of the member counts, not the name of the class
    assert karat.score({"q": {"P": 1}}, run, ["RR"], classes=CLASSES).mean() == {"RR": 1 / 1}


def test_pooled_members_do_not_unjudge_a_class() -> None:
    """A class is judged as soon as one member is, and in the pool only when all its judged members are."""
    judgments = Judgments.from_dicts({"q": {"p1": -1, "p": 0, "s": -1}})
    collapsed = collapse_judgments(judgments, CLASSES)
    assert dict(zip(collapsed.documents, collapsed.grades.tolist(), strict=True)) == {"P": 0, "s": -1}


@pytest.mark.slow
@quick
@given(tables=tables(), seed=st.integers(0, 2**32))
def test_classes_of_one_change_nothing(tables: tuple[Table, Table], seed: int) -> None:
    """Renaming every document to a class of its own gives the same bits, for dicts and for frames."""
    qrels, run = tables
    measures = ["nDCG", "AP", "Compat", "Bpref", "infAP", "InvRate", "Judged@3", "SetP"]
    plain = karat.score(qrels, run, measures)
    documents = {document for table in (qrels, run) for inner in table.values() for document in inner}
    same_bits(plain, karat.score(qrels, run, measures, classes={d: f"class of {d}" for d in documents}))
    same_bits(plain, karat.score(qrels, run, measures, classes={}))
    frames = frame(qrels, "relevance", seed=seed), frame(run, "score", seed=seed)
    same_bits(plain, karat.score(*frames, measures, classes={"nobody": "nothing"}))


@pytest.mark.slow
@quick
@given(
    tables=tables(),
    classes=st.dictionaries(st.sampled_from(["d", "d1", "d10", "d2", "D"]), st.sampled_from(["A", "B"])),
    seed=st.integers(0, 2**32),
)
def test_classes_are_a_ranking_of_units(tables: tuple[Table, Table], classes: dict[str, str], seed: int) -> None:
    """Scoring with classes is scoring the ranking of units, written out by hand, against their best grades."""
    qrels, run = tables
    units: Table = {}
    for query, grades in qrels.items():
        units[query] = {}
        for document, grade in grades.items():
            unit = classes.get(document, document)
            units[query][unit] = max(grade, units[query].get(unit, -1))
    rankings = {}
    for query, scored in run.items():
        ranked = sorted(scored, key=lambda document: (scored[document], document.encode()), reverse=True)
        rankings[query] = list(dict.fromkeys(classes.get(document, document) for document in ranked))
    measures = ["nDCG", "AP", "Compat", "Bpref", "infAP", "InvRate", "Judged@3", "SetP", "NumRet"]
    collapsed = karat.score(qrels, run, measures, classes=classes)
    same_bits(karat.score(units, rankings, measures), collapsed)
    frames = frame(qrels, "relevance", seed=seed), frame(run, "score", seed=seed)
    same_bits(collapsed, karat.score(*frames, measures, classes=classes))


def test_trials_of_a_measure_of_which_less_is_better_are_refused() -> None:
    """A threshold to reach makes no sense for an inversion rate."""
    trials = [karat.score({"q": {"a": 1}}, {"q": ["x", "a"]}, ["InvRate"])]
    with pytest.raises(karat.UsageError, match="lower values of InvRate are better"):
        pass_at_k(trials, 1)
