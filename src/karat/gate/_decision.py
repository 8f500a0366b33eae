"""The decision: every rule of a policy checked, with its reason, and what follows from all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from karat.core import InputError, shorten
from karat.evaluation import Evaluation, Segment, Segments, require_comparable
from karat.gate._comparison import differences, generator
from karat.gate._policy import Must, Policy, Rule, check_asks
from karat.stats import Evidence, Outcome, evidence, verdicts

_WORST = (Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.PASS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that a rule asks for, and whether it holds."""

    metric: str
    kind: str
    """min, max, max_drop_abs, max_drop_rel, max_rise_abs, max_rise_rel, significant_drop, non_inferior, must_pass."""
    outcome: Outcome
    reason: str
    where: Segment | None = None
    query: str = ""
    current: float | None = None
    baseline: float | None = None
    difference: float | None = None
    """Of the means over the queries that both runs have."""
    low: float | None = None
    """How far the difference may go down, at the policy's level, one-sided; where more is better."""
    high: float | None = None
    """How far it may go up, where less is better."""
    limit: float | None = None
    """What the current number, the fall or the rise is held against."""
    p: float | None = None
    """Of the one-sided test for a fall, corrected for all that the gate tests."""
    p_worse: float | None = None
    """Of the test that rules a larger fall out, not corrected."""
    n: int | None = None
    needed: int | None = None
    """How many queries would decide, where these do not."""

    @property
    def name(self) -> str:
        """The number and the queries that it is about."""
        if self.query:
            return f"{self.query} {self.metric}".rstrip()
        return self.metric if self.where is None else f"{self.metric} {self.where[0]}={self.where[1]}"

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON has it."""
        found = asdict(self) | {"outcome": self.outcome.value, "where": self.where and dict([self.where])}
        return {key: value for key, value in found.items() if value not in (None, "")}


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What a gate says of a run."""

    policy: Policy
    checks: tuple[Check, ...]
    candidate: Evaluation
    baseline: Evaluation | None = None

    @property
    def outcome(self) -> Outcome:
        """The worst of all checks: fail, then inconclusive, then pass."""
        return next(one for one in _WORST if one is Outcome.PASS or any(check.outcome is one for check in self.checks))

    @property
    def exit_code(self) -> int:
        """0 for pass, 1 for fail; inconclusive is 0 or 4, as the policy says."""
        codes = {
            Outcome.PASS: 0,
            Outcome.FAIL: 1,
            Outcome.INCONCLUSIVE: 0 if self.policy.on_inconclusive == "pass" else 4,
        }
        return codes[self.outcome]

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.outcome is Outcome.FAIL)


def decide(candidate: Evaluation, baseline: Evaluation | None, policy: Policy, *, seed: int = 0) -> Decision:
    """Check every rule of a policy; refuse a baseline whose numbers do not mean the same.

    Without a baseline what needs one is inconclusive. A number that is missing fails, by name; so does a run in which
    every query failed, whatever the rules are.
    """
    check_asks(policy)
    if baseline is not None:
        require_comparable(candidate, baseline)
    found = [
        *_limits(candidate, baseline, policy),
        *_tests(candidate, baseline, policy, seed),
    ]
    found += [_must(candidate, one) for one in policy.must_pass]
    found += _nothing(candidate)
    order = {rule.name: i for i, rule in enumerate(policy.rules)}
    found.sort(key=lambda check: order.get(check.name, len(order)))
    return Decision(policy=policy, checks=tuple(found), candidate=candidate, baseline=baseline)


def _nothing(candidate: Evaluation) -> Iterator[Check]:
    if not candidate.queries and not candidate.means:
        yield Check(metric="coverage", kind="min", outcome=Outcome.FAIL, reason="no query was asked")
    elif candidate.queries and not candidate.coverage:
        why = f"every query failed: {next(iter(candidate.failures.values()))}"
        yield Check(metric="coverage", kind="min", outcome=Outcome.FAIL, reason=why, current=0.0)


