"""Live traffic of a span of time as of now, from one walk through the log. Looking changes nothing."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from msgspec import structs

from karat.feedback import OUTCOMES, Session, UseCounter, describe_line, report_log
from karat.monitoring._project import Watched
from karat.monitoring._times import format_time
from karat.monitoring._watch import watch
from karat.online import LogReader, read_log
from karat.schema.pages import QueryUse, Span, TrafficBucket, TrafficSnapshot
from karat.stats import ValueCounts

_HOUR = 3600.0
_DAY = 24 * _HOUR
SPANS: Mapping[Span, float] = {"day": _DAY, "week": 7 * _DAY, "month": 30 * _DAY, "all": float("inf")}
"""The seconds of each span, which ends now."""
_HOURS = {"day": 1, "week": 6, "month": 24}
_BUCKETS = 60  # at most, of all of a log
_NEWEST, _EACH = 300, 100  # sessions that are listed: the newest, and the newest of each outcome
_TAIL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Live traffic of a span of time, and what became of the golden queries in it."""

    snapshot: TrafficSnapshot
    uses: tuple[QueryUse, ...]


class _Latest:
    """The sessions that end last, and the last ones of each outcome, while they pass by in the order of their end."""

    def __init__(self) -> None:
        self._newest: deque[Session] = deque(maxlen=_NEWEST)
        self._by_outcome = {outcome: deque[Session](maxlen=_EACH) for outcome in OUTCOMES}

    def add(self, session: Session) -> None:
        if not session.queries:
            return
        self._newest.append(session)
        for outcome in {search.outcome for search in session.queries}:
            self._by_outcome[outcome].append(session)

    def list_all(self) -> list[Session]:
        """Return each session once, the latest first."""
        every = (*self._newest, *(own for sessions in self._by_outcome.values() for own in sessions))
        return sorted({id(own): own for own in every}.values(), key=lambda own: (own.start, own.id), reverse=True)


def find_span(store: str | os.PathLike[str], now: float) -> Span:
    """Return the shortest span, from now back, in which somebody asked something."""
    with read_log(store) as log:
        last = log.totals(None, None).last
    gap = float("inf") if last is None else now - last
    return next((name for name, seconds in SPANS.items() if gap < seconds), "all")


def take_snapshot(store: str | os.PathLike[str], watched: Watched, *, span: Span, now: float) -> Traffic:
    """Return the traffic of a span that ends now, with alerts as :func:`watch` finds them; nothing is recorded."""
    golden = watched.project.golden if watched.project else None
    since = None if span == "all" else now - SPANS[span]
    uses, latest = UseCounter(golden), _Latest()

    def note(session: Session) -> None:
        uses.add(session)
        latest.add(session)

    report = report_log(store, golden, since=since, on_session=note)
    alerts = watch(store, watched.project, config=watched.config, now=now, record=False)
    with read_log(store) as log:
        first = log.totals(None, None).first if since is None else since
        begin = now if first is None else first
        hours = _HOURS.get(span) or max(24, -int(-(now - begin) // (_HOUR * _BUCKETS)))
        buckets = tuple(_count_buckets(log, begin, now, hours * _HOUR))
    snapshot = TrafficSnapshot(
        span=span,
        as_of=format_time(now),
        since=format_time(begin),
        report=report,
        watch=alerts,
        buckets=buckets,
        hours=hours,
        sessions=tuple(map(describe_line, latest.list_all())),
    )
    named = tuple(structs.replace(use, since=format_time(begin)) for use in uses.finish())
    return Traffic(snapshot=snapshot, uses=named)


def _count_buckets(log: LogReader, since: float, until: float, seconds: float) -> Iterator[TrafficBucket]:
    """Yield the pieces of a span, each from a full hour on; the last one is not over."""
    start = since // seconds * seconds
    while start < until:
        totals = log.totals(start, start + seconds)
        latencies = ValueCounts()
        latencies.extend(log.latencies(start, start + seconds))
        yield TrafficBucket(
            start=format_time(start),
            queries=totals.queries,
            nothing_found=totals.nothing_found,
            errors=totals.errors,
            p95=latencies.quantiles((_TAIL,))[0] if len(latencies) else None,
        )
        start += seconds
