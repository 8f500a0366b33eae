"""Which queries made the difference, and what moved in their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from karat.evaluation import Evaluation
from karat.gate._comparison import differences, lower_is_better
from karat.stats import order_differences

TIE = 1e-9
KEPT = 10
"""So many documents of each query are in a baseline file, and compared with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mover:
    """A query whose score changed."""

    query: str
    measure: str
    baseline: float
    candidate: float

    @property
    def gain(self) -> float:
        """How much better it became; negative when worse, whichever way the measure points."""
        change = self.candidate - self.baseline
        return -change if lower_is_better(self.measure) else change


def movers(candidate: Evaluation, baseline: Evaluation, measures: Sequence[str]) -> list[Mover]:
    """Give the queries that changed, by the measure on which each changed most, the greatest losses first."""
    found: dict[str, Mover] = {}
    for measure in measures:
        for query, (before, after) in differences(candidate, baseline, measure).items():
            one = Mover(query=query, measure=measure, baseline=before, candidate=after)
            if abs(one.gain) > TIE and (query not in found or abs(one.gain) > abs(found[query].gain)):
                found[query] = one
    return sorted(found.values(), key=lambda one: (one.gain, one.query))


def moved(candidate: Sequence[str], baseline: Sequence[str]) -> tuple[str, ...]:
    """Describe what became of the first documents of a query, the highest places first.

    >>> moved(("wifi", "gym", "pool"), ("pool", "wifi", "spa"))
    ('wifi 2 to 1', 'pool 1 to 3', 'gym in at 2', 'spa out, was 3')
    """
    changes = order_differences(baseline[:KEPT], candidate[:KEPT])
    words = {"up": "{id} {before} to {after}", "down": "{id} {before} to {after}",
             "entered": "{id} in at {after}", "left": "{id} out, was {before}"}  # fmt: skip
    return tuple(
        words[one.direction].format(id=one.id, before=one.before, after=one.after)
        for one in sorted(changes, key=lambda one: min(one.before or 99, one.after or 99))
    )
