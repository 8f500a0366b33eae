"""A report on live traffic: how much there is, what became of it, and what the golden set does not have."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec import field as default

from karat.core import GoldenSet
from karat.feedback._counting import pick_first, trim
from karat.feedback._detectors import SIMILAR, compare_words
from karat.feedback._gathering import Gathering, LiveQuery
from karat.feedback._sampling import NO_QUERIES
from karat.feedback._sessions import Oddities, Session
from karat.feedback._traffic import CITED, COVERED, RATES, Traffic, TrafficCounter, index_golden
from karat.stats import ValueCounts
from karat.text import content, folded

if TYPE_CHECKING:
    from karat.schema.feedback import OnlineDrift, OnlineIntent, OnlineLatency, OnlineQuery, OnlineRate, OnlineReport

SHOWN = 10
_FEW_SESSIONS = 20


def report_sessions(
    sessions: Iterable[Session],
    golden: GoldenSet | None = None,
    *,
    store: str = "",
    shown: int = SHOWN,
    oddities: Oddities | None = None,
) -> OnlineReport:
    """Return a report on sessions, with the ``shown`` worst queries and as many that ``golden`` does not have."""
    counter, gathering = TrafficCounter(golden), Gathering(lists=False)
    for session in sessions:
        counter.add(session)
        gathering.add(session)
    if oddities is not None:
        counter.sums.oddities.merge(oddities)
    ranking = Ranking(shown)
    for live in gathering.queries.values():
        ranking.add(live, is_known=live.key in counter.known)
    return make_report(counter.sums, ranking, golden, store=store)


class Ranking(Struct):
    """The live queries that a report lists, and how many are not in the golden set; those of parts add up."""

    shown: int
    unseen: int = 0
    worst: list[LiveQuery] = default(default_factory=list)
    most_asked: list[LiveQuery] = default(default_factory=list)
    """Of those that are not in the set."""

    def add(self, live: LiveQuery, *, is_known: bool) -> None:
        """Add a live query."""
        if live.failures:
            self.worst.append(live)
            trim(self.worst, self.shown, _order_worst)
        if not is_known:
            self.unseen += 1
            self.most_asked.append(live)
            trim(self.most_asked, self.shown, _order_asked)

    def merge(self, other: Ranking) -> None:
        """Add other queries, none of which is among these."""
        self.unseen += other.unseen
        self.worst = pick_first(self.worst + other.worst, self.shown, _order_worst)
        self.most_asked = pick_first(self.most_asked + other.most_asked, self.shown, _order_asked)

    def settle(self) -> None:
        """Leave what is listed, in its order."""
        self.merge(Ranking(self.shown))


def _order_worst(live: LiveQuery) -> tuple[int, int, str]:
    return -live.failures, -live.sessions, live.key


def _order_asked(live: LiveQuery) -> tuple[int, int, str]:
    return -live.sessions, -live.failures, live.key


def make_report(traffic: Traffic, ranking: Ranking, golden: GoldenSet | None, *, store: str) -> OnlineReport:
    """Return the report that sums of traffic stand for."""
    from karat.schema.feedback import OnlineDay, OnlineReport

    ranking.settle()
    minutes, rank = (own.median() if len(own) else None for own in (traffic.seconds, traffic.ranks))
    return OnlineReport(
        store=store,
        first=format_moment(traffic.first),
        last=format_moment(traffic.last),
        queries=traffic.queries,
        estimated=round(traffic.weight.value),
        sessions=traffic.sessions,
        events=traffic.events,
        searches_per_session=traffic.queries / traffic.sessions if traffic.sessions else None,
        minutes_per_session=None if minutes is None else minutes / 60,
        task_outcome=traffic.outcome.value / traffic.outcomes if traffic.outcomes else None,
        tasks=traffic.outcomes,
        rates=tuple(_make_rate(traffic, name) for name in RATES),
        latency=summarise_latency(traffic.latencies),
        rank_read=None if rank is None else int(rank),
        days=tuple(
            OnlineDay(day=day, queries=count, failures=traffic.failures.get(day, 0))
            for day, count in sorted(traffic.days.items())
        ),
        intents=tuple(_list_intents(traffic, golden)),
        worst=tuple(_show(live, golden) for live in ranking.worst),
        drift=None if golden is None else _find_drift(traffic, ranking, golden),
        oddities=traffic.oddities.describe(),
        notes=tuple(_list_notes(traffic)),
    )


def format_moment(time: float) -> str:
    """Return a time as a report shows it; empty if it is none."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if math.isfinite(time) else ""


