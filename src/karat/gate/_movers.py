"""The queries whose scores changed, and how their results moved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from karat.evaluation import Evaluation
from karat.gate._comparison import Pairs, lower_is_better, pair_scores
from karat.stats.ranks import order_differences

TIE = 1e-9
KEPT = 10
"""How many documents of each query a baseline file has, and are compared with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mover:
    """A query whose score changed."""

    query: str
    measure: str
    baseline: float
    candidate: float
    gain: float
    """How much better it became; negative if it became worse, also for a measure where lower is better."""


def find_movers(candidate: Evaluation, baseline: Evaluation, measures: Sequence[str]) -> list[Mover]:
    """Return the queries that changed, each on the measure on which it changed most, the greatest losses first."""
    movers: dict[str, Mover] = {}
    for measure in measures:
        sign = -1.0 if lower_is_better(measure) else 1.0
        for query, before, after in _select_moved(pair_scores(candidate, baseline, measure)):
            gain = sign * (after - before)
            if query not in movers or abs(gain) > abs(movers[query].gain):
                movers[query] = Mover(query=query, measure=measure, baseline=before, candidate=after, gain=gain)
    return sorted(movers.values(), key=lambda mover: (mover.gain, mover.query))


def _select_moved(pairs: Pairs) -> Iterable[tuple[str, float, float]]:
    return compress(pairs, (np.abs(pairs.after - pairs.before) > TIE).tolist())


def describe_moves(candidate: Sequence[str], baseline: Sequence[str]) -> tuple[str, ...]:
    """Return a description of each change among the first documents of a query, the highest ranks first.

    >>> describe_moves(("wifi", "gym", "pool"), ("pool", "wifi", "spa"))
    ('wifi 2 to 1', 'pool 1 to 3', 'gym in at 2', 'spa out, was 3')
    """
    changes = order_differences(baseline[:KEPT], candidate[:KEPT])
    texts = {"up": "{id} {before} to {after}", "down": "{id} {before} to {after}",
             "entered": "{id} in at {after}", "left": "{id} out, was {before}"}  # fmt: skip
    return tuple(
        texts[change.direction].format(id=change.id, before=change.before, after=change.after)
        for change in sorted(changes, key=lambda change: min(change.before or 99, change.after or 99))
    )
