"""A report on live traffic: how much there is, what became of it, and what the golden set does not have."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from karat.core import GoldenSet
from karat.feedback._detectors import SIMILAR, compare_words
from karat.feedback._extending import Whole, extend_report
from karat.feedback._gathering import Gathering, LiveQuery
from karat.feedback._sampling import (
    MOST_QUERIES,
    NO_QUERIES,
    choose_parts,
    describe_empty,
    describe_parts,
    read_parts,
    refuse_reversed,
)
from karat.feedback._sessions import Oddities, Session
from karat.feedback._traffic import CITED, COVERED, RATES, Traffic
from karat.online import read_log
from karat.stats.clicks import clustered_share
from karat.text import content

if TYPE_CHECKING:
    from karat.schema.feedback import OnlineDrift, OnlineIntent, OnlineLatency, OnlineQuery, OnlineRate, OnlineReport

SHOWN = 10
_FEW_SESSIONS = 20


def report_log(
    store: str | os.PathLike[str] = "karat.db",
    golden: GoldenSet | None = None,
    *,
    since: float | None = None,
    until: float | None = None,
    shown: int = SHOWN,
    most: int | None = MOST_QUERIES,
) -> OnlineReport:
    """Return a report on the log of a store; ``since`` is included and ``until`` is not, in seconds since 1970.

    If there are more than ``most`` queries, what became of them is found out for some sessions, which stand for all;
    None looks at all sessions.
    """
    refuse_reversed(since, until)
    oddities = Oddities()
    texts = {document.id: document.text for document in golden.documents} if golden else None
    with read_log(store) as log:
        totals = log.totals(since, until)
        parts = choose_parts(totals.queries, most)
        sessions = read_parts(log, since, until, parts, oddities=oddities, texts=texts)
        report = report_sessions(sessions, golden, store=str(store), shown=shown, oddities=oddities)
        if not report.queries:
            return replace(report, notes=(describe_empty(log),))
        if parts is None:
            return report
        latency = _summarise_latency(np.fromiter(log.latencies(since, until), np.float64))
    first, last = (_format_time(math.nan if time is None else time) for time in (totals.first, totals.last))
    weights = {_describe_weight(report.estimated): _describe_weight(totals.weight)}
    notes = describe_parts(parts, report.queries), *(weights.get(note, note) for note in report.notes)
    extended = extend_report(report, Whole(totals=totals, latency=latency, parts=parts))
    return replace(extended, first=first, last=last, notes=notes)


def report_sessions(
    sessions: Iterable[Session],
    golden: GoldenSet | None = None,
    *,
    store: str = "",
    shown: int = SHOWN,
    oddities: Oddities | None = None,
) -> OnlineReport:
    """Return a report on sessions, with the ``shown`` worst queries and as many that ``golden`` does not have."""
    from karat.schema.feedback import OnlineDay, OnlineReport

    traffic, gathering = Traffic(golden), Gathering(lists=False)
    for session in gathering.watch(sessions):
        traffic.add(session)
    failing = [live for live in gathering.queries.values() if live.failures]
    worst = sorted(failing, key=lambda live: (-live.failures, -live.sessions, live.key))[:shown]
    return OnlineReport(
        store=store,
        first=_format_time(traffic.first),
        last=_format_time(traffic.last),
        queries=traffic.queries,
        estimated=round(traffic.weight),
        sessions=len(traffic.searches),
        events=traffic.events,
        searches_per_session=float(np.mean(traffic.searches)) if traffic.searches else None,
        minutes_per_session=float(np.median(traffic.seconds)) / 60 if traffic.seconds else None,
        task_outcome=float(np.mean(traffic.outcomes)) if traffic.outcomes else None,
        rates=tuple(_make_rate(traffic, name) for name in RATES),
        latency=_summarise_latency(traffic.latencies),
        rank_read=int(np.median(traffic.ranks)) if traffic.ranks else None,
        days=tuple(
            OnlineDay(day=day, queries=count, failures=traffic.failures[day])
            for day, count in sorted(traffic.days.items())
        ),
        intents=tuple(_list_intents(traffic, golden)),
        worst=tuple(_show(live, golden) for live in worst),
        drift=None if golden is None else _find_drift(traffic, gathering, golden, shown),
        oddities=oddities.describe() if oddities else {},
        notes=tuple(_list_notes(traffic)),
    )


def _format_time(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if math.isfinite(time) else ""


def _make_rate(traffic: Traffic, name: str) -> OnlineRate:
    from karat.schema.feedback import OnlineRate

    count, total = traffic.rates[name]
    share, low, high = clustered_share(count, total)
    return OnlineRate(
        name=name, count=sum(count), total=sum(total), share=None if math.isnan(share) else share, low=low, high=high
    )


def _summarise_latency(latencies: Sequence[float] | np.ndarray) -> OnlineLatency | None:
    from karat.schema.feedback import OnlineLatency

    if not len(latencies):
        return None
    p50, p95, p99 = np.percentile(np.asarray(latencies), (50, 95, 99)).tolist()
    return OnlineLatency(n=len(latencies), p50=p50, p95=p95, p99=p99)


def _list_intents(traffic: Traffic, golden: GoldenSet | None) -> Iterable[OnlineIntent]:
    from karat.schema.feedback import OnlineIntent

    asked = Counter({intent: outcomes.total() for intent, outcomes in traffic.intents.items()})
    own = Counter(query.intent for query in golden.queries) if golden else Counter[str]()
    for intent in sorted(asked | own, key=lambda intent: (-asked[intent], intent)):
        outcomes = traffic.intents.get(intent, Counter())
        yield OnlineIntent(
            intent=intent,
            queries=asked[intent],
            share=asked[intent] / max(traffic.queries, 1),
            golden_share=own[intent] / len(golden.queries) if golden and golden.queries else None,
            nothing_found=outcomes["nothing found"],
            asked_again=outcomes["asked again"],
            used=outcomes["used"],
        )


def _show(live: LiveQuery, golden: GoldenSet | None) -> OnlineQuery:
    from karat.schema.feedback import OnlineQuery

    nearest = _find_nearest(live.text, golden) if golden else ""
    return OnlineQuery(
        text=live.text, intent=live.intent, outcome=live.outcome, sessions=live.sessions, failures=live.failures,
        latest=live.day, nearest=nearest, nearest_text=golden.query_by_id[nearest].text if golden and nearest else "",
    )  # fmt: skip


def _find_nearest(text: str, golden: GoldenSet) -> str:
    """Return the id of the golden query that shares most words with a text; empty if none shares half of them."""
    subject = set(content(text))
    near = [
        (compare_words(query.text, text), query.id) for query in golden.queries if subject & set(content(query.text))
    ]
    similarity, name = max(near, default=(0.0, ""))
    return name if similarity > SIMILAR else ""


def _find_drift(traffic: Traffic, gathering: Gathering, golden: GoldenSet, shown: int) -> OnlineDrift:
    from karat.schema.feedback import OnlineDrift

    unseen = [live for key, live in gathering.queries.items() if key not in traffic.known]
    first = sorted(unseen, key=lambda live: (-live.sessions, -live.failures, live.key))[:shown]
    return OnlineDrift(
        golden=golden.name,
        covered=_make_rate(traffic, COVERED),
        unseen=len(unseen),
        most_asked=tuple(_show(live, golden) for live in first),
        not_asked=len(golden.query_by_id) - len(traffic.met),
        citations=_make_rate(traffic, CITED),
    )


def _describe_weight(weight: float) -> str:
    return f"only some queries are logged: counts are of those, which stand for {round(weight):,}"


def _list_notes(traffic: Traffic) -> Iterable[str]:
    if not traffic.queries:
        yield NO_QUERIES
        return
    if len(traffic.searches) < _FEW_SESSIONS:
        few = "1 session is" if len(traffic.searches) == 1 else f"{len(traffic.searches):,} sessions are"
        yield f"{few} few: look at the intervals"
    if round(traffic.weight) > traffic.queries:
        yield _describe_weight(traffic.weight)
    unknown = sum(outcomes["unknown"] for outcomes in traffic.intents.values())
    if unknown == 1:
        yield "of 1 query nobody knows what became of it; it does not count as used"
    elif unknown:
        yield f"of {unknown:,} queries nobody knows what became of them; they do not count as used"
    if not traffic.latencies:
        yield "no latency was recorded"
