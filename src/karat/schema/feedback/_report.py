"""What ``karat online report --json`` prints: live traffic, what became of it, and what the golden set lacks."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from karat.schema._types import Count, Day, Rank
from karat.schema.feedback._harvest import Share


class OnlineRate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A share of queries with its interval, which takes sessions as they are: queries of one session are alike."""

    name: str
    count: Count
    total: Annotated[Count, Meta(description="The queries of which it is known.")]
    share: Annotated[Share | None, Meta(description="Null if nothing is known.")]
    low: Annotated[Share, Meta(description="The lower end of the 95 % interval.")]
    high: Share


class OnlineDay(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The queries of a day, in UTC."""

    day: Day
    queries: Count
    failures: Count


class OnlineLatency(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Milliseconds, of the queries for which they were measured."""

    n: Count
    p50: float
    p95: float
    p99: float


class OnlineIntent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The queries of an intent, beside the share that it has in the golden set."""

    intent: str
    queries: Count
    share: Share
    golden_share: Annotated[Share | None, Meta(description="Null without a golden set.")]
    nothing_found: Count
    asked_again: Count
    used: Count


class OnlineQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A query that people ask."""

    text: str
    intent: str
    outcome: Annotated[str, Meta(description="How it ends most often; the worst of equals.")]
    sessions: Count
    failures: Count
    latest: Day
    nearest: Annotated[str, Meta(description="The id of the golden query that is most like it; empty if none is.")]
    nearest_text: Annotated[str, Meta(description="The text of that golden query.")] = ""


class OnlineDrift(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How live traffic and the golden set differ."""

    golden: str
    covered: Annotated[OnlineRate, Meta(description="Queries that the set has, in the same words.")]
    unseen: Annotated[Count, Meta(description="Different queries that it does not have.")]
    most_asked: Annotated[tuple[OnlineQuery, ...], Meta(description="The first of these, by sessions.")]
    not_asked: Annotated[Count, Meta(description="Queries of the set that nobody asked in these words.")]
    citations: Annotated[OnlineRate, Meta(description="Answers to queries of the set that cite a relevant document.")]


class OnlineReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Live traffic of a span of time."""

    store: str
    first: Annotated[str, Meta(description="When the first query was asked, in UTC; empty without queries.")]
    last: str
    queries: Count
    estimated: Annotated[Count, Meta(description="How many queries those stand for, if only some were logged.")]
    sessions: Count
    events: Annotated[
        Count, Meta(description="Events that belong to a query or a session; oddities counts the others.")
    ]
    searches_per_session: Annotated[float | None, Meta(description="The mean; null without sessions.")]
    minutes_per_session: Annotated[float | None, Meta(description="The median, from the first record to the last.")]
    task_outcome: Annotated[
        float | None,
        Meta(description="How well tasks ended, the mean of what sessions said last; null if none did."),
    ]
    rates: Annotated[
        tuple[OnlineRate, ...],
        Meta(description="By outcome, of which every query has one; failed, used and unknown are all queries."),
    ]
    latency: OnlineLatency | None
    rank_read: Annotated[Rank | None, Meta(description="The median rank of what was read; null if nothing was.")]
    days: tuple[OnlineDay, ...]
    intents: tuple[OnlineIntent, ...]
    worst: Annotated[tuple[OnlineQuery, ...], Meta(description="The queries that fail most, by sessions.")]
    drift: OnlineDrift | None
    oddities: Annotated[dict[str, int], Meta(description="What was odd about the records, counted.")]
    notes: tuple[str, ...]
    sample: Annotated[
        Share,
        Meta(
            description="The share of sessions that were looked at. If it is below 1, sessions, events, tasks, "
            "failures, outcomes by intent, the counts of listed queries and most oddities are estimates."
        ),
    ] = 1.0
    tasks: Annotated[Count, Meta(description="The sessions that task_outcome is the mean of.")] = 0
