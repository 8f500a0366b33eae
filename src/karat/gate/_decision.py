"""The decision on a run: the outcome of every rule of a policy, with its reason, and the outcome of all of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain

import numpy as np

from karat.core import InputError, did_you_mean, shorten, show_table
from karat.evaluation import Evaluation, find_other_judges, find_unjudged, require_comparable, withhold_scores
from karat.gate._check import Check
from karat.gate._comparison import align_changes
from karat.gate._corrected import Correction, correct_limit, correct_rule, decide_difference, hold_back
from karat.gate._limits import (
    RECORD,
    check_limits,
    check_number,
    defer,
    defer_new,
    explain_missing,
    explain_untestable,
    fail_missing,
    is_unasked,
    note_silent,
    read_number,
    select_queries,
)
from karat.gate._operations import KINDS, inspect_operations
from karat.gate._overlap import inspect_overlap
from karat.gate._pairing import Pairs, pair_scores, pair_with_lost, scale_of
from karat.gate._policy import ELSEWHERE, Must, Policy, Rule, require_rules
from karat.gate._unanswered import count_failures, count_refusals, find_lost
from karat.gate._unscored import inspect_scored, note_scored
from karat.stats import CorrectedMean, Outcome, PairedScores, Verdict, make_generator
from karat.stats import decide as test_drops

WORST = (Outcome.ERROR, Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.PASS)
"""The outcomes, the worst first. An error comes before a failure: what failed to run cannot be judged."""
_NO_TRIAL = "no trial on live traffic is named, as 'karat gate RUN --trial FEATURE' does"


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The decision of a gate on a run."""

    policy: Policy
    checks: tuple[Check, ...]
    candidate: Evaluation
    baseline: Evaluation | None = None

    @property
    def outcome(self) -> Outcome:
        """The worst of all checks: error, then fail, then inconclusive, then pass."""
        outcomes = {check.outcome for check in self.checks}
        return next((outcome for outcome in WORST if outcome in outcomes), Outcome.PASS)

    @property
    def exit_code(self) -> int:
        """0 for pass, 1 for fail, 3 for error, and for inconclusive 0 or 4, depending on the policy."""
        unsure = [check.kind for check in self.checks if check.outcome is Outcome.INCONCLUSIVE]
        codes = {
            Outcome.PASS: 0,
            Outcome.FAIL: 1,
            Outcome.ERROR: 3,
            Outcome.INCONCLUSIVE: 0 if all(map(self.policy.lets_pass, unsure)) else 4,
        }
        return codes[self.outcome]

    def __repr__(self) -> str:
        """Return the outcome in one line: both runs, on which it is based, would fill screens."""
        worst = sum(check.outcome is self.outcome for check in self.checks)
        label = f"{self.outcome} by policy {self.policy.name}, {worst} of {len(self.checks)} checks"
        return f"<Decision: {label}, exit code {self.exit_code}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the outcome, and every check with its numbers and its reason."""
        return show_table(
            f"{self.outcome.value} by policy {self.policy.name}, exit code {self.exit_code}",
            ["outcome", "what", "rule", "current", "baseline", "change", "why"],
            [[check.outcome.value, check.name, *check.describe(), check.reason] for check in self.checks],
        )

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that failed, or found that there can be no decision."""
        return tuple(check for check in self.checks if check.outcome in (Outcome.FAIL, Outcome.ERROR))


def decide(candidate: Evaluation, baseline: Evaluation | None, policy: Policy, *, seed: int = 0) -> Decision:
    """Return the decision on a run by the rules of a policy. A baseline that cannot be compared is an error.

    A measure that another judge scored in the baseline is not compared: rules on its change fail, and only these.

    The operational rules come first: with too many failed queries the outcome is error, whatever the scores are.
    Without a baseline, rules that need one are inconclusive. A rule on a number that the run does not have fails, and
    so does a run in which every query failed, whatever the rules are. A query without an answer counts as the worst
    value of every measure, and so does one that was refused although it has an answer; ``candidate`` of the decision
    has refusals left out, as the measures of answers define it.

    >>> from karat.core import Provenance, Scores
    >>> scores = Scores.from_columns("mine", {"RR": {"q1": 1.0, "q2": 0.5}})
    >>> run = Evaluation(provenance=Provenance(name="mine"), scores=scores, means=scores.mean(), queries=scores.queries)
    >>> decision = decide(run, None, Policy(rules=(Rule(metric="RR", min=0.8),)))
    >>> decision.outcome.value, decision.checks[0].reason
    ('fail', '0.7500 is below 0.8')
    """
    require_rules(policy)
    judges = {} if baseline is None else find_other_judges(candidate, baseline)
    if baseline is not None:
        require_comparable(candidate, baseline, apart_from=judges)
        baseline = withhold_scores(baseline, candidate, judges)
    raw, candidate = candidate, count_failures(candidate, baseline)
    corrections = {rule.name: correct_rule(candidate, baseline, rule) for rule in policy.rules}
    results = [
        *inspect_operations(candidate, baseline, policy.operations),
        *inspect_overlap(candidate, baseline, policy),
        *inspect_scored(candidate, policy),
    ]
    operations = [Check(**asdict(result)) for result in sorted(results, key=lambda result: KINDS.index(result.kind))]
    checks = [
        *_correct_limits(check_limits(candidate, baseline, policy, raw), policy, corrections),
        *_run_tests(count_refusals(candidate, baseline, whole=True), baseline, policy, seed, corrections),
    ]
    rules = {rule.name: rule for rule in policy.rules}
    why = dict.fromkeys(ELSEWHERE, _NO_TRIAL) | find_unjudged(candidate) | judges
    checks = [explain_missing(check, why.get(check.metric, "")) for check in checks]
    checks = [explain_untestable(check, rules.get(check.name), raw) for check in checks]
    checks = [hold_back(check, corrections.get(check.name), has_baseline=baseline is not None) for check in checks]
    checks = [note_silent(check, candidate, baseline, raw) for check in checks]
    checks = [_count_compared(check, candidate, baseline) for check in checks]
    checks = [note_scored(check, candidate) for check in checks]
    checks += [_check_query(candidate, must) for must in policy.must_pass]
    if not any(check.outcome is Outcome.ERROR for check in operations):
        checks += _check_empty(candidate)
    order = {rule.name: i for i, rule in enumerate(policy.rules)}
    checks.sort(key=lambda check: order.get(check.name, len(order)))
    return Decision(policy=policy, checks=(*operations, *checks), candidate=candidate, baseline=baseline)


def _count_compared(check: Check, candidate: Evaluation, baseline: Evaluation | None) -> Check:
    """Return a check that says how many queries it compares, if the run has more: the numbers are not those of all."""
    if baseline is None or check.difference is None or check.metric not in candidate.scores.measures:
        return check
    queries = None if check.where is None else candidate.segments[check.where]
    total = len(candidate.scores.present(check.metric, queries)[0])
    compared = len(pair_scores(candidate, baseline, check.metric, queries)) if check.n is None else check.n
    return replace(check, n=compared, total=total) if 0 < compared < total else check


def _check_empty(candidate: Evaluation) -> Iterator[Check]:
    """Fail a run without any answer, which might pass the rules of the policy."""
    if not candidate.queries and not candidate.means:
        yield Check(metric="coverage", kind="min", outcome=Outcome.FAIL, reason="no query was asked")
    elif candidate.queries and not candidate.coverage:
        reason = f"every query failed: {next(iter(candidate.failures.values()))}"
        yield Check(metric="coverage", kind="min", outcome=Outcome.FAIL, reason=reason, current=0.0)


Corrections = Mapping[str, Correction | None]
"""What people's labels say about each rule, by its name."""


