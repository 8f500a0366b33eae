"""The worst and the best difference of two runs, held against all grades that unjudged documents could have."""

from __future__ import annotations

from itertools import product

import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat.core import Document, GoldenSet, Hit, Judgment, Measure, Provenance, Query, Run, Target, Trace
from karat.evaluation import Evaluation, score_run
from karat.gate._bounds import bound_differences
from karat.schema import DifferenceBounds

EXACT = (
    "P@2", "P@4", "Hits@3", "R@2", "R@3", "R_cap@2", "F1@3", "SetR", "DCG@3", "DCG", "DCG(gain='exp')@2",
    "RBP(p=0.5)@3", "INSQ(max_grade=2)@3", "nDCG@2", "nDCG", "nDCG(gain='exp')@3", "RR@2", "RR", "Success@2",
)  # fmt: skip
OUTER = ("nDCG(ideal='returned')@3", "AP@3", "SetF", "SetP", "ERR@3", "R(judged_only=True)@2")
TREC = {
    "P@2": "P_2",
    "RR": "recip_rank",
    "Success@1": "success_1",
    "R@2": "recall_2",
    "R@3": "recall_3",
    "R_cap@2": "relative_P_2",
    "nDCG@2": "ndcg_cut_2",
}
QUERIES = ("q1", "q2")
Grades = dict[str, int]


def make_set(grades: dict[str, Grades]) -> GoldenSet:
    """Grades from 0 to 2, of which 1 is relevant, with documents a to f, and z, which nobody returns."""
    return GoldenSet(
        documents=tuple(Document(id=d, text=d) for d in "abcdefz"),
        queries=tuple(Query(id=query, text=query) for query in grades),
        judgments=tuple(
            Judgment(query=query, target=Target(document=document), grade=grade)
            for query, judged in grades.items()
            for document, grade in judged.items()
        ),
        grades=("no", "some", "all"),
        relevant=1,
    )


def evaluate(golden: GoldenSet, lists: dict[str, str], *measures: str, failed: str = "") -> Evaluation:
    traces = tuple(
        Trace(query=query, text=query, hits=tuple(Hit(d, float(-rank)) for rank, d in enumerate(documents)))
        if query != failed
        else Trace(query=query, text=query, hits=(), error="timeout")
        for query, documents in lists.items()
    )
    provenance = Provenance(name="run", settings={"k": 10, "unit": "document"})
    return score_run(golden, Run(provenance=provenance, traces=traces), measures)


def list_worlds(grades: Grades, lists: tuple[str, str], measure: str) -> dict[str, Grades]:
    """Return all grades of what nobody judged in the top k of either list."""
    cutoff = Measure.parse(measure).cutoff
    k = cutoff if isinstance(cutoff, int) else None
    unknown = sorted({*lists[0][:k], *lists[1][:k]} - grades.keys())
    worlds = product(range(3), repeat=len(unknown))
    return {str(n): grades | dict(zip(unknown, world, strict=True)) for n, world in enumerate(worlds)}


def try_all(grades: Grades, lists: tuple[str, str], measure: str) -> tuple[float, float]:
    """Return the lowest and the highest difference over all grades."""
    worlds = list_worlds(grades, lists, measure)
    now, then = (
        karat.score(worlds, {world: make_run(top) for world in worlds}, [measure]).to_polars()[measure].to_numpy()
        for top in lists
    )
    return (now - then).min(), (now - then).max()


def make_run(documents: str) -> dict[str, float]:
    return {document: float(-rank) for rank, document in enumerate(documents)} or {"nothing": 0.0}


def bound(candidate: Evaluation, baseline: Evaluation, golden: GoldenSet, measure: str) -> DifferenceBounds:
    return bound_differences(candidate, baseline, [measure], golden)[measure]


LISTS = st.lists(st.sampled_from("abcde"), unique=True, max_size=3).map("".join)
PAIRS = st.fixed_dictionaries({query: st.tuples(LISTS, LISTS) for query in QUERIES})
JUDGED = st.fixed_dictionaries(
    {
        query: st.dictionaries(st.sampled_from("abcde"), st.integers(0, 2)).map(lambda d: d | {"z": 1})
        for query in QUERIES
    }
)


@pytest.mark.slow
@settings(max_examples=40)
@given(JUDGED, PAIRS)
def test_exact_ends_are_those_of_all_grades_and_other_ends_hold_them(
    judged: dict[str, Grades], pairs: dict[str, tuple[str, str]]
) -> None:
    """A mean adds up over queries, so that its lowest value is the mean of the lowest ones. In q0 all is known."""
    golden = make_set(judged | {"q0": {"z": 1}})
    candidate, baseline = (
        evaluate(golden, {query: pair[i] for query, pair in pairs.items()} | {"q0": "z"}, *EXACT, *OUTER)
        for i in range(2)
    )
    bounds = bound_differences(candidate, baseline, [*EXACT, *OUTER], golden)
    for measure in (*EXACT, *OUTER):
        true = [try_all(judged[query], pairs[query], measure) for query in QUERIES]
        worst, best = (sum(ends) / (len(QUERIES) + 1) for ends in zip(*true, strict=True))
        ends = bounds[measure]
        assert ends.worst is not None, measure
        assert ends.best is not None, measure
        assert ends.exact == (measure in EXACT)
        if ends.exact:
            assert (ends.worst, ends.best) == (pytest.approx(worst, abs=1e-12), pytest.approx(best, abs=1e-12)), measure
        else:
            assert ends.worst <= worst + 1e-12, measure
            assert best <= ends.best + 1e-12, measure


