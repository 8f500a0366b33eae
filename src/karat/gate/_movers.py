"""The queries whose scores changed, and how their results moved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from karat.evaluation import Evaluation
from karat.gate._pairing import Pairs, lower_is_better, pair_scores

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
    moved: dict[str, tuple[float, str, str, float, float]] = {}  # an object for each change would take longer
    for measure in measures:
        sign = -1.0 if lower_is_better(measure) else 1.0
        for query, before, after in _select_moved(pair_scores(candidate, baseline, measure)):
            gain = sign * (after - before)
            if query not in moved or abs(gain) > abs(moved[query][0]):
                moved[query] = gain, query, measure, before, after
    return [
        Mover(query=query, measure=measure, baseline=before, candidate=after, gain=gain)
        for gain, query, measure, before, after in sorted(moved.values())  # each query is there once
    ]


def _select_moved(pairs: Pairs) -> Iterable[tuple[str, float, float]]:
    moved = np.flatnonzero(np.abs(pairs.after - pairs.before) > TIE)
    queries = [pairs.queries[place] for place in moved.tolist()]
    return zip(queries, pairs.before[moved].tolist(), pairs.after[moved].tolist(), strict=True)


def describe_moves(candidate: Sequence[str], baseline: Sequence[str]) -> tuple[str, ...]:
    """Return a description of each change among the first documents of a query, the highest ranks first.

    >>> describe_moves(("wifi", "gym", "pool"), ("pool", "wifi", "spa"))
    ('wifi 2 to 1', 'pool 1 to 3', 'gym in at 2', 'spa out, was 3')
    """
    before, after = baseline[:KEPT], candidate[:KEPT]
    old = {id_: rank for rank, id_ in enumerate(before, 1)}
    new = {id_: rank for rank, id_ in enumerate(after, 1)}
    if len(old) < len(before) or len(new) < len(after):
        from karat.stats.ranks import order_differences

        order_differences(before, after)  # refuses a list that has a document twice
    changes = []
    for id_, rank in new.items():
        was = old.get(id_)
        if was is None:
            changes.append((rank, f"{id_} in at {rank}"))
        elif was != rank:
            changes.append((min(was, rank), f"{id_} {was} to {rank}"))
    changes += [(rank, f"{id_} out, was {rank}") for id_, rank in old.items() if id_ not in new]
    return tuple(text for _, text in sorted(changes, key=itemgetter(0)))
