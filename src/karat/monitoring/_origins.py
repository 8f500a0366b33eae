"""What answered: whether the index, or how texts are normalised, changed while the build did not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from karat.core import shorten
from karat.monitoring._times import format_time
from karat.online import LoggedQuery
from karat.schema.watch import WatchValue

_HINT = "online.open(..., build=..., index=..., normaliser=...) logs it"

_MOST_UNKNOWN = 0.1
"""The share of queries that may not say it, if none of the others changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A build with an index and a normaliser, and when it answered."""

    build: str
    index: str
    normaliser: str
    first: float
    count: int


def read_origins(rows: Iterable[Sequence[Any]]) -> list[Origin]:
    """Return the origins of rows of a store: build, index, normaliser, first, last, count."""
    return [
        Origin(build=build, index=index, normaliser=name, first=first, count=count)
        for build, index, name, first, _, count in rows
    ]


def collect_origins(queries: Iterable[LoggedQuery]) -> list[Origin]:
    """Return the origins of queries, in the order of their first time."""
    firsts: dict[tuple[str, str, str], list[float]] = {}
    for query in queries:
        if query.index or query.normaliser:
            firsts.setdefault((query.build, query.index, query.normaliser), []).append(query.time)
    origins = [
        Origin(build=build, index=index, normaliser=name, first=min(times), count=len(times))
        for (build, index, name), times in firsts.items()
    ]
    return sorted(origins, key=lambda origin: (origin.first, origin.build, origin.index))


def find_normaliser(own: Iterable[Origin]) -> str | None:
    """Return the normaliser of a window; None if it has several, and an empty one if none is logged."""
    names = {origin.normaliser for origin in own if origin.normaliser}
    return None if len(names) > 1 else next(iter(names), "")


def find_drift(what: str, own: Sequence[Origin], history: Sequence[Origin], samples: int) -> WatchValue:
    """Return whether the index, or the normaliser, of a build is another one than the first that it had.

    ``own`` are the origins in a window, and ``history`` those up to its end, in the order of their first time. The
    value is how many queries were answered by another one.
    """
    logged = [origin for origin in own if getattr(origin, what)]
    count = sum(origin.count for origin in logged)
    if not logged:
        return WatchValue(value=None, n=0, reason=f"no query says its {what}; {_HINT}")
    if not all(origin.build for origin in logged):
        return WatchValue(value=None, n=count, reason=f"queries say their {what}, but not their build; {_HINT}")
    firsts: dict[str, Origin] = {}
    for origin in history:
        if getattr(origin, what) and origin.build:
            firsts.setdefault(origin.build, origin)
    changed = [origin for origin in logged if getattr(origin, what) != getattr(firsts[origin.build], what)]
    evidence = [_describe(what, firsts[origin.build], _find_first(what, origin, history)) for origin in changed]
    if not changed and samples - count > _MOST_UNKNOWN * samples:
        reason = f"{samples - count:,} of {samples:,} queries do not say their {what}; {_HINT}"
        return WatchValue(value=None, n=count, reason=reason)
    if count < samples:
        evidence.append(f"{samples - count:,} of {samples:,} queries do not say their {what}")
    return WatchValue(value=float(sum(origin.count for origin in changed)), n=count, evidence=tuple(evidence))


def _find_first(what: str, origin: Origin, history: Sequence[Origin]) -> Origin:
    """Return the first of a history that has the build, and the index or normaliser, of an origin."""
    own = (origin.build, getattr(origin, what))
    return next(other for other in history if (other.build, getattr(other, what)) == own)


def _describe(what: str, first: Origin, now: Origin) -> str:
    old, new = (shorten(getattr(origin, what)) for origin in (first, now))
    then, since = format_time(first.first), format_time(now.first)
    return f"build {shorten(now.build)}: {what} {old} since {then}, {new} since {since}"
