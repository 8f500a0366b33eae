"""Alerts in the store: each is opened once and closed once, however many watchers there are."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass
from typing import Literal

from msgspec import structs

from karat.monitoring._times import format_time
from karat.schema import to_json
from karat.schema.watch import WatchAlert, WatchMessage, WatchReport
from karat.store import open_store

_LONGEST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAlert:
    """An alert that is open."""

    name: str
    opened: float
    """Seconds since 1970."""


def list_open_alerts(store: str | os.PathLike[str] = "karat.db") -> tuple[OpenAlert, ...]:
    """Return the alerts that are open, the oldest first."""
    with open_store(store) as opened:
        return tuple(OpenAlert(name=row[1], opened=row[2]) for row in opened.alerts.list_open())


def record_alerts(
    store: str | os.PathLike[str], name: str, report: WatchReport, *, start: float, now: float, dropped: int
) -> WatchReport:
    """Open the alerts of a report that fire, and close those that are fine; return it with what was changed.

    Only a look that knows the newest window changes anything: one that was overtaken by another, or whose clock was set
    back before that window, does not. A clock that was ahead for a while leaves nothing behind. An alert that
    is not measurable, or beyond its limit for too short a time to fire, stays as it is.
    """
    opened, closed = [], []
    with open_store(store, write=True) as writer, writer.transaction():
        tables = writer.alerts
        watched = tables.watched(name)
        if watched is not None and 0 < start < watched[0]:  # without any window nothing but drops can change
            note = f"a look at {format_time(watched[1])} has seen a newer window: this one changes no alert"
            return structs.replace(report, notes=(*report.notes, note))
        keys = {row[1]: row[0] for row in tables.list_open()}
        for alert in report.alerts:
            if alert.state == "firing" and alert.name not in keys:
                tables.add(alert.name, now, start, to_json(alert), to_json(_write_message(report, alert, "open")))
                opened.append(alert.name)
            elif alert.state == "fine" and alert.name in keys:
                tables.close(keys[alert.name], now, to_json(_write_message(report, alert, "closed")))
                closed.append(alert.name)
        for switched_off in (other for other in report.off if other in keys):
            tables.close(keys[switched_off], now, to_json(_write_end(report, switched_off)))
            closed.append(switched_off)
        tables.set_watched(name, start, now, dropped)
    moment = format_time(now)
    alerts = [_update(alert, moment, opened, closed) for alert in report.alerts]
    return structs.replace(report, alerts=tuple(alerts), opened=tuple(opened), closed=tuple(closed))


def _update(alert: WatchAlert, moment: str, opened: list[str], closed: list[str]) -> WatchAlert:
    if alert.name in opened:
        return structs.replace(alert, opened=moment)
    return structs.replace(alert, opened=None) if alert.name in closed else alert


def _write_message(report: WatchReport, alert: WatchAlert, state: Literal["open", "closed"]) -> WatchMessage:
    window = report.window
    span = "" if window is None else f"{window.start} to {window.end}"
    value = "-" if alert.value is None else f"{alert.value:.4g}"
    what = "ALERT" if state == "open" else "over"
    facts = f"; {'; '.join(alert.evidence)}" if alert.evidence else ""
    line = f"karat {what}: {alert.name} is {value} ({alert.title}; an alert {alert.rule}){facts}"
    return WatchMessage(
        text=make_line(line),
        id=f"{alert.name} {state} {report.time}",
        store=report.store,
        alert=alert.name,
        state=state,
        time=report.time,
        window=span,
        value=alert.value,
        limit=alert.limit,
        rule=alert.rule,
        evidence=alert.evidence,
    )


def _write_end(report: WatchReport, name: str) -> WatchMessage:
    return WatchMessage(
        text=make_line(f"karat over: {name} is switched off"), id=f"{name} closed {report.time}", store=report.store,
        alert=name, state="closed", time=report.time, window="", value=None, limit=None, rule="switched off",
        evidence=(),
    )  # fmt: skip


def make_line(text: str) -> str:
    """Return a line that no chat reads as markup or a mention: printable, escaped, and not too long.

    >>> make_line("index <!channel> of" + chr(10) + "build & co")
    'index &lt;!channel&gt; of build &amp; co'
    """
    words = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    short = words if len(words) <= 4 * _LONGEST else f"{words[: 4 * _LONGEST]} ..."
    return html.escape(short, quote=False)
