"""The reports on watching: their sentences and tables, for the terminal and as HTML pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from karat.core import count_things
from karat.reports._page import render_page, render_section
from karat.reports._words import count
from karat.schema.watch import CanaryReport, CanaryRule, WatchAlert, WatchReport, WatchWindow

_STATES = {"fine": "fine", "firing": "ALERT", "not measurable": "not measurable"}
_CLASSES = {"fine": "pass", "alert": "fail", "not measurable": "inconclusive"}
_DECISIONS = {"promote": "pass", "done": "pass", "roll back": "fail", "hold": "inconclusive", "off": "inconclusive"}
_COUNTS = ("index", "normaliser", "silence", "dropped")
_UNITS = {
    "Alerts": "Values are shares, so that 0.05 is 5 %, except delta-S, tau-b and counts. n is what a value rests on.",
    "Windows": "The newest first. A window that is open or thin is shown and not judged.",
}
"""What stands above a table of a page, by its title."""
_TWO_HOURS = 120.0
_ORDER = ("firing", "beyond", "not measurable", "fine")
_SHORT = {
    "coverage": "coverage", "citation": "citation", "delta_s_p90": "delta-S p90", "delta_s_median": "delta-S median",
    "divergent": "divergent", "rank_similarity": "tau-b", "p95": "p95 rise", "errors": "errors",
    "nothing_found": "nothing found", "asked_again": "asked again", "index": "other index",
    "normaliser": "other normaliser",
}  # fmt: skip


class WatchTable(NamedTuple):
    """A table of a report."""

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


_WORDS = ("alert", "about", "is now", "state", "fires", "rule", "condition", "window")
_WIDE = ("alert", "why")
_TONES = {"ALERT": "fail", "beyond": "none", "fine": "pass", "not measurable": "none", "not met": "none"}
"""How the words of the column "state" look on a page."""


def render_watch_html(report: WatchReport) -> str:
    """Return the report as one HTML page that opens offline. Nothing in it can act as markup, and no script may run."""
    facts = [("Store", report.store), ("As of", f"{report.time[:16].replace('T', ' ')} UTC")]
    if report.window is not None:
        facts.append(("Window", _span(report.window.start, report.window.end)))
        facts.append(("Queries", f"{report.window.samples:,}"))
    if report.off:
        facts.append(("Switched off", ", ".join(report.off)))
    beyond = report.status == "fine" and any(alert.state == "beyond" for alert in report.alerts)
    return render_page(
        "Live traffic",
        "Beyond a limit"
        if beyond
        else {"fine": "Fine", "alert": "Alert", "not measurable": "Not measurable"}[report.status],
        describe_watch(report),
        facts,
        report.notes,
        _list_sections(report),
        state="inconclusive" if beyond else _CLASSES[report.status],
    )


def describe_state(alert: WatchAlert) -> str:
    """Return the state of an alert in words, such as ``beyond, for 5 of 15 min``."""
    if alert.state == "beyond":
        return f"beyond, for {alert.minutes:g} of {alert.minutes_needed:g} min"
    return _STATES[alert.state]


def describe_alert(alert: WatchAlert) -> str:
    """Return what an alert has found, and from when on it fires, as one clause without a full stop."""
    if alert.name == "silence" and alert.value is not None:
        return f"no query for {_format_age(alert.value)}, an alert {alert.rule}"
    value = "" if alert.value is None else f": {format_signal(alert.value, alert.name)}"
    return f"{alert.title}{value}, an alert {alert.rule}"


def describe_watch(report: WatchReport) -> str:
    """Return the report in a sentence."""
    firing = [alert for alert in report.alerts if alert.state == "firing"]
    unknown = [alert for alert in report.alerts if alert.state == "not measurable"]
    beyond = [alert for alert in report.alerts if alert.state == "beyond"]
    fine = len(report.alerts) - len(firing) - len(beyond) - len(unknown)
    parts = [f"{', '.join(alert.name for alert in firing)} {'fires' if len(firing) == 1 else 'fire'}"] if firing else []
    if waiting := [alert.name for alert in unknown if alert.opened]:
        parts.append(f"{', '.join(waiting)} {'is' if len(waiting) == 1 else 'are'} open, and cannot be measured now")
    if beyond:
        names = ", ".join(alert.name for alert in beyond)
        parts.append(f"{names} {'is' if len(beyond) == 1 else 'are'} beyond the limit, not long enough to fire")
    parts += [f"{fine} of {count(len(report.alerts), 'alert')} {'is' if fine == 1 else 'are'} fine"]
    if unknown:
        parts.append(f"{len(unknown)} {'is' if len(unknown) == 1 else 'are'} not measurable")
    return f"{report.store}, {report.time}: {'; '.join(parts)}.{_describe_silence(report.silent_minutes)}"


def _describe_silence(minutes: float | None) -> str:
    """Return how old the newest query is, in a sentence."""
    if minutes is None:
        return ""
    return f" The newest query is {_format_age(minutes)} old."


def _format_age(minutes: float) -> str:
    return f"{minutes / 60:.1f} hours" if minutes >= _TWO_HOURS else f"{count(round(minutes), 'minute')}"


def list_watch_tables(report: WatchReport) -> Iterator[WatchTable]:
    """Yield the tables of the report; one without rows has nothing to say."""
    alerts = sorted(report.alerts, key=lambda alert: _ORDER.index(alert.state))
    yield WatchTable(
        "Alerts", ("alert", "state", "value", "fires", "n", "why"), [_row_alert(alert) for alert in alerts]
    )
    changes = [(name, "opened") for name in report.opened] + [(name, "closed") for name in report.closed]
    yield WatchTable("What this look changed", ("alert", "is now"), changes)
    names = [name for name in _SHORT if any(_has(window, name) for window in report.windows)]
    head = ("window", "queries", *(_SHORT[name] for name in names))
    yield WatchTable("Windows", head, [_row_window(window, names) for window in reversed(report.windows)])


def _list_sections(report: WatchReport) -> Iterator[str]:
    """Yield the tables of the page: alerts with what they are about; apart from them those without a measurement."""
    (alerts, *others), titles = list_watch_tables(report), {alert.name: alert.title for alert in report.alerts}
    reasons: dict[str, list[str]] = {}
    for alert in report.alerts:
        if alert.state == "not measurable" and not alert.opened:
            reasons.setdefault(alert.reason, []).append(alert.name)
    apart = {name for names in reasons.values() for name in names}
    rows = [(f"{name}: {titles[name]}", *rest) for name, *rest in alerts.rows if name not in apart]
    yield _render(alerts._replace(rows=rows))
    for reason, names in reasons.items():
        table = WatchTable("Not measurable", ("alert", "about"), [(name, titles[name]) for name in names])
        yield _render(table, caption=reason)
    yield from map(_render, others)


def _render(table: WatchTable, caption: str = "") -> str:
    return render_section(
        *table, words=_WORDS, wide=_WIDE, tones=_TONES, caption=caption or _UNITS.get(table.title, "")
    )


def _has(window: WatchWindow, name: str) -> bool:
    return name in window.signals and window.signals[name].value is not None


def _row_alert(alert: WatchAlert) -> tuple[str, ...]:
    why = alert.reason or "; ".join(alert.evidence)
    state = describe_state(alert)
    if alert.opened and alert.state != "firing":
        state = f"{state}, open since {alert.opened}"
    elif alert.opened:
        state = f"{state} since {alert.opened}"
    return alert.name, state, format_signal(alert.value, alert.name), alert.rule, f"{alert.n:,}", why


def _row_window(window: WatchWindow, names: Sequence[str]) -> tuple[str, ...]:
    state = "" if window.state == "complete" else f" ({window.state})"
    values = (format_signal(window.signals[name].value, name) if name in window.signals else "-" for name in names)
    return f"{_span(window.start, window.end)}{state}", f"{window.samples:,}", *values


def _span(start: str, end: str) -> str:
    """Return a span of time in one day as people read it.

    >>> _span("2026-11-18T01:05:00Z", "2026-11-18T01:10:00Z")
    '2026-11-18 01:05 to 01:10'
    """
    return f"{start[:10]} {start[11:16]} to {end[11:16]}"


def format_signal(value: float | None, name: str = "") -> str:
    """Return a value of an alert as its table shows it.

    >>> format_signal(5689.4, "silence"), format_signal(0.0412, "p95"), format_signal(120, "index"), format_signal(None)
    ('5,689 min', '0.041', '120', '-')
    """
    if value is None:
        return "-"
    return f"{value:,.0f}{' min' if name == 'silence' else ''}" if name in _COUNTS else f"{value:.3f}"


def render_canary_html(report: CanaryReport) -> str:
    """Return a decision on a canary as one HTML page, like :func:`render_watch_html`."""
    facts = [("Store", report.store), ("As of", report.time), ("Share now", f"{report.percent:g} %")]
    facts.append(("Flag", f"version {report.version}, {'changed' if report.applied else 'not changed'}"))
    return render_page(
        f"Canary {report.flag}",
        f"{report.flag}: {report.decision}",
        describe_canary(report),
        facts,
        report.notes,
        map(_render, list_canary_tables(report)),
        state=_DECISIONS[report.decision],
    )


def describe_canary(report: CanaryReport) -> str:
    """Return a decision on a canary in a sentence."""
    step = {"promote": f" to {report.next:g} %", "roll back": ", off"}.get(report.decision, "")
    done = "" if not step else " (done)" if report.applied else " (not applied)"
    return f"{report.flag} at {report.percent:g} %: {report.decision}{step}{done}; {report.reason}"


def list_canary_tables(report: CanaryReport) -> Iterator[WatchTable]:
    """Yield a table for each window of a canary, the newest first."""
    for window in reversed(report.windows):
        sizes = f"{count_things(window.samples, 'query', 'queries')} with it, {window.live:,} without"
        title = f"{_span(window.start, window.end)}: {_STATES[window.state]}, {sizes}"
        rules = sorted(window.rules, key=lambda rule: _ORDER.index(rule.state))
        yield WatchTable(
            title, ("rule", "state", "canary", "beside", "condition", "why"), [_row_rule(rule) for rule in rules]
        )


def _row_rule(rule: CanaryRule) -> tuple[str, ...]:
    state = "not met" if rule.kind == "step" and rule.state == "firing" else _STATES[rule.state]
    return rule.name, state, format_signal(rule.canary, rule.name), format_signal(rule.live), rule.rule, rule.reason
