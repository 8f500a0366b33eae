"""A report on some sessions, extended to all traffic: exact where all queries were counted, an estimate elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from karat.online import Totals
from karat.store import PARTS

if TYPE_CHECKING:
    from karat.schema.feedback import OnlineDay, OnlineIntent, OnlineLatency, OnlineQuery, OnlineRate, OnlineReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """What is known of all traffic, of which only some sessions were looked at."""

    totals: Totals
    latency: OnlineLatency | None
    parts: int
    oddities: Mapping[str, int]
    """What was counted of all records; anything else that is odd is known of some sessions only."""


def extend_report(report: OnlineReport, whole: Whole) -> OnlineReport:
    """Return a report on some sessions as one on all.

    Queries, latency, days and intents are those of all queries, and so are the shares of those that failed or found
    nothing, in an interval that holds them. Sessions, events, tasks, what became of queries, the counts of those that
    are listed, and what is odd are estimates, unless it was counted. Shares of what became of queries, and how many
    queries the golden set lacks, or nobody asked, stay as they were counted.
    """
    totals = whole.totals
    ratio = totals.queries / max(report.queries, 1)
    exact = {"nothing found": (totals.nothing_found, totals.known), "error": (totals.errors, totals.queries)}
    return replace(
        report,
        queries=totals.queries,
        estimated=round(totals.weight),
        sessions=round(report.sessions * ratio),
        events=round(report.events * ratio),
        tasks=round(report.tasks * ratio),
        latency=whole.latency,
        rates=tuple(_extend_rate(rate, *exact.get(rate.name, (None, None))) for rate in report.rates),
        days=tuple(_extend_days(report, totals)),
        intents=tuple(_extend_intents(report, totals, ratio)),
        sample=whole.parts / PARTS,
        worst=_extend_queries(report.worst, ratio),
        drift=report.drift and replace(report.drift, most_asked=_extend_queries(report.drift.most_asked, ratio)),
        oddities=_extend_oddities(report.oddities, whole.oddities, ratio),
    )


def _extend_queries(queries: Iterable[OnlineQuery], ratio: float) -> tuple[OnlineQuery, ...]:
    return tuple(
        replace(query, sessions=round(query.sessions * ratio), failures=round(query.failures * ratio))
        for query in queries
    )


def _extend_oddities(sampled: Mapping[str, int], counted: Mapping[str, int], ratio: float) -> dict[str, int]:
    oddities = {name: round(number * ratio) for name, number in sampled.items()} | dict(counted)
    return {name: number for name, number in oddities.items() if number}


def _extend_rate(rate: OnlineRate, count: int | None, total: int | None) -> OnlineRate:
    if count is None or not total:
        return rate
    share = count / total
    return replace(rate, count=count, total=total, share=share, low=min(rate.low, share), high=max(rate.high, share))


def _extend_days(report: OnlineReport, totals: Totals) -> list[OnlineDay]:
    from karat.schema.feedback import OnlineDay

    seen = {day.day: day for day in report.days}
    days = []
    for name, queries in sorted(totals.days.items()):
        day = seen.get(name)
        failures = round(day.failures * queries / day.queries) if day else 0
        days.append(OnlineDay(day=name, queries=queries, failures=failures))
    return days


def _extend_intents(report: OnlineReport, totals: Totals, ratio: float) -> list[OnlineIntent]:
    from karat.schema.feedback import OnlineIntent

    seen = {intent.intent: intent for intent in report.intents}
    golden = any(intent.golden_share is not None for intent in report.intents)
    intents = []
    for name in {**dict.fromkeys(totals.intents), **dict.fromkeys(seen)}:
        queries, own = totals.intents.get(name, 0), seen.get(name)
        counts = (own.nothing_found, own.asked_again, own.used) if own else (0, 0, 0)
        nothing_found, asked_again, used = (min(round(count * ratio), queries) for count in counts)
        intents.append(
            OnlineIntent(
                intent=name,
                queries=queries,
                share=queries / max(totals.queries, 1),
                golden_share=own.golden_share if own else 0.0 if golden else None,
                nothing_found=nothing_found,
                asked_again=asked_again,
                used=used,
            )
        )
    return sorted(intents, key=lambda intent: (-intent.queries, intent.intent))