def _correct_limits(checks: Iterable[Check], policy: Policy, corrections: Corrections) -> Iterator[Check]:
    rules = {rule.name: rule for rule in policy.rules}
    for check in checks:
        correction = corrections.get(check.name)
        yield check if correction is None else correct_limit(check, rules[check.name], correction)


def _run_tests(
    candidate: Evaluation, baseline: Evaluation | None, policy: Policy, seed: int, corrections: Corrections
) -> list[Check]:
    """Run the tests of all rules together, because they are corrected for each other.

    Differences that labels correct are tested by themselves. All tests share the level: of K tests, each of those gets
    a K-th, and the others together what is left.
    """
    checks: list[Check] = []
    tested: list[tuple[Rule, Pairs, str]] = []
    labelled: list[tuple[Rule, CorrectedMean, float]] = []
    for rule in policy.rules:
        kind = "non_inferior" if rule.non_inferior else "significant_drop"
        if not (rule.non_inferior or rule.significant_drop):
            continue
        queries = select_queries(rule, candidate.segments)
        now = read_number(candidate, rule, queries)
        pairs = None if baseline is None else pair_with_lost(candidate, baseline, rule.metric, queries)
        if math.isnan(now):
            checks.append(fail_missing(rule, kind, None))
        elif baseline is None or pairs is None:
            checks.append(defer(rule, kind, now, None))
        elif not len(pairs) and is_unasked(candidate, baseline, rule.metric, queries):
            checks.append(defer_new(rule, kind, now, None))
        elif not len(pairs):
            reason = f"the baseline has no such score: {RECORD}"
            if not baseline.has_queries:
                reason = "the baseline has no scores of single queries: record it again"
            checks.append(fail_missing(rule, kind, None, reason, now))
        elif (correction := corrections.get(rule.name)) is not None and correction.difference is not None:
            labelled.append((rule, correction.difference, correction.before))
        else:
            scored = len(baseline.scores.present(rule.metric, queries)[0])
            tested.append((rule, pairs, _note_lost(scored - len(pairs))))
    lost = frozenset() if baseline is None else find_lost(candidate, baseline)
    scores = _align_pairs([(rule, pairs) for rule, pairs, _ in tested], lost)
    total = len(tested) + len(labelled)
    drop = replace(policy.drop, alpha=policy.drop.alpha * len(tested) / total) if labelled and tested else policy.drop
    verdicts = test_drops(scores, rng=make_generator(seed, "gate"), rule=drop)
    checks += [decide_difference(rule, change, then, policy, total) for rule, change, then in labelled]
    for (rule, _, note), verdict in zip(tested, verdicts, strict=True):
        checks.append(_make_check(rule, verdict, note))
    return checks


