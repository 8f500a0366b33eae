"""Means of few queries: a query for which the golden set has nothing relevant has no value of most measures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from karat.core import GoldenSet, Measure
from karat.evaluation import Evaluation, Segment
from karat.gate._check import Check
from karat.gate._operations import Operation
from karat.gate._policy import Policy
from karat.stats import Outcome

MOST = 0.5
"""The share of the answerable queries that a mean may leave out: one of fewer than half is not that of the system."""
_NO_RELEVANT = "no relevant documents"
_FIRST = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """How many answerable queries a mean is of, and those that it leaves out since nothing is relevant for them."""

    answerable: int
    left_out: tuple[str, ...]

    @property
    def queries(self) -> int:
        """How many queries the mean is of."""
        return self.answerable - len(self.left_out)

    @property
    def is_enough(self) -> bool:
        """Whether the mean is of half of the queries or more."""
        return len(self.left_out) <= MOST * self.answerable

    def __str__(self) -> str:
        """Return how many of how many it is, in words."""
        return f"{self.queries:,} of {self.answerable:,} answerable queries"


def count_scored(candidate: Evaluation, measure: str, where: Segment | None = None) -> Scored | None:
    """Return how many queries the mean of a measure is of; None if it leaves out none, or has no value.

    Queries that have no answer are not counted, and neither are those that lack a value for another reason. A value of
    1 that stands for a missing one counts as missing.
    """
    scores = candidate.scores
    if measure not in scores.columns or not candidate.unjudged:
        return None
    queries = candidate.queries if where is None else candidate.segments.get(where, ())
    answerable = [query for query in queries if query not in candidate.unanswerable]
    nothing = [query for query in answerable if query in candidate.unjudged]
    known = set(scores.present(measure, answerable)[0])
    if candidate.provenance.settings.get("undefined") == "one" and _needs_relevant(measure):
        known -= set(nothing)
    left_out = tuple(query for query in nothing if query not in known)
    return Scored(answerable=len(answerable), left_out=left_out) if left_out and known else None


def _needs_relevant(measure: str) -> bool:
    return Measure.parse(measure).definition.undefined == _NO_RELEVANT


def inspect_scored(candidate: Evaluation, policy: Policy) -> Iterator[Operation]:
    """Yield that a mean is of too few queries to pass, by the rule whose mean is of the fewest.

    No setting switches this off: whatever the other queries return, the number would not change.
    """
    few = [(str(scored), scored, measures) for scored, measures in _find_few(candidate, policy)]
    if not few:
        return
    _, scored, _ = min(few, key=lambda entry: entry[1].queries / entry[1].answerable)
    means = "; ".join(f"the mean of {', '.join(measures)} is of {words}" for words, _, measures in few)
    yield Operation(
        metric="unscored", kind="unscored", outcome=Outcome.INCONCLUSIVE,
        reason=f"{means}: for {_name(scored)} the golden set has nothing relevant",
        current=len(scored.left_out), limit=int(MOST * scored.answerable), n=scored.answerable,
    )  # fmt: skip


def _find_few(candidate: Evaluation, policy: Policy) -> Iterator[tuple[Scored, list[str]]]:
    """Yield the counts below the limit, with the names of the rules of each."""
    names: dict[Scored, list[str]] = {}
    for rule in policy.rules:
        scored = count_scored(candidate, rule.metric, rule.where) if rule.is_measure else None
        if scored is not None and not scored.is_enough:
            names.setdefault(scored, []).append(rule.name)
    yield from names.items()


def _name(scored: Scored) -> str:
    more = " ..." if len(scored.left_out) > _FIRST else ""
    return f"{len(scored.left_out):,} ({', '.join(scored.left_out[:_FIRST])}{more})"


def describe_scored(checks: Iterable[Check], golden: GoldenSet) -> Iterator[str]:
    """Yield a warning about means of too few queries, with what would change that."""
    advice = (
        f"grades are relevant from {golden.relevant} on; correct that (relevant in golden.toml, or in [golden] of "
        "karat.toml), judge more documents, or mark questions without an answer as such (answerable = false)"
    )
    yield from (f"WARNING: {check.reason}; {advice}" for check in checks if check.kind == "unscored")


def note_scored(check: Check, candidate: Evaluation) -> Check:
    """Return a check that says how many queries its mean is of, if the golden set has nothing relevant for others."""
    scored = None if check.query or check.current is None else count_scored(candidate, check.metric, check.where)
    return check if scored is None else replace(check, scored=scored.queries, answerable=scored.answerable)