def _queries(rule: Rule, segments: Segments) -> Sequence[str] | None:
    if rule.where is None:
        return None
    if rule.where not in segments:
        known = sorted({value for name, value in segments if name == rule.where[0]})
        hint = f"it has {', '.join(map(shorten, known[:8]))}" if known else "no query has that field"
        raise InputError(f"no query has {rule.where[0]} = {shorten(rule.where[1])}", source="[gate]", hint=hint)
    return segments[rule.where]


def number(evaluation: Evaluation, rule: Rule, queries: Sequence[str] | None = None) -> float:
    """Give the number that a rule is about; NaN where the run does not have it."""
    if rule.metric.startswith("latency."):
        return evaluation.latency_of(rule.metric.removeprefix("latency."))
    return evaluation.coverage if rule.metric == "coverage" else evaluation.mean(rule.metric, queries)


def _limits(candidate: Evaluation, baseline: Evaluation | None, policy: Policy) -> Iterator[Check]:
    for rule in policy.rules:
        queries = _queries(rule, candidate.segments)
        now = number(candidate, rule, queries)
        then = math.nan if baseline is None else number(baseline, rule, queries)
        for kind in ("min", "max"):
            if (limit := getattr(rule, kind)) is not None:
                yield _absolute(rule, kind, now, limit)
        for kind in ("max_drop_abs", "max_drop_rel", "max_rise_abs", "max_rise_rel"):
            if (limit := getattr(rule, kind)) is not None:
                yield _relative(rule, kind, now, then, limit, known=baseline is not None)


def _absolute(rule: Rule, kind: str, now: float, limit: float) -> Check:
    if math.isnan(now):
        return _missing(rule, kind, limit)
    holds = now >= limit if kind == "min" else now <= limit
    sign = {("min", True): "at least", ("min", False): "below", ("max", True): "at most", ("max", False): "above"}
    return Check(
        metric=rule.metric, where=rule.where, kind=kind, current=now, limit=limit,
        outcome=Outcome.PASS if holds else Outcome.FAIL,
        reason=f"{_shown(now)} is {sign[kind, holds]} {limit:g}",
    )  # fmt: skip


def _relative(rule: Rule, kind: str, now: float, then: float, limit: float, *, known: bool) -> Check:
    if math.isnan(now):
        return _missing(rule, kind, limit)
    if not known:
        return _without_baseline(rule, kind, now, limit)
    if math.isnan(then):
        return _missing(rule, kind, limit, "the baseline has no number for it: record it again", now)
    word, change = ("fell", then - now) if "drop" in kind else ("rose", now - then)
    allowed = limit if kind.endswith("abs") else limit * abs(then)
    holds = change <= allowed + 1e-9
    share = f" ({change / abs(then):.1%})" if then else ""
    moved = f"{word} by {_shown(change)}{share}" if change > 0 else f"did not {'fall' if word == 'fell' else 'rise'}"
    return Check(
        metric=rule.metric, where=rule.where, kind=kind, current=now, baseline=then, difference=now - then, limit=limit,
        outcome=Outcome.PASS if holds else Outcome.FAIL,
        reason=f"{moved}, {'within' if holds else 'more than'} the {_shown(allowed)} that is tolerated",
    )  # fmt: skip


def _missing(
    rule: Rule, kind: str, limit: float | None, why: str = "the run has no number for it", now: float | None = None
) -> Check:
    return Check(
        metric=rule.metric, where=rule.where, kind=kind, limit=limit, current=now, outcome=Outcome.FAIL,
        reason=f"{why}, and what is not measured does not pass",
    )  # fmt: skip


def _without_baseline(rule: Rule, kind: str, now: float, limit: float | None) -> Check:
    return Check(
        metric=rule.metric, where=rule.where, kind=kind, current=now, limit=limit, outcome=Outcome.INCONCLUSIVE,
        reason="there is no baseline yet; karat baseline update RUN records one",
    )  # fmt: skip


