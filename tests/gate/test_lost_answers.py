"""No sequence of failing, empty or missing answers improves a verdict.

The order is no decision, fail, inconclusive, pass. An empty answer keeps its time, and a failed one takes any. A query
to which the baseline has no answer either is left out of the property: there the run becomes what the baseline is,
and a run that equals its baseline passes although a gain, which widens the spread, may be inconclusive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cli.gate_project import make_set
from each import each
from karat import golden
from karat.core import GoldenSet, Hit, InputError, Judgment, Measure, Provenance, Query, Run, Target, Trace
from karat.evaluation import Evaluation, score_run
from karat.gate import POLICIES, Decision, Must, Policy, Rule, decide, named_policy
from karat.gate._decision import WORST
from karat.gate._operations import Operations
from karat.projects import require_complete
from karat.stats import DropRule

SIZE = 24
FOUR = ("RR@10", "R@5", "P@5", "nDCG@5")
MEASURES = (*FOUR, "DupRate@10")
OFF = Operations(failed=None, empty=None, latency=None)
OPERATIONS = (Operations(), OFF, Operations(failed=0.2, empty=0.2), Operations(failed=0.09, empty=0.09))
"""The operational rules as they are, none of them, and relaxed so far that 5 or 2 of 25 questions may fail."""


def make_golden() -> GoldenSet:
    """The set of gate_project, in which some queries have two relevant documents, one a must-show, one no answer."""
    golden_set = make_set(SIZE)
    second = tuple(Judgment(query=f"q{i:02}", target=Target(document=f"x{i:02}"), grade=1) for i in range(3, SIZE, 3))
    shown = tuple(replace(query, must_show=("d05",)) if query.id == "q05" else query for query in golden_set.queries)
    unanswerable = Query(id="q99", text="What of nothing?", answerable=False)
    return replace(golden_set, queries=(*shown, unanswerable), judgments=(*golden_set.judgments, *second))


SET = make_golden()
IDS = [query.id for query in SET.queries]


def _is_of_answers(rule: Rule) -> bool:
    """Return whether a rule is about numbers that runs without answers and trials do not have."""
    if not rule.is_measure:
        return rule.metric.startswith(("delta_s.", "sequential"))
    return Measure.parse(rule.metric).definition.traced and rule.metric.startswith(("Cite", "Lambda"))


def list_policies() -> dict[str, Policy]:
    """Every preset without the rules on numbers that judges and trials compute, and one with all kinds of rules."""
    presets = {name: named_policy(name, MEASURES) for name in POLICIES}
    presets |= {"default of one": named_policy("default", ["RR@10"]), "default of four": named_policy("default", FOUR)}
    policies = {
        name: replace(policy, rules=tuple(rule for rule in policy.rules if not _is_of_answers(rule)))
        for name, policy in presets.items()
    }
    rules = (
        *(Rule(metric=name, significant_drop=True) for name in ("RR@10", "R@5")),
        Rule(metric="nDCG@5", non_inferior=True, where=("category", "prices")),
        Rule(metric="P@5", min=0.05, max_drop_rel=0.3),
        Rule(metric="GMAP", non_inferior=True),
        Rule(metric="Judged@10", min=0.1),
        Rule(metric="TrueEmpty", min=0.5),
        Rule(metric="coverage", min=0.5),
        Rule(metric="latency.p50", max=100),
        Rule(metric="latency.p95", max_rise_rel=0.5),
    )
    lenient = DropRule(relative=0.2)
    policies["own"] = Policy(name="own", rules=rules, must_pass=(Must(query="q01"),), drop=lenient)
    policies["mean"] = Policy(name="mean", rules=(Rule(metric="latency.mean", max_rise_abs=20),))
    return policies


POLICY = list_policies()


@dataclass(frozen=True)
class Answers:
    """The place of the relevant document of each query (0 for none, -1 for an empty list), and the milliseconds."""

    places: tuple[int, ...]
    times: tuple[float, ...]
    lost: Mapping[int, tuple[str, float]] = field(default_factory=dict)
    """By query: how its answer was lost (empty, failing, missing), and how long that took."""

    def run(self) -> Run:
        """The run of these answers."""
        rows = zip(SET.queries, self.places, self.times, strict=True)
        traces = (self._trace(i, query, place, ms) for i, (query, place, ms) in enumerate(rows))
        provenance = Provenance(name="mine", golden=golden.identify(SET), settings={"k": 10, "sample": None})
        return Run(provenance=provenance, traces=tuple(trace for trace in traces if trace is not None))

    def _trace(self, i: int, query: Query, place: int, ms: float) -> Trace | None:
        kind, failed_after = self.lost.get(i, ("", 0.0))
        if kind == "missing":
            return None
        names = [f"x{n:02}" for n in (1, 2, 4, 5)]
        if place > 0 and query.answerable:
            names.insert(place - 1, f"d{query.id[1:]}")
        hits = () if kind or place < 0 else tuple(Hit(name, 9.0 - rank, name) for rank, name in enumerate(names))
        return Trace(query=query.id, text=query.text, hits=hits, error="timed out" if kind == "failing" else "",
                     timings={"total": failed_after if kind == "failing" else ms})  # fmt: skip


def evaluate(answers: Answers, policy: Policy) -> Evaluation:
    """The scored run of some answers."""
    return score_run(SET, answers.run(), (*policy.measures, "RR@10"))


def judge(answers: Answers, policy: Policy, baseline: Evaluation) -> int:
    """How good the verdict is, from 0 for no decision; a run that lacks answers is refused, and has none."""
    try:
        require_complete(SET, answers.run())
    except InputError:
        return 0
    return WORST.index(decide(evaluate(answers, policy), baseline, policy).outcome)


ORDER = ("empty", "failing", "missing")
Steps = Sequence[tuple[int, str, float]]


def worsen(answers: Answers, step: tuple[int, str, float]) -> Answers:
    """Lose one answer, or lose it in a worse way; never in a better one. q99 is right to be empty."""
    query, kind, milliseconds = step
    was = answers.lost.get(query, ("", 0.0))[0]
    if (was and ORDER.index(kind) <= ORDER.index(was)) or (kind == "empty" and not SET.queries[query].answerable):
        return answers
    return replace(answers, lost={**answers.lost, query: (kind, milliseconds)})


TIMES = st.sampled_from([10.0, 10.0, 60.0, 90.0, 1500.0])
PLACES = st.sampled_from([0, 1, 1, 2, 5])
LEVELS = st.sampled_from([(0, 0, 0, 1, 3), (0, 1, 1, 1, 2, 3, 5), (1, 1, 1, 1, 2), (0, 0, 0, 0, 0, 5)])
QUERY = st.integers(0, SIZE)


@st.composite
def stories(draw: st.DrawFn) -> tuple[Answers, Answers, Steps]:
    """A baseline, a candidate that differs from it in a few answers and times, and losses of some of these."""
    size = len(SET.queries)
    places = draw(st.lists(st.sampled_from(draw(LEVELS)), min_size=size, max_size=size))
    before = Answers(tuple(places), (10.0,) * size)
    moves = draw(st.dictionaries(QUERY, PLACES, max_size=8))
    slow = draw(st.dictionaries(QUERY, TIMES, max_size=4))
    after = Answers(
        tuple(moves.get(i, place) for i, place in enumerate(places)), tuple(slow.get(i, 10.0) for i in range(size))
    )
    touched = st.sampled_from([*moves, *slow, draw(QUERY)])
    kinds = st.sampled_from(["empty", "failing", "failing", "missing"])
    return before, after, draw(st.lists(st.tuples(touched, kinds, TIMES), min_size=1, max_size=3))


FEW = Answers((1,) * 5 + (0,) * (SIZE - 4), (10.0,) * (SIZE + 1))
"""Answers of which one in five is right: one more widens the spread so much that the verdict is inconclusive."""
RISEN = replace(FEW, places=(*FEW.places[:6], 1, *FEW.places[7:]))
SLOW = replace(FEW, times=(*FEW.times[:-2], 1500.0, 1500.0))
SLOWER = replace(SLOW, times=(*SLOW.times[:-3], 1500.0, 1500.0, 1500.0))
LAST_FAIL = [(SIZE, "failing", 10.0), (SIZE - 1, "failing", 10.0)]
OFTEN = ("default of one", "default of four", "own")


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    story=stories(),
    name=st.sampled_from(sorted(POLICY) + 3 * list(OFTEN)),
    operations=st.sampled_from(OPERATIONS),
)
@example(story=(FEW, RISEN, [(6, "empty", 10.0)]), name="default of one", operations=Operations())
@example(story=(FEW, SLOW, LAST_FAIL), name="threshold", operations=Operations())
@example(
    story=(FEW, SLOWER, LAST_FAIL),
    name="default of one",
    operations=OPERATIONS[3],
)
@example(story=(FEW, SLOW, LAST_FAIL), name="fit", operations=OFF)
@example(story=(FEW, SLOW, LAST_FAIL), name="mean", operations=OFF)
def test_no_lost_answer_improves_a_verdict(
    story: tuple[Answers, Answers, Steps], name: str, operations: Operations
) -> None:
    """By every preset, with, without and with relaxed operational rules, each loss leaves the verdict or lowers it."""
    policy = replace(POLICY[name], operations=operations)
    before, answers, steps = story
    baseline = evaluate(before, policy)
    verdict = judge(answers, policy, baseline)
    for step in steps:
        answers = worsen(answers, step)
        after = judge(answers, policy, baseline)
        assert after <= verdict, (name, answers)
        verdict = after


def gate(answers: Answers, before: Answers, name: str) -> Decision:
    """The decision of a policy of these tests without the operational rules."""
    policy = replace(POLICY[name], operations=OFF)
    return decide(evaluate(answers, policy), evaluate(before, policy), policy)


def test_a_slow_query_that_fails_does_not_make_a_run_fast() -> None:
    """Of 25 times two are 1,500 ms: p95, at rank 23.8 of 25, fails. If one of them fails after 1 ms it still does."""
    before = Answers((1,) * (SIZE + 1), (10.0,) * (SIZE + 1))
    slow = replace(before, times=(*before.times[:-2], 1500.0, 1500.0))
    failed = replace(slow, lost={SIZE: ("failing", 1.0), SIZE - 1: ("failing", 1.0)})
    rule = Policy(name="p95", rules=(Rule(metric="latency.p95", max=1000),), operations=OFF)
    first, second = (decide(evaluate(answers, rule), None, rule).checks[0] for answers in (slow, failed))
    assert first.reason == "1,202.0 ms is above 1000 ms"
    assert (second.outcome.value, second.current, second.limit) == ("fail", 10.0, 1000)
    assert second.reason == (
        "2 of 25 questions failed, and each counts as slower than any answer: p95 is not known, and at least 10.0 ms"
    )
    once = replace(slow, lost={SIZE: ("failing", 1.0)})
    assert decide(evaluate(once, rule), None, rule).checks[0].reason == "1,202.0 ms is above 1000 ms"


@each(
    ("slow", "failing", "operation", "limit"),
    [
        (0, 2, "pass", "fail"),
        (1, 1, "pass", "fail"),
        (2, 0, "pass", "fail"),
        (0, 3, "fail", "fail"),
        (1, 2, "fail", "fail"),
        (3, 0, "fail", "fail"),
    ],
)
def test_a_question_that_may_fail_does_not_fail_the_rule_on_latency(
    slow: int, failing: int, operation: str, limit: str
) -> None:
    """With ``failed = 0.09`` two of 25 are excused, whether they fail or are slow; no limit of the policy excuses any.

    p95 is at rank 23.8 of 25, among them.
    """
    rules = (Rule(metric="latency.p95", max=100),)
    policy = Policy(name="p95", rules=rules, operations=Operations(failed=0.09, empty=0.09))
    before = Answers((1,) * (SIZE + 1), (10.0,) * (SIZE + 1))
    lost = dict.fromkeys(range(failing), ("failing", 1.0))
    times = (10.0,) * (SIZE + 1 - slow) + (1500.0,) * slow
    decision = decide(evaluate(replace(before, times=times, lost=lost), policy), evaluate(before, policy), policy)
    checks = [check for check in decision.checks if check.metric == "latency.p95"]
    assert [(check.kind, check.outcome.value) for check in checks] == [("slow", operation), ("max", limit)]
    if operation == "pass":
        assert checks[0].reason == (
            "the slowest question but for the 2 that may fail is 10.0 ms, 1.0 times the baseline's p95 of 10.0 ms"
        )


def test_a_run_that_fails_where_its_baseline_fails_is_not_slower() -> None:
    """Two of 25 failed in both, and p95 is known of neither: a limit on it fails, and a rise only if one is new."""
    rise = Policy(name="rise", rules=(Rule(metric="latency.p95", max_rise_abs=1),))
    limit = Policy(name="limit", rules=(Rule(metric="latency.p95", max=100),), operations=OFF)
    both = replace(FEW, lost={1: ("failing", 10.0), 2: ("failing", 10.0)})
    other = replace(FEW, lost={1: ("failing", 10.0), 3: ("failing", 10.0)})
    for policy, answers, slow in ((rise, both, 0), (rise, other, 2), (limit, both, 1)):
        checks = decide(evaluate(answers, policy), evaluate(both, policy), policy).checks
        assert sum(check.metric == "latency.p95" and check.outcome.value == "fail" for check in checks) == slow


def test_a_gain_that_is_lost_again_stays_inconclusive() -> None:
    """RR@10 of 24 queries is 0.21; one rose from 0 to 1, which widens the spread, and then lost its answer."""
    lost = replace(RISEN, lost={6: ("empty", 10.0)})
    assert gate(RISEN, FEW, "default of one").outcome.value == "inconclusive"
    assert gate(lost, FEW, "default of one").outcome.value == "inconclusive"
    assert gate(FEW, FEW, "default of one").outcome.value == "pass"


def test_a_run_that_equals_its_baseline_passes() -> None:
    """An answer that the baseline does not have either is not lost."""
    same = replace(FEW, lost={6: ("empty", 10.0), 7: ("failing", 10.0)})
    assert gate(same, same, "default of one").outcome.value == "pass"


def test_a_lost_answer_excuses_no_drop() -> None:
    """By significant_drop three losses and a gain are too few to test; a fourth loss allows a test, and p is 2/32.

    By the test alone it would pass, because no drop is shown.
    """
    policy = Policy(name="drop", rules=(Rule(metric="RR@10", significant_drop=True),), operations=OFF)
    before = Answers((1,) * 23 + (5, 1), (10.0,) * (SIZE + 1))
    three = replace(before, places=(0, 0, 0, *before.places[3:23], 1, 1))
    four = replace(three, lost={3: ("empty", 10.0)})
    baseline = evaluate(before, policy)
    assert WORST[judge(three, policy, baseline)].value == "inconclusive"
    (check,) = decide(evaluate(four, policy), baseline, policy).checks
    assert (check.outcome.value, check.p) == ("inconclusive", 2 / 32)
