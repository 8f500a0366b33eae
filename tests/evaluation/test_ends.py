"""A run at its worst and a baseline at its best, held against all grades that unjudged documents could have."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat.core import Document, GoldenSet, Hit, Judgment, Measure, Provenance, Query, Run, Target, Trace
from karat.evaluation import Evaluation, count_unjudged, find_bounds, find_ends, score_run

MEASURES = ("R@2", "P@2", "RR@3", "nDCG@2", "AP@3", "DCG@2", "F1@2", "DupRate@2", "Bpref")
QUERIES = ("q1", "q2")
Grades = dict[tuple[str, str], int]
Lists = dict[str, str]


def make_set(grades: Grades) -> GoldenSet:
    """Two queries with these grades; z, which nobody returns, is relevant to both."""
    known = {(query, "z"): 1 for query in QUERIES} | grades
    return GoldenSet(
        documents=tuple(Document(id=d, text=d) for d in "abcdz"),
        queries=tuple(Query(id=query, text=query) for query in QUERIES),
        judgments=tuple(Judgment(query=q, target=Target(document=d), grade=grade) for (q, d), grade in known.items()),
        grades=("no", "yes"),
        relevant=1,
    )


def evaluate(golden: GoldenSet, lists: Lists, *measures: str) -> Evaluation:
    traces = tuple(
        Trace(query=query, text=query, hits=tuple(Hit(d, float(-rank)) for rank, d in enumerate(documents)))
        for query, documents in lists.items()
    )
    provenance = Provenance(name="run", settings={"k": 10, "unit": "document"})
    return score_run(golden, Run(provenance=provenance, traces=traces), measures or MEASURES)


def score(grades: dict[str, int], documents: str, measure: str) -> float:
    run = {"q": {document: float(-rank) for rank, document in enumerate(documents)}}
    value = karat.score({"q": grades}, run, [measure]).value("q", measure)
    assert value is not None
    return value


def difference(candidate: Evaluation, baseline: Evaluation, measure: str) -> float:
    now, then = candidate.values(measure), baseline.values(measure)
    return sum(now[query] - then[query] for query in QUERIES) / len(QUERIES)


LISTS = st.fixed_dictionaries({query: st.permutations("abcd").map(lambda x: "".join(x[:3])) for query in QUERIES})
GRADES = st.dictionaries(st.tuples(st.sampled_from(QUERIES), st.sampled_from("abcd")), st.integers(0, 1))
WORLD = st.fixed_dictionaries({(query, d): st.integers(0, 1) for query in QUERIES for d in "abcd"})
BOUNDED = st.sampled_from([name for name in MEASURES if name not in ("DupRate@2", "Bpref")])


@pytest.mark.slow
@settings(max_examples=40)
@given(LISTS, LISTS, GRADES, BOUNDED)
def test_no_grades_make_the_difference_worse_than_at_the_ends(
    candidate: Lists, baseline: Lists, grades: Grades, measure: str
) -> None:
    """All grades of what nobody judged in the top k of either, one query at a time: means add up over queries."""
    golden = make_set(grades)
    now, then = find_ends(evaluate(golden, candidate, measure), evaluate(golden, baseline, measure), golden)
    assert then is not None
    k = int(Measure.parse(measure).cutoff or 0)
    for query in QUERIES:
        tops = {*candidate[query][:k], *baseline[query][:k]}
        unknown = [(query, d) for d in tops if (query, d) not in grades]
        for world in product((0, 1), repeat=len(unknown)):
            known = {d: grade for (q, d), grade in grades.items() if q == query} | {"z": 1}
            known |= {d: grade for (_, d), grade in zip(unknown, world, strict=True)}
            true = [score(known, lists[query], measure) for lists in (candidate, baseline)]
            worst = now.values(measure)[query] - then.values(measure)[query]
            assert worst <= true[0] - true[1] + 1e-12


@pytest.mark.slow
@settings(max_examples=40)
@given(LISTS, LISTS, WORLD, st.data(), BOUNDED)
def test_a_judgment_less_never_improves_the_worst_difference(
    candidate: Lists, baseline: Lists, world: Grades, data: st.DataObject, measure: str
) -> None:
    """The judgment is that of a document in the top k of one of them."""
    k = int(Measure.parse(measure).cutoff or 0)
    places = sorted({(q, d) for lists in (candidate, baseline) for q in QUERIES for d in lists[q][:k]})
    lost = data.draw(st.sets(st.sampled_from(places), min_size=1))
    golden = make_set(world)
    before = difference(evaluate(golden, candidate, measure), evaluate(golden, baseline, measure), measure)
    less = make_set({pair: grade for pair, grade in world.items() if pair not in lost})
    now, then = find_ends(evaluate(less, candidate, measure), evaluate(less, baseline, measure), less)
    assert then is not None
    assert difference(now, then, measure) <= before + 1e-12


def test_the_ends_are_the_same_a_part_of_the_queries_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a run lacks a query, and where a grade that the set does not declare is the highest."""
    grades = {("q1", "a"): 1, ("q2", "b"): 1, ("q2", "c"): 0, ("q3", "c"): 1}
    lists = {"q1": "abd", "q2": "dbc", "q3": "efc"}
    others = {"q1": "dab", "q2": "dbc", "q3": "cfe"}
    for golden in (make_set(grades), make_set({**grades, ("q3", "c"): 9})):
        run, baseline = evaluate(golden, lists, "nDCG@2"), evaluate(golden, others, "nDCG@2")
        whole, count = find_ends(run, baseline, golden), count_unjudged(run, baseline, golden, "nDCG@2")
        with monkeypatch.context() as context:
            context.setattr("karat.evaluation._ends._PART", 1)
            for end, part in zip(whole, find_ends(run, baseline, golden), strict=True):
                assert end is not None
                assert part is not None
                assert part.scores.values.tolist() == end.scores.values.tolist()
                assert part.means == end.means
            assert count_unjudged(run, baseline, golden, "nDCG@2") == count == 4


