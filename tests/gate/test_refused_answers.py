"""An answerable question that was refused counts as the worst value in a rule, and not in the mean that is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pytest

from each import each
from karat import golden
from karat.core import Citation, GoldenSet, Judgment, Provenance, Query, Run, Scores, Span, Target, Trace
from karat.evaluation import Evaluation, score_run
from karat.gate import Check, Policy, Rule, count_failures, count_refusals, decide
from karat.gate._caveats import find_caveats
from karat.gate._corrected import correct_rule, find_correction
from karat.gate._decision import WORST
from karat.gate._operations import Operations

OFF = Operations(failed=None, empty=None, latency=None)
RIGHT, WRONG, REFUSED, EMPTY, UNCITED = "right", "wrong", "refused", "empty", "uncited"


def make_set(size: int) -> GoldenSet:
    """Return a set in which each query has a part of a document that answers it, and another that misleads."""
    queries = tuple(
        Query(
            id=f"q{i}",
            text=f"What of {i}?",
            paraphrases=(f"And {i}?",),
            anchors=(Target(document="guide", section="S.1"),),
            negatives=(Target(document="spa"),),
        )
        for i in range(size)
    )
    spans = Target(document="guide", span=Span(0, 40))
    judgments = tuple(Judgment(query=query.id, target=spans, grade=3) for query in queries)
    return GoldenSet(name="set", queries=(*queries, Query(id="no", text="?", answerable=False)), judgments=judgments)


def make_trace(query: Query, kind: str, wording: int = 0) -> Trace:
    cited = {RIGHT: (Citation("guide", section="S.1", span=Span(0, 20)),), WRONG: (Citation("spa"),)}
    text = (query.text, *query.paraphrases)[wording]
    answer = "" if kind in (REFUSED, EMPTY) else "So."
    return Trace(query=query.id, text=text, paraphrase=wording, answer=answer, citations=cited.get(kind, ()),
                 refused=kind == REFUSED, timings={"total": 1.0})  # fmt: skip


def evaluate(kinds: Sequence[str], measures: Sequence[str], second: Sequence[str] = ()) -> Evaluation:
    """Return the scores of a run with these answers to its queries, perhaps in a second wording, too."""
    golden_set = make_set(len(kinds))
    traces = [
        make_trace(query, kind, wording)
        for wording, row in enumerate(filter(None, (kinds, second)))
        for query, kind in zip(golden_set.queries, row, strict=False)
    ]
    provenance = Provenance(name="mine", golden=golden.identify(golden_set), settings={"k": 10, "sample": None})
    unanswerable = Trace(query="no", text="?", refused=True)
    return score_run(golden_set, Run(provenance=provenance, traces=(*traces, unanswerable)), measures)


def check(rule: Rule, now: Evaluation, before: Evaluation | None = None) -> Check:
    """Return the check of the only rule of a policy."""
    decision = decide(now, before, Policy(name="own", rules=(rule,), operations=OFF))
    (found,) = [found for found in decision.checks if found.metric == rule.metric and found.kind != "removed"]
    return found


@each(
    ("rule", "kinds", "number", "words"),
    [
        (Rule(metric="CiteAccuracy", min=0.9), (RIGHT, REFUSED, RIGHT, REFUSED), 0.5, "2 refused"),
        (Rule(metric="CiteAccuracy", min=0.9), (RIGHT, EMPTY, RIGHT, REFUSED), 0.5, "1 empty, 1 refused"),
        (Rule(metric="CiteFirst", min=0.9), (RIGHT, REFUSED, WRONG, WRONG), 0.75, "1 refused"),
        (
            Rule(metric="CiteConfusion", max=0.1),
            (RIGHT, REFUSED, RIGHT, UNCITED),
            0.5,
            "1 refused, 1 without a citation",
        ),
    ],
)  # fmt: skip
def test_a_floor_counts_a_refusal_as_the_worst_value(
    rule: Rule, kinds: Sequence[str], number: float, words: str
) -> None:
    """The check has the number that it used, and says how many; the mean of the measure leaves them out."""
    evaluation = evaluate(kinds, [rule.metric])
    result = check(rule, evaluation)
    assert (result.outcome.value, result.reason.endswith(f"; {words} counted as worst")) == ("fail", True)
    assert result.unanswered == sum(kind in (REFUSED, EMPTY, UNCITED) for kind in kinds)
    assert result.current == number
    rest = evaluate([kind for kind in kinds if kind in (RIGHT, WRONG)], [rule.metric])
    assert evaluation.mean(rule.metric) == pytest.approx(rest.mean(rule.metric), nan_ok=True)
    decision = decide(evaluation, None, Policy(name="own", rules=(rule,), operations=OFF))
    assert decision.candidate.mean(rule.metric) == pytest.approx(rest.mean(rule.metric), nan_ok=True)


def test_a_caveat_says_how_many_answers_a_mean_is_over() -> None:
    """It stands in every report, with the mean that rules look at."""
    policy = Policy(name="own", rules=(Rule(metric="CiteAccuracy", min=0.4),), operations=OFF)
    decision = decide(evaluate((RIGHT, REFUSED, RIGHT, REFUSED), ["CiteAccuracy"]), None, policy)
    (caveat,) = [words for words in find_caveats(decision, make_set(4)) if words.startswith("CiteAccuracy")]
    assert caveat == (
        "CiteAccuracy is over 2 of 4 answers, without 2 refused; with these as worst, as rules count, it is 0.5000"
    )


def test_a_measure_without_a_worst_value_has_the_worst_that_was_seen() -> None:
    """Of AnchorDistance any number of steps is possible: a refusal counts as the largest, here that of the baseline."""
    scored = evaluate((RIGHT, REFUSED), ["AnchorDistance"])
    assert count_refusals(scored).mean("AnchorDistance") == 0.0
    far = evaluate((RIGHT, RIGHT), ["AnchorDistance"])
    values = far.scores.values.copy()
    values[:2] = 4.0
    before = Evaluation(provenance=far.provenance, scores=far.scores.with_values(values), queries=far.queries)
    assert count_refusals(scored, before).mean("AnchorDistance") == 2.0


@each(
    "rule",
    [
        Rule(metric="CiteAccuracy", max_drop_abs=0.1),
        Rule(metric="CiteAccuracy", max_drop_rel=0.1),
        Rule(metric="CiteConfusion", max_rise_abs=0.1),
        Rule(metric="CiteConfusion", significant_drop=True),
        Rule(metric="CiteAccuracy", non_inferior=True),
    ],
)
def test_a_rule_on_a_change_counts_what_is_newly_refused(rule: Rule) -> None:
    """Eight of twelve that were right are refused: that is worse. What the baseline refused, too, has not changed."""
    before = evaluate([RIGHT] * 12 + [REFUSED] * 4, [rule.metric])
    assert check(rule, before, before).outcome.value == "pass"
    now = evaluate([RIGHT] * 4 + [REFUSED] * 12, [rule.metric])
    result = check(rule, now, before)
    assert (result.outcome.value, result.unanswered) == ("fail", 8)
    assert result.reason.endswith("; 8 refused counted as worst")


def test_each_wording_that_is_refused_counts() -> None:
    """Of four answers to two questions one is refused. The change since a baseline looks at questions as a whole."""
    now = evaluate((RIGHT, RIGHT), ["CiteAccuracy"], (RIGHT, REFUSED))
    result = check(Rule(metric="CiteAccuracy", min=0.9), now)
    assert (result.outcome.value, result.current, result.unanswered) == ("fail", 0.75, 1)
    assert check(Rule(metric="CiteAccuracy", max_drop_abs=0.1), now, now).outcome.value == "pass"


def test_no_refusal_improves_a_verdict() -> None:
    """All answers to three questions, by brute force: one refusal more leaves the verdict or lowers it."""
    rules = (
        Rule(metric="CiteAccuracy", min=0.6),
        Rule(metric="CiteConfusion", max=0.4),
        Rule(metric="CiteFirst", min=0.9),
    )
    policy = Policy(name="own", rules=rules, operations=OFF)
    measures = [rule.metric for rule in rules]
    verdicts = {
        kinds: WORST.index(decide(evaluate(kinds, measures), None, policy).outcome)
        for kinds in product((RIGHT, WRONG, REFUSED), repeat=3)
    }
    assert len(set(verdicts.values())) == 2
    for kinds, verdict in verdicts.items():
        for place in range(3):
            assert verdicts[(*kinds[:place], REFUSED, *kinds[place + 1 :])] <= verdict, kinds


def test_quantiles_of_distances_count_refusals() -> None:
    """Two answers cite something near, and one is refused, which counts as the largest distance there is."""
    refused = {("q2", "CiteDeltaS"): "the answer was refused"}
    columns = {"CiteDeltaS": {"q0": 0.1, "q1": 0.2}}
    scores = Scores.from_columns("mine", columns, queries=["q0", "q1", "q2"], reasons=refused)
    now = Evaluation(provenance=Provenance(name="mine"), scores=scores, means=scores.mean(), queries=scores.queries)
    result = check(Rule(metric="delta_s.max", max=0.45), now)
    assert (result.reason, result.unanswered) == ("2.0000 is above 0.45; 1 refused counted as worst", 1)
    assert check(Rule(metric="delta_s.median", max=0.3), now).reason.startswith("0.2000 is at most 0.3; 1 refused")


def judge(answered: int, score: float) -> Evaluation:
    """Return 40 questions, of which people call every answer right, a judge scores each alike, and some are refused."""
    golden_set = make_set(40)
    traces = [
        replace(
            make_trace(query, RIGHT if place < answered else REFUSED),
            opinions={"faithfulness": score, "people:faithfulness": 1.0}
            if place < answered
            else {"faithfulness": "the answer was refused"},
        )
        for place, query in enumerate(golden_set.queries[:40])
    ]
    provenance = Provenance(name="mine", golden=golden.identify(golden_set), settings={"k": 10, "sample": None})
    run = Run(provenance=provenance, traces=(*traces, Trace(query="no", text="?", refused=True)))
    return count_failures(score_run(golden_set, run, ["Faithfulness", "PeopleLabel(name='faithfulness')"]))


def test_labels_of_people_do_not_undo_a_refusal() -> None:
    """Of 40 answers 30 are right, as people say, and 10 refused: three quarters, and an interval as much narrower.

    The baseline answered all, and its judge said 0.9: people see no change in 30, and 10 fell from 0.9 to 0.
    """
    rule, baseline = Rule(metric="Faithfulness", min=0.9, non_inferior=True), judge(40, 0.9)
    correction, plain = correct_rule(judge(30, 0.8), baseline, rule), find_correction(judge(30, 0.8), baseline, rule)
    assert correction is not None
    assert plain is not None
    assert correction.mean is not None
    assert plain.mean is not None
    assert (plain.mean.mean, correction.mean.mean) == (1.0, 0.75)
    assert correction.mean.low == pytest.approx(0.75 * plain.mean.low)
    assert correction.difference is not None
    assert correction.difference.mean == pytest.approx(-0.225)
    checks = decide(judge(30, 0.8), baseline, Policy(name="own", rules=(rule,), operations=OFF)).checks
    outcomes = {found.kind: (found.outcome.value, found.unanswered) for found in checks if found.metric == rule.metric}
    assert outcomes == {"min": ("fail", 10), "non_inferior": ("fail", 10)}