def test_a_document_that_moved_up_one_rank_has_one_grade_in_both() -> None:
    """By hand: x and y change places. If only x is relevant DCG changes by 1 - 1 / log2(3); P@2 cannot change."""
    golden = make_set({"q1": {"z": 1}})
    candidate, baseline = (
        evaluate(golden, {"q1": f"{top}z"}, "DCG@2", "P@2", "R@2", "RR@2", "AP@2") for top in ("yx", "xy")
    )
    gain = 2 * (1 - 0.6309297535714574)
    ends = bound(candidate, baseline, golden, "DCG@2")
    assert (ends.worst, ends.best, ends.exact) == (pytest.approx(-gain), pytest.approx(gain), True)
    for measure in ("P@2", "R@2"):
        ends = bound(candidate, baseline, golden, measure)
        assert (ends.worst, ends.best, ends.decided, ends.exact) == (0.0, 0.0, True, True)
    ends = bound(candidate, baseline, golden, "RR@2")
    assert (ends.worst, ends.best, ends.exact) == (-0.5, 0.5, True)
    ends = bound(candidate, baseline, golden, "AP@2")
    assert (ends.worst, ends.best, ends.exact) == (-2 / 3, 2 / 3, False)  # runs by themselves; the true end is 0.25


def test_a_query_that_failed_has_nothing_whatever_the_grades_are() -> None:
    golden = make_set({"q1": {"z": 1}, "q2": {"z": 1}})
    lists = {"q1": "ab", "q2": "ab"}
    failed, whole = evaluate(golden, lists, "R@2", "P@1", failed="q1"), evaluate(golden, lists, "R@2", "P@1")
    ends = bound(failed, whole, golden, "R@2")
    assert (ends.worst, ends.best, ends.exact) == (pytest.approx(-1 / 3), 0.0, True)
    ends = bound(whole, failed, golden, "P@1")
    assert (ends.worst, ends.best) == (0.0, 0.5)


def test_a_query_without_relevant_documents_could_have_any_value_so_that_the_ends_are_not_exact() -> None:
    golden = make_set({"q1": {"a": 0}, "q2": {"z": 1}})
    candidate, baseline = (evaluate(golden, {"q1": top, "q2": "z"}, "R@2", "P@2") for top in ("bc", "ad"))
    ends = bound(candidate, baseline, golden, "R@2")
    assert (ends.worst, ends.best, ends.exact) == (-0.5, 0.5, False)
    ends = bound(candidate, baseline, golden, "P@2")  # which every query has
    assert (ends.worst, ends.best, ends.exact) == (-0.25, 0.5, True)


def test_documents_of_a_class_have_one_grade() -> None:
    """b2 stands for b: both runs return the same."""
    golden = make_set({"q1": {"z": 1}})
    golden = GoldenSet(
        documents=(*golden.documents, Document(id="b2", text="b")),
        queries=golden.queries,
        judgments=golden.judgments,
        grades=golden.grades,
        relevant=1,
        classes={"both": ("b", "b2")},
    )
    runs = []
    for document in ("b", "b2"):
        trace = Trace(query="q1", text="q1", hits=(Hit("a", 2.0), Hit(document, 1.0)))
        run = Run(provenance=Provenance(name="run", settings={"k": 10, "unit": "document"}), traces=(trace,))
        runs.append(score_run(golden, run, ["DCG@2"]))
    ends = bound(*runs, golden, "DCG@2")
    assert (ends.worst, ends.best, ends.exact, ends.unjudged) == (0.0, 0.0, True, 0)


@pytest.mark.slow
@settings(max_examples=30)
@given(JUDGED, PAIRS)
def test_exact_ends_are_those_of_pytrec_eval(judged: dict[str, Grades], pairs: dict[str, tuple[str, str]]) -> None:
    golden = make_set({"q1": judged["q1"], "q0": {"z": 1}})
    lists = pairs["q1"]
    candidate, baseline = (evaluate(golden, {"q1": top, "q0": "z"}, *TREC) for top in lists)
    for measure, name in TREC.items():
        worlds = list_worlds(judged["q1"], lists, measure)
        scorer = pytrec_eval.RelevanceEvaluator(worlds, {name})
        now, then = (scorer.evaluate(dict.fromkeys(worlds, make_run(top))) for top in lists)
        differences = [now[world][name] - then[world][name] for world in worlds]
        ends = bound(candidate, baseline, golden, measure)
        assert ends.worst is not None
        assert ends.best is not None
        low, high = min(differences) / 2, max(differences) / 2
        assert (ends.worst, ends.best) == (pytest.approx(low), pytest.approx(high))
