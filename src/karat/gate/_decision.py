"""The decision on a run: the outcome of every rule of a policy, with its reason, and the outcome of all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from karat.core import InputError, shorten
from karat.evaluation import Evaluation, Segment, Segments, require_comparable
from karat.gate._comparison import make_generator, pair_scores, scale_of, shared_queries
from karat.gate._operations import count_failures, inspect_operations
from karat.gate._policy import Must, Policy, Rule, require_rules
from karat.stats import Outcome, PairedScores, Verdict
from karat.stats import decide as test_drops

WORST = (Outcome.ERROR, Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.PASS)
"""The outcomes, the worst first. An error comes before a failure: what failed to run cannot be judged."""
_Pairs = dict[str, tuple[float, float]]
"""The scores of each query in the baseline and in the candidate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One requirement of a rule, and whether the run meets it."""

    metric: str
    kind: str
    """A limit or test of a rule (min, max, max_drop_abs, max_drop_rel, max_rise_abs, max_rise_rel, min_gain_abs,
    significant_drop, non_inferior), must_pass, or an operational rule (failed, empty, slow)."""
    outcome: Outcome
    reason: str
    where: Segment | None = None
    """The segment that it is about; None for all queries."""
    query: str = ""
    """The query that it is about, for ``must_pass``."""
    current: float | None = None
    baseline: float | None = None
    difference: float | None = None
    """The difference of the means over the queries that both runs have."""
    low: float | None = None
    """The one-sided lower confidence limit of the difference, at the policy's level, if higher is better."""
    high: float | None = None
    """The one-sided upper confidence limit of the difference, if lower is better."""
    limit: float | None = None
    """The limit of the current number, of the drop or of the rise."""
    p: float | None = None
    """The p-value of the one-sided test for a drop, corrected for all tests of the gate (Westfall and Young)."""
    p_worse: float | None = None
    """The p-value of the test that rules out a drop larger than tolerated, not corrected."""
    n: int | None = None
    needed: int | None = None
    """How many queries would decide, if these do not."""

    @property
    def name(self) -> str:
        """The metric and the queries that it is about."""
        if self.query:
            return f"{self.query} {self.metric}".rstrip()
        return self.metric if self.where is None else f"{self.metric} {self.where[0]}={self.where[1]}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data for JSON, without empty fields."""
        fields = asdict(self) | {"outcome": self.outcome.value, "where": self.where and dict([self.where])}
        return {key: value for key, value in fields.items() if value not in (None, "")}


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
        codes = {
            Outcome.PASS: 0,
            Outcome.FAIL: 1,
            Outcome.ERROR: 3,
            Outcome.INCONCLUSIVE: 0 if self.policy.on_inconclusive == "pass" else 4,
        }
        return codes[self.outcome]

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that failed, or found that there can be no decision."""
        return tuple(check for check in self.checks if check.outcome in (Outcome.FAIL, Outcome.ERROR))


def decide(candidate: Evaluation, baseline: Evaluation | None, policy: Policy, *, seed: int = 0) -> Decision:
    """Return the decision on a run by the rules of a policy. A baseline that cannot be compared is an error.

    The operational rules come first: with too many failed queries the outcome is error, whatever the scores are.
    Without a baseline, rules that need one are inconclusive. A rule on a number that the run does not have fails, and
    so does a run in which every query failed, whatever the rules are. A query without an answer counts as the worst
    value of every measure.

    >>> from karat.core import Provenance, Scores
    >>> scores = Scores.from_columns("mine", {"RR": {"q1": 1.0, "q2": 0.5}})
    >>> run = Evaluation(provenance=Provenance(name="mine"), scores=scores, means=scores.mean(), queries=scores.queries)
    >>> decision = decide(run, None, Policy(rules=(Rule(metric="RR", min=0.8),)))
    >>> decision.outcome.value, decision.checks[0].reason
    ('fail', '0.7500 is below 0.8')
    """
    require_rules(policy)
    if baseline is not None:
        require_comparable(candidate, baseline)
    candidate = count_failures(candidate)
    operations = [Check(**asdict(result)) for result in inspect_operations(candidate, baseline, policy.operations)]
    checks = [
        *_check_limits(candidate, baseline, policy),
        *_run_tests(candidate, baseline, policy, seed),
    ]
    checks += [_check_query(candidate, must) for must in policy.must_pass]
    if not any(check.outcome is Outcome.ERROR for check in operations):
        checks += _check_empty(candidate)
    order = {rule.name: i for i, rule in enumerate(policy.rules)}
    checks.sort(key=lambda check: order.get(check.name, len(order)))
    return Decision(policy=policy, checks=(*operations, *checks), candidate=candidate, baseline=baseline)


def _check_empty(candidate: Evaluation) -> Iterator[Check]:
    """Fail a run without any answer, which might pass the rules of the policy."""
    if not candidate.queries and not candidate.means:
        yield Check(metric="coverage", kind="min", outcome=Outcome.FAIL, reason="no query was asked")
    elif candidate.queries and not candidate.coverage:
        reason = f"every query failed: {next(iter(candidate.failures.values()))}"
        yield Check(metric="coverage", kind="min", outcome=Outcome.FAIL, reason=reason, current=0.0)


def _select_queries(rule: Rule, segments: Segments) -> Sequence[str] | None:
    if rule.where is None:
        return None
    if rule.where not in segments:
        values = sorted({value for name, value in segments if name == rule.where[0]})
        hint = f"it has {', '.join(map(shorten, values[:8]))}" if values else "no query has that field"
        raise InputError(f"no query has {rule.where[0]} = {shorten(rule.where[1])}", source="[gate]", hint=hint)
    return segments[rule.where]


def _read_number(
    evaluation: Evaluation,
    rule: Rule,
    queries: Sequence[str] | None = None,
    must_show: Mapping[str, Sequence[str]] | None = None,
) -> float:
    """Return the number that a rule is about; NaN if the run does not have it."""
    if rule.must_show is not None:
        wanted = must_show or evaluation.must_show
        wanted = wanted if queries is None else {query: wanted[query] for query in queries if query in wanted}
        return _measure_shown(evaluation.lists, wanted, rule.must_show)
    if rule.metric.startswith("latency."):
        return evaluation.latency_of(rule.metric.removeprefix("latency."))
    return evaluation.coverage if rule.metric == "coverage" else evaluation.mean(rule.metric, queries)


def _measure_shown(lists: Mapping[str, Sequence[str]], must_show: Mapping[str, Sequence[str]], k: int) -> float:
    """Return the share of the queries whose must-show documents are all in the first k; NaN if there are none."""
    shown = [
        set(documents) <= set(lists.get(query, ())[:k])
        for query, documents in must_show.items()
        if documents and query in lists
    ]
    return sum(shown) / len(shown) if shown else math.nan


def _check_limits(candidate: Evaluation, baseline: Evaluation | None, policy: Policy) -> Iterator[Check]:
    for rule in policy.rules:
        queries = _select_queries(rule, candidate.segments)
        now = _read_number(candidate, rule, queries)
        # Only questions that both were asked are compared; the floors are for all that the run was asked.
        shared = queries if baseline is None else shared_queries(candidate, baseline, queries)
        compared = now if shared is queries else _read_number(candidate, rule, shared)
        then = math.nan if baseline is None else _read_number(baseline, rule, shared, candidate.must_show)
        for kind in ("min", "max"):
            if (limit := getattr(rule, kind)) is not None:
                yield _check_number(rule, kind, now, limit)
        for kind in ("max_drop_abs", "max_drop_rel", "max_rise_abs", "max_rise_rel", "min_gain_abs"):
            if (limit := getattr(rule, kind)) is not None:
                if baseline is None and not math.isnan(now):
                    yield _defer(rule, kind, now, limit)
                else:
                    yield _check_change(rule, kind, compared, then, limit)


def _check_number(rule: Rule, kind: str, now: float, limit: float) -> Check:
    if math.isnan(now):
        return _fail_missing(rule, kind, limit)
    holds = now >= limit if kind == "min" else now <= limit
    sign = {("min", True): "at least", ("min", False): "below", ("max", True): "at most", ("max", False): "above"}
    return Check(
        metric=rule.metric, where=rule.where, kind=kind, current=now, limit=limit,
        outcome=Outcome.PASS if holds else Outcome.FAIL,
        reason=f"{_format(now)} is {sign[kind, holds]} {limit:g}",
    )  # fmt: skip


def _check_change(rule: Rule, kind: str, now: float, then: float, limit: float) -> Check:
    if math.isnan(now):
        return _fail_missing(rule, kind, limit)
    if math.isnan(then):
        return _fail_missing(rule, kind, limit, "the baseline has no number for it: record it again", now)
    if kind == "min_gain_abs":
        return _check_gain(rule, now, then, limit)
    verb, change = ("fell", then - now) if "drop" in kind else ("rose", now - then)
    allowed = limit if kind.endswith("abs") else limit * abs(then)
    holds = change <= allowed + 1e-9
    share = f" ({change / abs(then):.1%})" if then else ""
    text = f"{verb} by {_format(change)}{share}" if change > 0 else f"did not {'fall' if verb == 'fell' else 'rise'}"
    return Check(
        metric=rule.metric, where=rule.where, kind=kind, current=now, baseline=then, difference=now - then, limit=limit,
        outcome=Outcome.PASS if holds else Outcome.FAIL,
        reason=f"{text}, {'within' if holds else 'more than'} the {_format(allowed)} that is tolerated",
    )  # fmt: skip


def _check_gain(rule: Rule, now: float, then: float, limit: float) -> Check:
    gain = then - now if rule.lower_is_better else now - then
    holds = gain >= limit - 1e-9
    return Check(
        metric=rule.metric, where=rule.where, kind="min_gain_abs", current=now, baseline=then, difference=now - then,
        limit=limit, outcome=Outcome.PASS if holds else Outcome.FAIL,
        reason=f"{'better' if gain >= 0 else 'worse'} by {_format(abs(gain))}, "
        f"{'at least' if holds else 'and not better by'} {limit:g}",
    )  # fmt: skip


def _fail_missing(
    rule: Rule, kind: str, limit: float | None, reason: str = "the run has no number for it", now: float | None = None
) -> Check:
    """Return a failed check of a number that is missing in the run or in the baseline."""
    return Check(
        metric=rule.metric, where=rule.where, kind=kind, limit=limit, current=now, outcome=Outcome.FAIL,
        reason=f"{reason}, and what is not measured does not pass",
    )  # fmt: skip


def _defer(rule: Rule, kind: str, now: float, limit: float | None) -> Check:
    """Return an inconclusive check of a rule that needs a baseline while there is none."""
    return Check(
        metric=rule.metric, where=rule.where, kind=kind, current=now, limit=limit, outcome=Outcome.INCONCLUSIVE,
        reason="there is no baseline yet; karat baseline update RUN records one",
    )  # fmt: skip


def _run_tests(candidate: Evaluation, baseline: Evaluation | None, policy: Policy, seed: int) -> list[Check]:
    """Run the tests of all rules together, because they are corrected for each other."""
    checks: list[Check] = []
    tested: list[tuple[Rule, _Pairs, str]] = []
    for rule in policy.rules:
        kind = "non_inferior" if rule.non_inferior else "significant_drop"
        if not (rule.non_inferior or rule.significant_drop):
            continue
        queries = _select_queries(rule, candidate.segments)
        now = _read_number(candidate, rule, queries)
        pairs = _pair_queries(candidate, baseline, rule, queries) if baseline is not None else {}
        if math.isnan(now):
            checks.append(_fail_missing(rule, kind, None))
        elif baseline is None:
            checks.append(_defer(rule, kind, now, None))
        elif not pairs:
            reason = (
                "the baseline has no scores of single queries"
                if not baseline.has_queries
                else "the baseline has no score of it"
            )
            checks.append(_fail_missing(rule, kind, None, f"{reason}: record it again", now))
        else:
            tested.append((rule, pairs, _note_lost(len(baseline.values(rule.metric, queries)) - len(pairs))))
    scores = _align_pairs([(rule, pairs) for rule, pairs, _ in tested])
    verdicts = test_drops(scores, rng=make_generator(seed, "gate"), rule=policy.drop)
    for (rule, _, note), verdict in zip(tested, verdicts, strict=True):
        checks.append(_make_check(rule, verdict, note))
    return checks


def _align_pairs(tested: Sequence[tuple[Rule, _Pairs]]) -> list[PairedScores]:
    """Return the scores of all rules over the same queries, with NaN where a rule has none."""
    places = {query: i for i, query in enumerate(dict.fromkeys(query for _, pairs in tested for query in pairs))}
    scores = []
    for rule, pairs in tested:
        before, after = np.full((2, len(places)), math.nan)
        own = [places[query] for query in pairs]
        before[own], after[own] = np.array(list(pairs.values()), float).T
        scores.append(PairedScores(before, after, rule.lower_is_better, scale_of(rule.metric)))
    return scores


def _note_lost(queries: int) -> str:
    return f"; {queries:,} that the baseline scored cannot be scored now" if queries else ""


def _pair_queries(candidate: Evaluation, baseline: Evaluation, rule: Rule, queries: Sequence[str] | None) -> _Pairs:
    """Return the scores of each query before and now.

    A query that has a score in the baseline, was asked and has none now counts as 0, unless lower is better.
    """
    pairs = pair_scores(candidate, baseline, rule.metric, queries)
    if rule.lower_is_better:  # 0 would be a reward
        return pairs
    asked = frozenset(candidate.queries)
    return {
        query: pairs.get(query, (before, 0.0))
        for query, before in baseline.values(rule.metric, queries).items()
        if query in pairs or query in asked
    }


def _make_check(rule: Rule, verdict: Verdict, note: str) -> Check:
    kind = "non_inferior" if rule.non_inferior else "significant_drop"
    result, outcome = verdict.evidence, verdict.outcome
    assert result is not None  # every rule here has pairs
    if kind == "significant_drop" and outcome is Outcome.INCONCLUSIVE and not _is_untested(verdict):
        outcome = Outcome.PASS  # this rule only asks that no drop is shown
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
    if must.query not in candidate.queries:
        raise InputError(
            f"must_pass names query {shorten(must.query)}, which was not asked", source="[gate]",
            hint="correct the id, or evaluate all queries",
        )  # fmt: skip
    if must.query in candidate.failures:
        return Check(
            metric=must.metric, query=must.query, kind="must_pass", outcome=Outcome.FAIL,
            reason=f"it failed: {candidate.failures[must.query]}", limit=must.min if must.metric else None,
        )  # fmt: skip
    if not must.metric:
        passed = must.query not in candidate.unfound | candidate.false_answers | candidate.failures.keys()
        reason = "something relevant was found" if passed else "nothing relevant was found"
        if must.query in candidate.unanswerable:
            reason = f"it has no answer, and {'nothing was' if passed else 'hits were'} returned"
        outcome = Outcome.PASS if passed else Outcome.FAIL
        return Check(metric="", query=must.query, kind="must_pass", outcome=outcome, reason=reason)
    rule = Rule(metric=must.metric, min=must.min)
    now = candidate.values(must.metric, [must.query]).get(must.query, math.nan)
    check = _check_number(rule, "min", now, must.min)
    return Check(
        metric=must.metric, query=must.query, kind="must_pass", outcome=check.outcome, reason=check.reason,
        current=check.current, limit=must.min,
    )  # fmt: skip


def _format(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 10 else f"{value:,.1f}" if abs(value) < 1e7 else f"{value:.3g}"
