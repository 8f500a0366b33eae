"""Whether run and baseline have enough questions in common: rules that no setting switches off."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from karat.evaluation import Evaluation, Segment
from karat.gate._operations import ALLOWED, Operation, allow, count_of, name_first
from karat.gate._policy import Policy
from karat.stats import Outcome

LEAST_COMMON = 0.8
"""The share of the questions that run and baseline must have in common, so that one speaks for the other."""


def inspect_overlap(candidate: Evaluation, baseline: Evaluation | None, policy: Policy) -> Iterator[Operation]:
    """Yield what the golden set's changes leave to compare: in all, and in each segment that a rule is about."""
    if baseline is None or not baseline.has_queries:
        return
    yield from _inspect_new(candidate, baseline)
    for where in dict.fromkeys(rule.where for rule in policy.rules if rule.where is not None):
        yield from _inspect_moved(candidate, baseline, where)


def _inspect_new(candidate: Evaluation, baseline: Evaluation) -> Iterator[Operation]:
    """Yield that too many questions have no baseline. A few new ones are a caveat: golden sets grow."""
    known, total = set(baseline.queries), len(candidate.queries)
    new = [query for query in candidate.queries if query not in known]
    allowed = math.floor((1 - LEAST_COMMON) * total + 1e-9)
    if len(new) > allowed:
        yield Operation(
            metric="new", kind="new", outcome=Outcome.INCONCLUSIVE, current=len(new), limit=allowed, n=total,
            reason=f"{count_of(len(new), total, 'questions')} have no baseline, so that too few are compared: "
            f"{name_first(new)}",
        )  # fmt: skip


def _inspect_moved(candidate: Evaluation, baseline: Evaluation, where: Segment) -> Iterator[Operation]:
    """Yield what became of a segment: a question that fails must not pass by leaving it, or losing its judgments."""
    then: Sequence[str] = baseline.segments.get(where, ())
    unscored = set(baseline.revision.unscored if baseline.revision is not None else ())
    now = set(candidate.segments.get(where, ())) & set(baseline.queries) - unscored
    moved = [query for query in then if query not in now]
    allowed = allow(ALLOWED, len(then))
    if moved:
        name = f"{where[0]}={where[1]}"
        unjudged = "" if unscored.isdisjoint(moved) else ", or have no relevant document any more"
        yield Operation(
            metric="moved", kind="moved", where=where, current=len(moved), limit=allowed, n=len(then),
            outcome=Outcome.INCONCLUSIVE if len(moved) > allowed else Outcome.PASS,
            reason=f"{count_of(len(moved), len(then), 'questions')} that the baseline has in {name} are no longer in "
            f"it{unjudged}: {name_first(moved)}",
        )  # fmt: skip
