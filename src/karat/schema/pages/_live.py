"""The pages of live traffic: what people ask now, sessions as timelines, and what they did with a golden query."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from karat.schema._types import Count, Number, Rank
from karat.schema.feedback import OnlineReport
from karat.schema.watch import WatchReport

Span = Literal["day", "week", "month", "all"]
MarkKind = Literal[
    "error", "nothing found", "not useful", "asked again", "unknown", "used", "read", "useful", "rejected", "end"
]


class TrafficBucket(Struct, frozen=True, kw_only=True):
    """The queries of a piece of the span: a bar of the picture."""

    start: Annotated[str, Meta(description="In UTC.")]
    queries: Count
    nothing_found: Count
    errors: Count
    p95: Annotated[Number | None, Meta(description="Milliseconds; null where nothing was measured.")]


class TimelineMark(Struct, frozen=True, kw_only=True):
    """Something that happened in a session: a query with what became of it, or what somebody did then."""

    after: Annotated[Number, Meta(description="Seconds since the session began.")]
    kind: MarkKind
    text: str


class SessionLine(Struct, frozen=True, kw_only=True):
    """A session in a list."""

    key: Annotated[str, Meta(description="Its name in addresses: s and the session, or q and a query without one.")]
    at: Annotated[Number, Meta(description="When it began, in seconds since 1970.")]
    start: Annotated[str, Meta(description="The same in UTC.")]
    seconds: Number
    queries: Count
    texts: Annotated[tuple[str, ...], Meta(description="What was asked, the first of it.")]
    outcomes: Annotated[tuple[str, ...], Meta(description="What became of its queries, each once.")]
    read: Annotated[Count, Meta(description="Documents that were read.")]
    task: Annotated[Number | None, Meta(description="How well the task ended, from 0 to 1; null if nobody said.")]
    marks: tuple[TimelineMark, ...]


class DocumentUse(Struct, frozen=True, kw_only=True):
    """What people did with a document that came back for a query."""

    document: str
    title: str = ""
    shown: Annotated[Count, Meta(description="Sessions in which it came back.")]
    read: Count
    useful: Count
    not_useful: Count


class QueryUse(Struct, frozen=True, kw_only=True):
    """What people who asked a golden query, in any of its wordings, did."""

    query: str
    asked: Count
    sessions: Count
    outcomes: dict[str, Count]
    documents: Annotated[tuple[DocumentUse, ...], Meta(description="Those that were read most first.")]
    latest: Annotated[str, Meta(description="When it was asked last, in UTC.")]
    since: Annotated[str, Meta(description="Where the span begins in which this was counted, in UTC.")] = ""


class TrafficSnapshot(Struct, frozen=True, kw_only=True):
    """Live traffic as of some time, which the index keeps."""

    span: Span
    as_of: str
    since: Annotated[str, Meta(description="Where the span begins, in UTC.")]
    report: OnlineReport
    watch: WatchReport
    buckets: tuple[TrafficBucket, ...]
    hours: Annotated[int, Meta(description="The length of a bucket.")]
    sessions: Annotated[tuple[SessionLine, ...], Meta(description="The newest of each outcome, the newest first.")]


class LivePage(Struct, frozen=True, kw_only=True):
    """Live traffic: are people served."""

    karat: Literal["page-live"] = "page-live"
    project: str
    store: str
    exists: Annotated[bool, Meta(description="False if there is neither a store nor a journal.")]
    has_store: Annotated[bool, Meta(description="False if what was logged still waits in the journal.")]
    span: Annotated[str, Meta(description="The span that was asked for; empty for the shortest with traffic.")]
    traffic: Annotated[TrafficSnapshot | None, Meta(description="Its sessions are those that the filters keep.")]
    matching: Annotated[Count, Meta(description="Listed sessions that the filters keep.")]
    listed: Annotated[Count, Meta(description="Sessions that can be listed: the newest of each outcome.")]
    more: Annotated[str | None, Meta(description="What to pass as after to get the next sessions.")]


class TimelineHit(Struct, frozen=True, kw_only=True):
    """A document that came back, and what became of it."""

    document: str
    title: str
    rank: Rank
    read: bool
    useful: Annotated[bool | None, Meta(description="Null if nobody said.")]
    passed: Annotated[bool, Meta(description="Whether somebody saw it and went on.")]
    reused: bool


class TimelineStep(Struct, frozen=True, kw_only=True):
    """Something that happened in a session, in the order of time."""

    after: Annotated[Number, Meta(description="Seconds since the session began.")]
    kind: Annotated[str, Meta(description="query, or the kind of an event of the log.")]
    text: str = ""
    query: Annotated[str, Meta(description="The id of the query in the log.")] = ""
    document: str = ""
    title: str = ""
    rank: Rank | None = None
    value: Number | None = None
    outcome: str = ""
    error: str = ""
    repeats: Annotated[
        bool, Meta(description="Whether it asks an earlier query again, in the same or similar words.")
    ] = False
    milliseconds: Number | None = None
    answer: str = ""
    hits: tuple[TimelineHit, ...] = ()
    total: Count = 0
    golden: Annotated[str, Meta(description="The golden query with the same words; empty if there is none.")] = ""
    proposed: Annotated[str, Meta(description="The id that it would have in the golden set.")] = ""


class SessionPage(Struct, frozen=True, kw_only=True):
    """One session as a timeline."""

    karat: Literal["page-session"] = "page-session"
    project: str
    line: SessionLine
    user: str
    system: str
    steps: tuple[TimelineStep, ...]
    more: Annotated[Count, Meta(description="Steps that are not shown.")]
    grades: Annotated[tuple[str, ...], Meta(description="What grades mean in the golden set.")]
