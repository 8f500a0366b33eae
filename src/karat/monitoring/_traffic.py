"""What every log can tell of a window: errors, nothing found, asked again, how long it took, and how lists change."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from karat.core import count_things
from karat.feedback import find_repeats
from karat.measures import interpolate
from karat.online import LoggedQuery
from karat.schema.watch import WatchValue
from karat.stats.ranks import rank_similarity
from karat.text import folded

TOP = 10
"""Lists are compared down to this rank."""
LOOK_BACK = 600.0
"""Seconds before a window in which a question may have been asked that is asked again in it."""
_MOST_TEXTS = 1000
"""How many texts of a window are compared with what they returned before."""
_CENTRE, _TAIL = 0.5, 0.95


def missing(reason: str, n: int = 0) -> WatchValue:
    """Return a signal that is not measured."""
    return WatchValue(value=None, n=n, reason=reason)


@dataclass(slots=True)
class Past:
    """What was normal before a window, by normaliser: the first list of each text, and the p95 of each window."""

    lists: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    times: dict[str, list[float]] = field(default_factory=dict)

    def add(self, queries: Sequence[LoggedQuery], normaliser: str, least: int) -> None:
        """Add a window. The first list of a text counts, so that a change does not become normal at once."""
        own = self.lists.setdefault(normaliser, {})
        for query in queries:
            if is_list(query):
                own.setdefault(folded(query.text), list_top(query))
        self.add_latencies([query.latency for query in queries if query.latency is not None], normaliser, least)

    def add_latencies(self, latencies: Sequence[float], normaliser: str, least: int) -> None:
        """Add the p95 of a window, if it has enough latencies."""
        p95 = measure_p95(latencies, least)
        if p95 is not None:
            self.times.setdefault(normaliser, []).append(p95)


def list_top(query: LoggedQuery) -> tuple[str, ...]:
    """Return the first documents of a query, each once."""
    return tuple(dict.fromkeys(query.documents))[:TOP]


def is_list(query: LoggedQuery) -> bool:
    """Return whether it is known what came back, perhaps nothing: a list that is empty now is another one."""
    return not query.error and (bool(query.hits) or query.count == 0)


def measure_traffic(
    queries: Sequence[LoggedQuery], before: Sequence[LoggedQuery], repeats: Collection[str], least: int
) -> dict[str, WatchValue]:
    """Return the signals of a window that need nothing but its queries.

    ``before`` are the queries of the ten minutes before it, and ``repeats`` are those that were asked again, as events
    of the window say: a query that is asked again counts once, whether its words or an event show it.
    """
    failed = sum(bool(query.error) for query in queries)
    known = [query for query in queries if query.count is not None or query.hits or query.error]
    empty = sum(query.count == 0 and not query.hits and not query.error for query in known)
    signals = {
        "errors": make_share(failed, len(queries), least, "queries"),
        "nothing_found": make_share(empty, len(known), least, "queries of which it is known what came back"),
    }
    own = {query.id for query in queries if query.session}
    again = len(_find_repeated(queries, before).union(repeats))
    signals["asked_again"] = make_share(min(again, len(own)), len(own), least, "queries with a session")
    return signals


def make_share(count: int, total: int, least: int, what: str) -> WatchValue:
    """Return a share, which is measured if there are enough values.

    >>> make_share(1, 20, 20, "queries").value, make_share(1, 19, 20, "queries").reason
    (0.05, '19 queries; 20 are needed')
    """
    if total < max(least, 1):
        return missing(f"{total:,} {what}; {max(least, 1):,} are needed", total)
    return WatchValue(value=count / total, n=total, evidence=(f"{count:,} of {total:,} {what}",))


def _find_repeated(queries: Sequence[LoggedQuery], before: Sequence[LoggedQuery]) -> set[str]:
    """Return the queries that others of a window ask again, in the same session."""
    sessions: dict[str, list[LoggedQuery]] = {}
    for query in sorted((*before, *queries), key=lambda query: (query.time, query.id)):
        if query.session:
            sessions.setdefault(query.session, []).append(query)
    own = {query.id for query in queries}
    return {
        group[place].id
        for group in sessions.values()
        if len(group) > 1
        for query, place in zip(group, find_repeats([(q.text, q.time) for q in group]), strict=True)
        if place is not None and query.id in own
    }


def measure_p95(latencies: Sequence[float], least: int) -> float | None:
    """Return the p95 of latencies, interpolated linearly; None if there are too few."""
    return interpolate(list(latencies), _TAIL) if len(latencies) >= max(least, 1) else None


def compare_p95(
    queries: Sequence[LoggedQuery], past: Past, normaliser: str | None, least: int, baseline: float | None
) -> WatchValue:
    """Return by how much the p95 of a window exceeds the baseline, as a share of it."""
    latencies = [query.latency for query in queries if query.latency is not None]
    p95 = measure_p95(latencies, least)
    if p95 is None:
        return missing(
            f"{count_things(len(latencies), 'query has', 'queries have')} a latency; {max(least, 1):,} are needed",
            len(latencies),
        )
    what = "as configured"
    if baseline is None:
        if normaliser is None:
            return missing(MIXED, len(latencies))
        times = past.times.get(normaliser, [])
        if not times:
            return missing(_explain_past(past.times, normaliser), len(latencies))
        baseline, what = interpolate(times, _CENTRE), f"the median of {len(times):,} windows before"
    if not baseline:
        return missing("the baseline's p95 is 0 ms", len(latencies))
    evidence = (f"p95 {p95:.1f} ms, baseline {baseline:.1f} ms ({what})",)
    return WatchValue(value=p95 / baseline - 1, n=len(latencies), evidence=evidence)


MIXED = "its queries have several normalisers: what they return is not compared"


def _explain_past(names: Collection[str], normaliser: str) -> str:
    if not names:
        return "there is no complete window before it to compare with"
    others = ", ".join(sorted(name or "none" for name in names))
    return f"windows with different normalisers are not compared: {normaliser or 'none'}, before {others}"


def compare_lists(queries: Sequence[LoggedQuery], past: Past, normaliser: str | None, least: int) -> WatchValue:
    """Return the mean tau-b of the first ten documents of texts that were asked before, too."""
    if normaliser is None:
        return missing(MIXED)
    if normaliser not in past.lists:
        return missing(_explain_past(past.lists, normaliser))
    before = past.lists[normaliser]
    now = {folded(query.text): list_top(query) for query in queries if is_list(query)}
    pairs = {text: (before[text], new) for text, new in now.items() if text in before}
    return similarity_of(pairs, least, "texts that the windows before have, too")


def similarity_of(pairs: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]], least: int, what: str) -> WatchValue:
    """Return the mean tau-b of pairs of lists by text, of a thousand texts at most."""
    if len(pairs) < max(least, 1):
        return missing(f"{len(pairs):,} {what}; {max(least, 1):,} are needed", len(pairs))
    chosen = [pairs[text] for text in sorted(pairs)[:_MOST_TEXTS]]
    taus = [rank_similarity(old, new).kendall_tau for old, new in chosen]
    changed = sum(old[:1] != new[:1] for old, new in chosen)
    evidence = (f"mean tau-b of {len(taus):,} {what}", f"another first document in {changed:,}")
    return WatchValue(value=sum(taus) / len(taus), n=len(taus), evidence=evidence)