def _make_rate(traffic: Traffic, name: str) -> OnlineRate:
    from karat.schema.feedback import OnlineRate

    sums = traffic.rates[name]
    share, low, high = sums.estimate()
    return OnlineRate(
        name=name, count=sums.count, total=sums.total, share=None if math.isnan(share) else share, low=low, high=high
    )


def summarise_latency(latencies: ValueCounts) -> OnlineLatency | None:
    """Return the quantiles of latencies; None without any."""
    from karat.schema.feedback import OnlineLatency

    if not len(latencies):
        return None
    p50, p95, p99 = latencies.quantiles((0.5, 0.95, 0.99))
    return OnlineLatency(n=len(latencies), p50=p50, p95=p95, p99=p99)


def _list_intents(traffic: Traffic, golden: GoldenSet | None) -> Iterable[OnlineIntent]:
    from karat.schema.feedback import OnlineIntent

    counts = Counter({intent: sum(outcomes.values()) for intent, outcomes in traffic.intents.items()})
    own = Counter(query.intent for query in golden.queries) if golden else Counter[str]()
    for intent in sorted(counts | own, key=lambda intent: (-counts[intent], intent)):
        outcomes = Counter(traffic.intents.get(intent, {}))
        yield OnlineIntent(
            intent=intent,
            queries=counts[intent],
            share=counts[intent] / max(traffic.queries, 1),
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
    """Return the id of the golden query that asks a text in the same words, or else shares most words with it.

    It is empty if none shares half of them.
    """
    if (same := index_golden(golden).get(folded(text))) is not None:
        return same
    subject = set(content(text))
    near = [
        (compare_words(query.text, text), query.id) for query in golden.queries if subject & set(content(query.text))
    ]
    similarity, name = max(near, default=(0.0, ""))
    return name if similarity > SIMILAR else ""


def _find_drift(traffic: Traffic, ranking: Ranking, golden: GoldenSet) -> OnlineDrift:
    from karat.schema.feedback import OnlineDrift

    return OnlineDrift(
        golden=golden.name,
        covered=_make_rate(traffic, COVERED),
        unseen=ranking.unseen,
        most_asked=tuple(_show(live, golden) for live in ranking.most_asked),
        not_asked=len(golden.query_by_id) - len(traffic.met),
        citations=_make_rate(traffic, CITED),
    )


def describe_weight(weight: float) -> str:
    """Return what to say if only some queries are logged."""
    return f"only some queries are logged: counts are of those, which stand for {round(weight):,}"


def _list_notes(traffic: Traffic) -> Iterable[str]:
    if not traffic.queries:
        yield NO_QUERIES
        return
    if traffic.sessions < _FEW_SESSIONS:
        few = "1 session is" if traffic.sessions == 1 else f"{traffic.sessions:,} sessions are"
        yield f"{few} few: look at the intervals"
    if round(traffic.weight.value) > traffic.queries:
        yield describe_weight(traffic.weight.value)
    unknown = sum(outcomes.get("unknown", 0) for outcomes in traffic.intents.values())
    if unknown == 1:
        yield "the outcome of 1 query is unknown; it does not count as used"
    elif unknown:
        yield f"the outcome of {unknown:,} queries is unknown; they do not count as used"
    if not len(traffic.latencies):
        yield "no latency was recorded"