def _align_pairs(tested: Sequence[tuple[Rule, Pairs]], lost: frozenset[str]) -> list[PairedScores]:
    """Return the scores of all rules over the same queries, with NaN where a rule has none, and which were lost."""
    lists = {id(pairs.queries): pairs.queries for _, pairs in tested}.values()  # measures mostly share one
    queries = dict.fromkeys(chain.from_iterable(lists))
    gone = np.array([query in lost for query in queries], bool) if lost else np.zeros(len(queries), bool)
    before = align_changes([(pairs.queries, pairs.before) for _, pairs in tested])
    after = align_changes([(pairs.queries, pairs.after) for _, pairs in tested])
    return [
        PairedScores(then, now, rule.lower_is_better, scale_of(rule.metric), gone)
        for (rule, _), then, now in zip(tested, before, after, strict=True)
    ]


def _note_lost(queries: int) -> str:
    return f"; {queries:,} that the baseline scored cannot be scored now" if queries else ""


def _make_check(rule: Rule, verdict: Verdict, note: str) -> Check:
    kind = "non_inferior" if rule.non_inferior else "significant_drop"
    result, outcome = verdict.evidence, verdict.outcome
    assert result is not None  # every rule here has pairs
    if kind == "significant_drop" and outcome is Outcome.INCONCLUSIVE and not _is_untested(verdict):
        # This rule only asks that no drop is shown; but a lost answer excuses none.
        outcome = Outcome.INCONCLUSIVE if result.lost and result.dropped else Outcome.PASS
    less = rule.lower_is_better
    return Check(
        metric=rule.metric, where=rule.where, kind=kind, outcome=outcome, reason=verdict.reason + note,
        current=result.candidate, baseline=result.baseline,
        difference=-result.difference if less else result.difference,
        low=None if less else result.low, high=-result.low if less and result.low is not None else None,
        limit=result.margin, p=verdict.adjusted, p_worse=result.p_worse, n=result.n,
        needed=result.needed if outcome is Outcome.INCONCLUSIVE else None,
    )  # fmt: skip


def _is_untested(verdict: Verdict) -> bool:
    """Return whether nothing could have been shown: a drop that no test can reach, or too few queries for any test."""
    result = verdict.evidence
    assert result is not None
    return not verdict.testable and (result.dropped or result.units < result.rule.least_changed)


def _check_query(candidate: Evaluation, must: Must) -> Check:
    """Return the check of a query that must pass. A query that the run did not ask is a mistake in the policy."""
    if must.query not in candidate.query_set:
        near = did_you_mean(must.query, candidate.query_set)
        raise InputError(
            f"must_pass names query {shorten(must.query)}, which was not asked{near}", source="[gate]",
            hint="correct the id, or evaluate all queries",
        )  # fmt: skip
    hits = 0.0 if must.query in candidate.unanswerable else None  # how many hits it may have
    if must.query in candidate.failures:
        return Check(
            metric=must.metric, query=must.query, kind="must_pass", outcome=Outcome.FAIL,
            reason=f"it failed: {candidate.failures[must.query]}", limit=must.min if must.metric else hits,
        )  # fmt: skip
    if not must.metric:
        passed = must.query not in candidate.unfound and must.query not in candidate.false_answers
        won, tries = candidate.successes.get(must.query, (int(passed), 1))
        passed = passed and won == tries
        reason = "something relevant was found" if won else "nothing relevant was found"
        if must.query in candidate.unanswerable:
            reason = f"it has no answer, and {'nothing was' if won else 'hits were'} returned"
        reason += f" in {won:,} of {tries:,} wordings and repeats" if 0 < won < tries else ""
        outcome = Outcome.PASS if passed else Outcome.FAIL
        return Check(metric="", query=must.query, kind="must_pass", outcome=outcome, reason=reason, limit=hits)
    rule = Rule(metric=must.metric, min=must.min)
    values = _list_values(candidate, must)
    check = check_number(rule, "min", min(values, default=math.nan), must.min)
    won = sum(value >= must.min for value in values)
    times = f"; {won:,} of {len(values):,} wordings and repeats reach it" if 0 < won < len(values) else ""
    return Check(
        metric=must.metric, query=must.query, kind="must_pass", outcome=check.outcome, reason=check.reason + times,
        current=check.current, limit=must.min,
    )  # fmt: skip


def _list_values(candidate: Evaluation, must: Must) -> list[float]:
    """Return the values of a query, one for each of its wordings and repeats if there are several."""
    tables = [table for table in candidate.variants.values() if must.metric in table.measures]
    if not tables:
        return list(candidate.values(must.metric, [must.query]).values())
    return [
        value
        for table in tables
        if must.query in table.rows
        and must.query not in table.not_in_run
        and (value := table.value(must.query, must.metric)) is not None
    ]
