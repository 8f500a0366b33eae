"""How much traffic there was, from what was counted as it was stored, so that a day takes no longer than an hour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from karat.online._times import format_day
from karat.store import Store

_HOUR = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The queries of a span of time, all of them."""

    queries: int
    weight: float
    """How many queries those stand for."""
    known: int
    """Of how many it is known what came back."""
    nothing_found: int
    errors: int
    first: float | None
    """When the first was asked, in seconds since 1970; None without queries."""
    last: float | None
    days: Mapping[str, int]
    """Queries by day, in UTC."""
    intents: Mapping[str, int]


def read_totals(store: Store, since: float | None, until: float | None) -> Totals:
    """Return how many queries a store has in a span of time."""
    days, intents = Counter[str](), Counter[str]()
    queries = known = nothing_found = errors = 0
    weight = 0.0
    for hour, intent, count, own_weight, own_known, empty, failed in store.traffic(since, until):
        queries, known, nothing_found, errors = (
            queries + count,
            known + own_known,
            nothing_found + empty,
            errors + failed,
        )
        weight += own_weight
        days[format_day(hour * _HOUR)] += count
        intents[intent] += count
    first, last = store.times(since, until)
    return Totals(
        queries=queries, weight=weight, known=known, nothing_found=nothing_found, errors=errors, first=first, last=last,
        days=days, intents=intents,
    )  # fmt: skip
