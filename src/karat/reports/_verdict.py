"""The verdict in words: every format says the same, from the terminal to the annotations of a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from karat.reports._words import clean, count, name_check
from karat.schema import CheckRow, DecisionDocument, Verdict

OPERATIONS = ("failed", "unasked", "empty", "slow")
"""The kinds of the operational checks, which come first."""
_TESTS = ("non_inferior", "significant_drop")
_NAMED = 6
_TIE = 1e-9


def name_policy(verdict: Verdict) -> str:
    """Return the name of the policy, with the one that it extends and what it changes there.

    >>> from karat.schema import Verdict
    >>> name_policy(Verdict(outcome="pass", exit_code=0, passed=True, policy="karat.toml", extends="fit",
    ...                     changes=("R@5: at least 0.7 (was: at least 0.8)",), on_inconclusive="pass", failures=()))
    'karat.toml (fit, but for R@5)'
    """
    name = clean(verdict.policy, 80)
    if not verdict.extends:
        return name
    changed = list(dict.fromkeys(clean(change.partition(": ")[0], 80) for change in verdict.changes or ()))
    more = f" and {len(changed) - _NAMED:,} more" if len(changed) > _NAMED else ""
    but = f", but for {', '.join(changed[:_NAMED])}{more}" if changed else ""
    return f"{name} ({clean(verdict.extends, 80)}{but})"


def name_outcome(document: DecisionDocument) -> str:
    """Return the outcome in capitals; an inconclusive one says what the policy makes of it."""
    verdict = document.verdict
    if verdict.outcome == "error":
        return "NO DECISION"
    if verdict.outcome != "inconclusive":
        return verdict.outcome.upper()
    effect = "passes" if verdict.passed else "fails"
    return f"INCONCLUSIVE, which {effect} by on_inconclusive = {verdict.on_inconclusive}"


def find_observed_drops(document: DecisionDocument) -> list[CheckRow]:
    """Return the checks that did not fail although the mean got worse by more than is tolerated."""
    lower = {measure.name for measure in document.measures if measure.lower_is_better}
    return [
        check
        for check in document.checks
        if check.outcome in ("pass", "inconclusive")
        and check.kind in _TESTS
        and check.difference is not None
        and check.limit is not None
        and (check.difference if check.metric in lower else -check.difference) > check.limit + _TIE
    ]


def describe_observed(document: DecisionDocument) -> str:
    """Return the drops beyond the tolerance that were observed without a failure; empty if there are none."""
    drops = [
        f"{name_check(check)} is worse by {abs(check.difference or 0):.3g}, and {check.limit:.3g} is tolerated"
        for check in find_observed_drops(document)
    ]
    more = f" and {len(drops) - _NAMED:,} more" if len(drops) > _NAMED else ""
    return f"observed, though it may be chance: {'; '.join(drops[:_NAMED])}{more}" if drops else ""


def explain_outcome(document: DecisionDocument) -> Iterator[str]:
    """Yield what the outcome means, one sentence after the other, without full stops; the first says it all."""
    outcome, checks = document.verdict.outcome, document.checks
    failed = sum(check.outcome == "fail" for check in checks)
    if outcome == "error":
        reasons = [clean(check.reason, 400) for check in checks if check.outcome == "error"]
        yield f"the run failed, and says nothing about quality: {'; '.join(reasons)}"
        yield "mend the system or the service, and run it again"
    elif outcome == "fail":
        yield f"{failed} of {count(len(checks), 'check')} failed"
    elif outcome == "inconclusive":
        yield from _explain_unknown(document)
    else:
        yield "it may ship"
    if outcome in ("pass", "fail") and (observed := describe_observed(document)):
        yield observed


def _explain_unknown(document: DecisionDocument) -> Iterator[str]:
    """Yield what is not known, what was observed, how large a drop could be, and what would decide."""
    unsure = [check for check in document.checks if check.outcome == "inconclusive"]
    names = _join(name_check(check) for check in unsure if check.kind not in OPERATIONS)
    if document.baseline is None and names:
        yield f"there is no baseline yet, so it is not known whether {names} got worse"
    elif names:
        yield f"it is not known whether {names} got worse by more than is tolerated"
    for check in unsure:
        if check.kind in OPERATIONS:
            yield clean(check.reason, 400)
    if observed := describe_observed(document):
        yield observed
    bounds = [
        f"{name_check(check)} {abs(bound):.3g}"
        for check in unsure
        if (bound := check.high if check.high is not None else check.low) is not None
    ]
    if bounds:
        yield f"it could be worse by as much as {_join(bounds)}"
    yield f"what would decide: {_describe_remedy(document, unsure)}"


def _describe_remedy(document: DecisionDocument, unsure: list[CheckRow]) -> str:
    if any(check.kind == "unasked" for check in unsure):
        return "a run that asks every question (karat eval)"
    if document.baseline is None:
        return "a baseline"
    needs = [(check.needed, name_check(check)) for check in unsure if check.needed]
    parts = [f"about {max(needs)[0]:,} queries (for {max(needs)[1]})" if needs else "more queries, or repeats"]
    lost = {mover.query for mover in document.movers}
    unjudged = sum(hit.grade is None for query in document.queries if query.id in lost for hit in query.hits[:10])
    if unjudged:
        parts.append(f"judging {count(unjudged, 'hit')} of the queries that changed (karat golden pool)")
    return ", or ".join(parts)


def describe_operations(document: DecisionDocument) -> str:
    """Return the results of the operational rules in one line; empty if a document has none."""
    return "; ".join(clean(check.reason, 300) for check in document.checks if check.kind in OPERATIONS)


def _join(names: Iterable[str]) -> str:
    every = list(dict.fromkeys(names))
    return ", ".join(every[:_NAMED]) + (f" and {len(every) - _NAMED:,} more" if len(every) > _NAMED else "")