def _tests(candidate: Evaluation, baseline: Evaluation | None, policy: Policy, seed: int) -> list[Check]:
    """Test all rules that ask for it together, because Holm's correction is over all of them."""
    checks: list[Check] = []
    tested: list[tuple[Rule, Evidence, str]] = []
    for rule in policy.rules:
        kind = "non_inferior" if rule.non_inferior else "significant_drop"
        if not (rule.non_inferior or rule.significant_drop):
            continue
        queries = _queries(rule, candidate.segments)
        now = number(candidate, rule, queries)
        pairs = _pairs(candidate, baseline, rule, queries) if baseline is not None else {}
        if math.isnan(now):
            checks.append(_missing(rule, kind, None))
        elif baseline is None:
            checks.append(_without_baseline(rule, kind, now, None))
        elif not pairs:
            why = (
                "the baseline has no scores of single queries"
                if not baseline.has_queries
                else "the baseline has no score of it"
            )
            checks.append(_missing(rule, kind, None, f"{why}: record it again", now))
        else:
            then, after = np.array(list(pairs.values()), float).T
            rng = generator(seed, rule.metric, rule.where)
            found = evidence(then, after, rng=rng, rule=policy.drop, lower_is_better=rule.lower_is_better)
            tested.append((rule, found, _lost(len(baseline.values(rule.metric, queries)) - len(pairs))))
    if tested:
        for (rule, found, lost), verdict in zip(tested, verdicts([one for _, one, _ in tested]), strict=True):
            checks.append(_tested(rule, found, verdict.outcome, verdict.reason + lost, verdict.adjusted))
    return checks


def _lost(queries: int) -> str:
    return f"; {queries:,} that the baseline scored cannot be scored now" if queries else ""


def _pairs(
    candidate: Evaluation, baseline: Evaluation, rule: Rule, queries: Sequence[str] | None
) -> dict[str, tuple[float, float]]:
    """Give the scores before and now; 0 for a query that had one and failed, or came back with nothing to score."""
    found = differences(candidate, baseline, rule.metric, queries)
    if rule.lower_is_better:  # there 0 would be a reward
        return found
    asked = frozenset(candidate.queries)
    return {
        query: found.get(query, (before, 0.0))
        for query, before in baseline.values(rule.metric, queries).items()
        if query in found or query in asked
    }


def _tested(rule: Rule, found: Evidence, outcome: Outcome, reason: str, p: float | None) -> Check:
    kind = "non_inferior" if rule.non_inferior else "significant_drop"
    if kind == "significant_drop" and outcome is Outcome.INCONCLUSIVE:
        outcome = Outcome.PASS  # this rule asks only that no fall is shown
    less = rule.lower_is_better
    return Check(
        metric=rule.metric, where=rule.where, kind=kind, outcome=outcome, reason=reason,
        current=found.candidate, baseline=found.baseline, difference=-found.difference if less else found.difference,
        low=None if less else found.low, high=-found.low if less and found.low is not None else None,
        limit=found.margin, p=p, p_worse=found.p_worse, n=found.n,
        needed=found.needed if outcome is Outcome.INCONCLUSIVE and not found.dropped else None,
    )  # fmt: skip


def _must(candidate: Evaluation, must: Must) -> Check:
    """Check one query by itself; one that the run does not hold is a mistake in the policy."""
    if must.query not in candidate.queries:
        raise InputError(
            f"must_pass names query {shorten(must.query)}, which was not asked", source="[gate]",
            hint="correct the id, or evaluate all queries",
        )  # fmt: skip
    if not must.metric:
        held = must.query not in candidate.unfound
        reason = "something relevant was found" if held else "nothing relevant was found"
        if must.query in candidate.failures:
            reason = f"it failed: {candidate.failures[must.query]}"
        return Check(
            metric="", query=must.query, kind="must_pass", outcome=Outcome.PASS if held else Outcome.FAIL, reason=reason
        )
    rule = Rule(metric=must.metric, min=must.min)
    now = candidate.values(must.metric, [must.query]).get(must.query, math.nan)
    found = _absolute(rule, "min", now, must.min)
    return Check(
        metric=must.metric, query=must.query, kind="must_pass", outcome=found.outcome, reason=found.reason,
        current=found.current, limit=must.min,
    )  # fmt: skip


def _shown(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 10 else f"{value:,.1f}" if abs(value) < 1e7 else f"{value:.3g}"
