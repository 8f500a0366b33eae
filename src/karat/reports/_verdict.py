"""The verdict in words: every format says the same, from the terminal to the annotations of a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from karat.core import Measure, MeasureError
from karat.reports._words import clean, describe_aim, name_check
from karat.schema import CheckRow, DecisionDocument, Verdict

OPERATIONS = ("attempt", "failed", "unscored", "unasked", "removed", "new", "moved", "empty", "texts", "slow")
"""The kinds of the operational checks, which come first."""
CHANGED_QUESTIONS = ("unasked", "removed", "new", "moved")
"""Those that are about which questions are compared: they may fail a run whatever on_inconclusive is."""
_REMEDIES = {
    "unscored": "something relevant for most of the questions: judgments, or the grade from which on they count",
    "unasked": "a run that asks every question (karat eval)",
    "removed": "the questions and judgments again, or a reviewed 'karat baseline rebase', which shows what goes",
    "new": "a baseline with most of the questions ('karat baseline rebase --from RUN', or 'karat baseline update')",
    "moved": "the questions in their segment again, or 'karat baseline update --force' with the segments of today",
    "empty": "a baseline that has these questions ('karat baseline rebase --from RUN', or 'karat baseline update')",
}
"""What would decide an operational rule, by its kind."""
_TESTS = ("non_inferior", "significant_drop")
_FLOORS = ("min", "max")
_NAMED = 6
_DEPTH = 10
_TIE = 1e-9


def name_policy(verdict: Verdict) -> str:
    """Return the name of the policy, with the one that it extends and what it changes there.

    >>> from karat.schema import Verdict
    >>> name_policy(Verdict(outcome="pass", exit_code=0, passed=True, policy="karat.toml", extends="fit",
    ...                     changes=("R@5: at least 0.7 (was: at least 0.8)",), on_inconclusive="pass", failures=()))
    'karat.toml (fit, except R@5)'
    """
    name = clean(verdict.policy, 80)
    if not verdict.extends:
        return name
    changed = list(dict.fromkeys(clean(change.partition(": ")[0], 80) for change in verdict.changes or ()))
    more = f" and {len(changed) - _NAMED:,} more" if len(changed) > _NAMED else ""
    changes = f", except {', '.join(changed[:_NAMED])}{more}" if changed else ""
    return f"{name} ({clean(verdict.extends, 80)}{changes})"


def name_outcome(document: DecisionDocument) -> str:
    """Return the outcome in capitals; an inconclusive one says what the policy makes of it."""
    verdict = document.verdict
    if verdict.outcome == "error":
        return "NO DECISION"
    if verdict.outcome != "inconclusive":
        return verdict.outcome.upper()
    if not verdict.passed and verdict.on_inconclusive == "pass":
        return "INCONCLUSIVE, which fails here (on_changed_questions = fail)"
    effect = "passes" if verdict.passed else "fails"
    return f"INCONCLUSIVE, which {effect} here (on_inconclusive = {verdict.on_inconclusive})"


def lets_pass(document: DecisionDocument, check: CheckRow) -> bool:
    """Return whether the policy lets an inconclusive check pass."""
    changed = check.kind in CHANGED_QUESTIONS and not document.verdict.passed
    return document.verdict.on_inconclusive == "pass" and not changed


def find_observed_drops(document: DecisionDocument) -> list[CheckRow]:
    """Return the checks that did not fail although the mean got worse by more than is tolerated."""
    lower = {measure.name for measure in document.measures if measure.lower_is_better}
    return [check for check in document.checks if is_observed_drop(check, lower_is_better=check.metric in lower)]


def is_observed_drop(check: CheckRow, *, lower_is_better: bool) -> bool:
    """Return whether a check did not fail although the mean got worse by more than is tolerated."""
    if check.outcome not in ("pass", "inconclusive") or check.kind not in _TESTS:
        return False
    if check.difference is None or check.limit is None:
        return False
    return (check.difference if lower_is_better else -check.difference) > check.limit + _TIE


def describe_observed(document: DecisionDocument) -> str:
    """Return the drops beyond the tolerance that were observed without a failure; empty if there are none."""
    drops = [
        f"{name_check(check)} is worse by {abs(check.difference or 0):.3g}, and {check.limit:.3g} is tolerated"
        for check in find_observed_drops(document)
    ]
    more = f" and {len(drops) - _NAMED:,} more" if len(drops) > _NAMED else ""
    return f"observed, though it may be chance: {'; '.join(drops[:_NAMED])}{more}" if drops else ""


def may_be_intended(document: DecisionDocument) -> bool:
    """Return whether a failed run may be what people want: it is worse than the baseline, and no gain is asked for."""
    against = any(check.outcome == "fail" and check.baseline is not None for check in document.checks)
    return document.verdict.outcome == "fail" and against and all(c.kind != "min_gain_abs" for c in document.checks)


def explain_outcome(document: DecisionDocument, failed: str = "") -> Iterator[str]:
    """Yield what the outcome means, one sentence after the other, without full stops; the first says it all.

    ``failed`` are the names of the checks that failed, if the sentence that counts them should have them.
    """
    outcome, checks = document.verdict.outcome, document.checks
    if outcome == "error":
        reasons = [clean(check.reason, 400) for check in checks if check.outcome == "error" and check.kind != "attempt"]
        if any(check.kind == "attempt" for check in checks):
            yield "a newer attempt failed, and this run is older"
        if reasons:
            yield f"the run failed, and says nothing about quality: {'; '.join(reasons)}"
        yield "fix the system or the service, and run it again"
    elif outcome == "fail":
        yield _count_failed(checks, failed)
    elif outcome == "inconclusive":
        yield from _explain_unknown(document)
    else:
        yield "it may ship"
    if outcome in ("pass", "fail") and (observed := describe_observed(document)):
        yield observed


def _count_failed(checks: Sequence[CheckRow], names: str = "") -> str:
    """Return how many checks failed, and how many are inconclusive: not all others passed.

    >>> from karat.schema import CheckRow
    >>> outcomes = ("fail", "inconclusive", "pass")
    >>> checks = [CheckRow(metric="R@5", kind="min", outcome=outcome, reason="") for outcome in outcomes]
    >>> _count_failed(checks), _count_failed(checks[:1], "R@5")
    ('1 of 3 checks failed, 1 inconclusive', 'the only check failed: R@5')
    """
    failed, unsure = (sum(check.outcome == outcome for check in checks) for outcome in ("fail", "inconclusive"))
    words = "the only check failed" if len(checks) == 1 else f"{failed:,} of {len(checks):,} checks failed"
    if names:
        return f"{words}: {names}" + (f"; {unsure:,} inconclusive" if unsure else "")
    return words + (f", {unsure:,} inconclusive" if unsure else "")


def _explain_unknown(document: DecisionDocument) -> Iterator[str]:
    """Yield what is not known, what was observed, how large a drop could be, and what would decide."""
    unsure = [check for check in document.checks if check.outcome == "inconclusive"]
    for check in unsure:
        if check.kind in CHANGED_QUESTIONS and (reason := clean(check.reason, 400)):
            yield reason
    names = _join(name_check(check) for check in unsure if check.kind not in (*OPERATIONS, *_FLOORS))
    if floors := _join(name_check(check) for check in unsure if check.kind in _FLOORS):
        yield f"it is not known whether {floors} would keep the limit if all labels and judgments were there"
    if document.baseline is None and names:
        yield f"there is no baseline yet, so it is not known whether {names} got worse"
    elif names:
        yield f"it is not known whether {names} got worse by more than is tolerated"
    for check in unsure:
        if check.kind in OPERATIONS and check.kind not in CHANGED_QUESTIONS and (reason := clean(check.reason, 400)):
            yield reason
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
    """Return what each of the unknowns needs: all of it is needed."""
    remedies = [_REMEDIES[check.kind] for check in unsure if check.kind in CHANGED_QUESTIONS]
    floors = ["labels or judgments, as the checks say"] if any(check.kind in _FLOORS for check in unsure) else []
    floors += [_REMEDIES[check.kind] for check in unsure if check.kind == "unscored"]
    tested = [check for check in unsure if check.kind not in (*OPERATIONS, *_FLOORS)]
    if document.baseline is None:
        return "; ".join([*remedies, *floors, *(["a baseline"] if tested and not remedies else [])]) or "a baseline"
    remedies += [*(_REMEDIES[check.kind] for check in unsure if check.kind == "empty"), *floors]
    unasked = [check for check in tested if check.current is not None and check.baseline is None]
    if unasked:
        remedies.append(_REMEDIES["empty"])
        tested = [check for check in tested if check not in unasked]
    return "; ".join([*remedies, *([_describe_evidence(document, tested)] if tested else [])])


def _describe_evidence(document: DecisionDocument, unsure: list[CheckRow]) -> str:
    """Return how many queries would decide the tests, or what else might."""
    parts = ["more queries, or repeats"]
    if most := max((check for check in unsure if check.needed), key=lambda check: check.needed or 0, default=None):
        parts = [f"about {most.needed:,} queries (to {describe_aim(most, name_check(most))})"]
    lost = {mover.query for mover in document.movers}
    # A hit of an unanswerable query cannot be judged relevant, so judging it decides nothing.
    queries = [query for query in document.queries if query.id in lost and not query.unanswerable]
    if any(hit.grade is None for query in queries for hit in query.hits[:_DEPTH]):
        depth = max((_find_depth(check.metric) for check in unsure), default=0) or _DEPTH
        listed = f"'karat golden pool RUN BASELINE --depth {depth}' lists"
        parts.append(f"perhaps judgments of what both returned ({listed} what nobody has judged)")
    return ", or ".join(parts)


def _find_depth(measure: str) -> int:
    """Return the cut-off of a measure as whole ranks; 0 without one."""
    try:
        cutoff = Measure.parse(measure).cutoff
    except MeasureError:  # of a package that is not installed here
        return 0
    return cutoff if isinstance(cutoff, int) else 0


def describe_operations(document: DecisionDocument) -> str:
    """Return the results of the operational rules in one line; empty if a document has none."""
    checks = (check for check in document.checks if check.kind in OPERATIONS and check.kind != "attempt")
    return "; ".join(clean(check.reason, 300) for check in checks)  # a failed attempt is no number of this run


def _join(names: Iterable[str]) -> str:
    every = list(dict.fromkeys(names))
    return ", ".join(every[:_NAMED]) + (f" and {len(every) - _NAMED:,} more" if len(every) > _NAMED else "")
