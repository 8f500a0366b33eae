"""Watching: a look at live traffic, the alerts that it opens and closes, and what is sent about them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence

from msgspec import structs

from karat.config import AlertLimit, OnlineConfig
from karat.core import count_things
from karat.monitoring._alerts import record_alerts
from karat.monitoring._look import Look, Measured, look_at
from karat.monitoring._rules import is_beyond, judge_alert, make_alert
from karat.monitoring._times import format_time
from karat.monitoring._traffic import missing
from karat.monitoring._windows import Window
from karat.online import LogReader, check_health
from karat.projects import Project
from karat.schema import OnlineHealth
from karat.schema.watch import WatchAlert, WatchReport, WatchState, WatchValue, WatchWindow
from karat.store import Store, has_store, open_store

LOG = "log"
"""The name under which the state of looks at a whole log is kept."""


def watch(
    store: str | os.PathLike[str] = "karat.db",
    project: Project | None = None,
    *,
    config: OnlineConfig | None = None,
    now: float | None = None,
    record: bool = True,
) -> WatchReport:
    """Look at the live traffic of a log once, and open and close alerts.

    ``project`` has the golden set, the documents and, unless ``config`` is given, the limits; without one they are the
    defaults. ``now`` is the time of the look, in seconds since 1970. Without ``record`` nothing is changed. A log that
    cannot be read raises :class:`karat.core.SystemFailed`, and one that is not there InputError.
    """
    chosen = config or (OnlineConfig() if project is None else project.config.online)
    moment = time.time() if now is None else now
    health = check_health(store)
    dropped = sum(health.dropped.values())
    if not has_store(store):
        return _report(Look(windows=()), chosen, health, moment, {}, dropped)
    with open_store(store) as opened:
        look = look_at(opened, chosen, project, moment)
        newest = LogReader(opened).totals(None, moment).last
        known = {row[1]: format_time(row[2]) for row in opened.alerts.list_open()}
        report = _report(look, chosen, health, moment, known, dropped - _count_dropped(opened), newest)
    if not record:
        return report
    start = look.measured[-1].window.start if look.measured else 0.0
    return record_alerts(store, LOG, report, start=start, now=moment, dropped=dropped)


def _count_dropped(store: Store) -> int:
    """Return how many records had been dropped at the last look."""
    watched = store.alerts.watched(LOG)
    return 0 if watched is None else int(watched[2])


def _report(
    look: Look,
    config: OnlineConfig,
    health: OnlineHealth,
    now: float,
    opened: Mapping[str, str],
    dropped: int,
    newest: float | None = None,
) -> WatchReport:
    silence = _measure_silence(newest, now, health.journal.waiting)
    reason = _find_silence(silence, config) or _find_reason(look, config, now)
    counted = {"dropped": WatchValue(value=float(max(dropped, 0)), n=max(dropped, 0)), "silence": silence}
    alerts = tuple(_judge(look.measured, config, opened, reason, counted))
    firing = any(alert.state == "firing" or (alert.opened and alert.state != "fine") for alert in alerts)
    unknown = not alerts or any(alert.state == "not measurable" for alert in alerts)
    shown = {measured.window: measured for measured in look.measured}
    first = look.measured[0].window.start if look.measured else 0.0
    windows = [_write_window(window, shown.get(window)) for window in look.windows if window.start >= first]
    return WatchReport(
        store=health.store,
        time=format_time(now),
        status="alert" if firing else "not measurable" if unknown else "fine",
        window=_write_window(look.measured[-1].window, look.measured[-1]) if look.measured else None,
        windows=tuple(windows[-2 * config.shown :]),
        alerts=alerts,
        off=tuple(name for name, limit in config.alerts.items() if not limit.on),
        waiting=health.journal.waiting,
        opened=(),
        closed=(),
        notes=(*_list_notes(health), *(() if alerts else ("every alert is switched off: nothing is watched",))),
        newest=None if newest is None else format_time(newest),
        silent_minutes=silence.value,
    )


def _measure_silence(newest: float | None, now: float, waiting: int) -> WatchValue:
    """Return for how many minutes nobody has asked anything that is in the store."""
    if newest is None:
        return missing("no query is in the store")
    evidence = [f"the newest query is of {format_time(newest)}"]
    if waiting:
        evidence.append(f"{count_things(waiting, 'record waits', 'records wait')} in the journal")
    return WatchValue(value=max(0.0, (now - newest) / 60), n=1, evidence=tuple(evidence))


def _find_silence(silence: WatchValue, config: OnlineConfig) -> str:
    """Return that nobody asks anything, which says nothing of what people get; empty if somebody does."""
    limit = config.alerts.get("silence")
    if limit is None or not limit.on or silence.value is None or not is_beyond("silence", silence.value, limit.limit):
        return ""
    return f"nothing was asked for {silence.value / 60:.1f} hours: {silence.evidence[0]}"


def _find_reason(look: Look, config: OnlineConfig, now: float) -> str:
    """Return why nothing of the newest window can be said; empty if there is one."""
    current = next((window for window in reversed(look.windows) if window.state == "open"), None)
    has = (
        ""
        if current is None
        else f"; the one since {format_time(current.start)} has {count_things(current.samples, 'query', 'queries')}"
    )
    if not look.measured:
        least = f"{count_things(config.samples, 'query', 'queries')} in {config.minutes:g} minutes or more of one day"
        return f"there is no complete window ({least}) in the last {config.history_hours:g} hours{has}"
    end = look.measured[-1].window.end
    if now - end > config.stale_minutes * 60:
        return f"the newest complete window ended {(now - end) / 3600:.1f} hours ago, at {format_time(end)}{has}"
    return ""


def _judge(
    measured: Sequence[Measured],
    config: OnlineConfig,
    opened: Mapping[str, str],
    reason: str,
    counted: Mapping[str, WatchValue],
) -> Iterator[WatchAlert]:
    """Yield the alerts; ``counted`` are the signals that are not those of a window."""
    for name, limit in config.alerts.items():
        if not limit.on:
            continue
        if name in counted:
            yield _judge_now(name, limit, counted[name], opened.get(name))
        elif reason:
            yield make_alert(name, limit, missing(reason), "not measurable", opened=opened.get(name))
        else:
            windows = [(seen.window, seen.signals[name]) for seen in measured]
            yield judge_alert(name, limit, windows, opened.get(name))


def _judge_now(name: str, limit: AlertLimit, value: WatchValue, opened: str | None) -> WatchAlert:
    """Return an alert by what is so at the time of the look."""
    state: WatchState = "not measurable"
    if value.value is not None:
        state = "firing" if is_beyond(name, value.value, limit.limit) else "fine"
    return make_alert(name, limit, value, state, opened=opened)


def _write_window(window: Window, measured: Measured | None) -> WatchWindow:
    return WatchWindow(
        start=format_time(window.start),
        end=format_time(window.end),
        samples=window.samples,
        state=window.state,
        signals={} if measured is None else measured.signals,
    )


def _list_notes(health: OnlineHealth) -> Iterator[str]:
    if health.journal.waiting:
        yield (
            f"{count_things(health.journal.waiting, 'record waits', 'records wait')} in the journal, and "
            "are not part of this report: run karat online ingest"
        )
    if health.damages or health.journal.damages:
        yield "parts of the journal cannot be read: see karat online health"


def exit_code(report: WatchReport) -> int:
    """Return the exit code of a look: 0 fine, 1 an alert, 4 not measurable."""
    return {"fine": 0, "alert": 1, "not measurable": 4}[report.status]


def add_notes(report: WatchReport, notes: Sequence[str]) -> WatchReport:
    """Return a report with more notes."""
    return structs.replace(report, notes=(*report.notes, *notes))
