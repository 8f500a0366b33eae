"""What ``karat online watch --json`` prints, and what is sent to a webhook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

from karat.schema._types import Count

AlertState = Literal["firing", "fine", "not measurable"]
WatchState = Literal["firing", "beyond", "fine", "not measurable"]


class WatchValue(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signal in a window."""

    value: Annotated[float | None, Meta(description="Null if it is not measured.")]
    n: Annotated[Count, Meta(description="The values that it is made of: queries, answers or questions.")]
    reason: Annotated[str, Meta(description="Why it is not measured; empty if it is.")] = ""
    evidence: Annotated[tuple[str, ...], Meta(description="What it rests on, in words.")] = ()


class WatchWindow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A span of time with enough queries to say something."""

    start: Annotated[str, Meta(description="In UTC.")]
    end: Annotated[str, Meta(description="Not included.")]
    samples: Annotated[Count, Meta(description="The queries in it.")]
    state: Annotated[
        Literal["complete", "thin", "open"],
        Meta(description="thin: the day ended before it had enough queries; open: it is not over."),
    ]
    signals: Annotated[
        Mapping[str, WatchValue], Meta(description="By name; none of a window that is not complete, or is too old.")
    ]


class WatchAlert(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An alert: a signal in the newest complete window, beside its limit."""

    name: str
    title: str
    state: Annotated[
        WatchState, Meta(description="beyond: the signal is beyond the limit, but not yet for as long as it takes.")
    ]
    value: float | None
    n: Count
    limit: Annotated[float | None, Meta(description="Null for a change, which is one or is not.")]
    rule: Annotated[str, Meta(description="When it fires, in words.")]
    minutes: Annotated[float, Meta(description="For how long the signal has been beyond the limit.")]
    reason: Annotated[str, Meta(description="Why it is not measurable; empty if it is.")]
    evidence: tuple[str, ...]
    opened: Annotated[str | None, Meta(description="When it was opened, in UTC; null if it is not open.")]
    minutes_needed: Annotated[float, Meta(description="For how long it has to be beyond the limit to fire.")] = 0.0


class WatchReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A look at live traffic."""

    store: str
    time: Annotated[str, Meta(description="As of when, in UTC.")]
    status: Annotated[
        Literal["fine", "alert", "not measurable"],
        Meta(description="alert if one fires, and not measurable if none does and one cannot be measured."),
    ]
    window: Annotated[WatchWindow | None, Meta(description="The newest complete one; null if there is none.")]
    windows: Annotated[tuple[WatchWindow, ...], Meta(description="Those that were looked at, the oldest first.")]
    alerts: tuple[WatchAlert, ...]
    off: Annotated[tuple[str, ...], Meta(description="The alerts that are switched off.")]
    waiting: Annotated[Count, Meta(description="Records in the journal that are not in the store yet.")]
    opened: Annotated[tuple[str, ...], Meta(description="The alerts that this look opened.")]
    closed: Annotated[tuple[str, ...], Meta(description="The alerts that this look closed.")]
    notes: tuple[str, ...]
    newest: Annotated[str | None, Meta(description="When the newest query was asked, in UTC; null without any.")] = None
    silent_minutes: Annotated[
        float | None, Meta(description="How long before the look that was, whether it is an alert or not.")
    ] = None


class WatchMessage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is sent to a webhook when an alert opens or closes."""

    text: Annotated[str, Meta(description="One line, escaped for chats that read HTML entities, such as Slack.")]
    id: Annotated[str, Meta(description="The same if the same message is sent again.")]
    store: str
    alert: str
    state: Literal["open", "closed"]
    time: str
    window: Annotated[str, Meta(description="Its start and end.")]
    value: float | None
    limit: float | None
    rule: str
    evidence: tuple[str, ...]