def test_the_same_list_keeps_its_scores() -> None:
    """Whatever a and b are worth, both runs gain the same."""
    golden, lists = make_set({}), {"q1": "abc", "q2": "abc"}
    run, baseline = evaluate(golden, lists), evaluate(golden, lists)
    now, then = find_ends(run, baseline, golden)
    assert then is not None
    assert now.means == run.means == then.means
    assert count_unjudged(run, baseline, golden, "R@2") == 0


def test_a_list_by_itself_by_hand() -> None:
    """In q1 relevant documents among b and c could only raise R@2 from 0; in q2 that of a keeps nDCG@2 at 1."""
    golden = make_set({("q1", "a"): 0})
    run = evaluate(golden, {"q1": "bca", "q2": "zab"})
    now, nothing = find_ends(run, None, golden)
    assert nothing is None
    assert now.values("R@2") == {"q1": 0.0, "q2": 1.0}
    assert now.values("nDCG@2")["q2"] == pytest.approx(1.0)
    assert count_unjudged(run, None, golden, "R@2") == 3


def test_bounds_of_means_by_hand() -> None:
    """P@2 is 0.25: z is one of four places. Of b, c and a nobody knows anything, so that it could be up to 1.

    Chunks count as their document; lists without the run, as a baseline file has them, and runs whose scores contradict
    their order tell the same; a list that is too short tells nothing.
    """
    golden = make_set({})
    lists = {"q1": "bca", "q2": "zab"}
    run = evaluate(golden, lists, "P@2", "R@4", "DupRate@2")
    chunks = tuple(
        replace(trace, hits=tuple(Hit(f"{d}:chunk:{n}", n * 1.0) for d in lists[trace.query] for n in range(2)))
        for trace in run.traces
    )
    bare = replace(run, traces=())
    for evaluation in (run, bare, replace(run, traces=chunks)):
        bounds = find_bounds(evaluation, golden, ["P@2", "DupRate@2", "latency.p95"])
        assert list(bounds) == ["P@2"]
        assert (bounds["P@2"].worst, bounds["P@2"].best, bounds["P@2"].unjudged) == (0.25, 1.0, 3)
    short = replace(bare, depth=1, lists={query: documents[:1] for query, documents in run.lists.items()})
    assert find_bounds(short, golden, ["P@2"]) == {}
    assert list(find_bounds(replace(bare, depth=3), golden, ["P@2", "R@4"])) == ["P@2"]


def test_what_only_the_baseline_returned_may_be_relevant_and_missed() -> None:
    """The candidate has z, all that is known to be relevant; the baseline's a and b would make it one of three."""
    golden = make_set({("q1", "c"): 0, ("q2", "c"): 0})
    run, baseline = (evaluate(golden, {"q1": top, "q2": "z"}) for top in ("zc", "ab"))
    now, then = find_ends(run, baseline, golden)
    assert then is not None
    assert (now.values("R@2")["q1"], then.values("R@2")["q1"]) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert count_unjudged(run, baseline, golden, "R@2") == 2


def test_a_query_without_relevant_documents_could_have_any_value() -> None:
    golden = GoldenSet(
        queries=(Query(id="q1", text="q1"), Query(id="q2", text="q2")),
        judgments=(Judgment(query="q2", target=Target(document="a"), grade=2),),
    )
    run, baseline = (evaluate(golden, {"q1": top, "q2": "a"}) for top in ("ab", "bc"))
    now, then = find_ends(run, baseline, golden)
    assert then is not None
    assert now.values("RR@3") == {"q1": 0.0, "q2": 1.0}
    assert then.values("RR@3") == {"q1": 1.0, "q2": 1.0}


@pytest.mark.parametrize(
    "doubt", [{"paraphrases": True}, {"unit": "target"}], ids=["paraphrases were asked", "parts are judged"]
)
def test_where_lists_do_not_tell_the_ends_are_those_of_the_measure(doubt: dict[str, object]) -> None:
    golden = make_set({})
    run, baseline = (evaluate(golden, {"q1": top, "q2": top}) for top in ("abc", "acb"))
    settings = {**run.provenance.settings, **doubt}
    run, baseline = (replace(e, provenance=replace(e.provenance, settings=settings)) for e in (run, baseline))
    now, then = find_ends(run, baseline, golden)
    assert then is not None
    assert (now.means["R@2"], then.means["R@2"]) == (0.0, 1.0)
    assert (now.means["DupRate@2"], then.means["DupRate@2"]) == (0.0, 0.0)  # judgments do not matter to it
    assert math.isnan(then.means["DCG@2"])  # which has no highest value


def test_a_measure_without_bounds_could_have_any_value_and_a_baseline_of_means_too() -> None:
    golden = make_set({})
    run, baseline = (evaluate(golden, {"q1": top, "q2": top}) for top in ("abc", "acb"))
    now, then = find_ends(run, baseline, golden)
    assert then is not None
    assert (now.means["Bpref"], then.means["Bpref"]) == (0.0, 1.0)
    _, then = find_ends(run, baseline.summary(), golden)
    assert then is not None
    assert (then.means["R@2"], then.means["DupRate@2"]) == (1.0, 0.0)


def test_a_query_that_failed_keeps_the_score_of_a_failure() -> None:
    golden = make_set({})
    run, baseline = (evaluate(golden, {"q1": top, "q2": top}) for top in ("abc", "acb"))
    failed = replace(run, failures={"q1": "timeout"})
    now, _ = find_ends(failed, baseline, golden)
    assert now.values("R@2")["q1"] == run.values("R@2")["q1"]
