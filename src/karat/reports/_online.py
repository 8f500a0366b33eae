"""The report on live traffic as one HTML page, in the style of all reports; it needs no script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from karat.reports._page import render_page, render_section
from karat.reports._words import count
from karat.schema.feedback import OnlineDay, OnlineQuery, OnlineRate, OnlineReport

_DAYS = 31


def render_online_html(report: OnlineReport) -> str:
    """Return the report as one HTML page that opens offline. Nothing in it can act as markup, and no script may run."""
    return render_page(
        f"Live traffic of {report.store}",
        "Live traffic",
        describe_traffic(report),
        list_traffic_facts(report),
        report.notes,
        _sections(report),
    )


def describe_traffic(report: OnlineReport) -> str:
    """Return the traffic in a sentence."""
    if not report.queries:
        return "There are no queries."
    queries, sessions = (
        count(report.queries, "query", "queries"),
        f"{_about(report)}{count(report.sessions, 'session')}",
    )
    days = dict.fromkeys(moment[:10] for moment in (report.first, report.last) if moment)
    return f"{queries} in {sessions}, {' to '.join(days)}."


def list_traffic_facts(report: OnlineReport) -> Iterator[tuple[str, str]]:
    """Yield what is known of the traffic, each with its name."""
    yield "Store", report.store
    alone = report.oddities.get("without_session", 0)
    others = f", and {alone:,} that {'belongs' if alone == 1 else 'belong'} to no session or query" if alone else ""
    yield "Events", f"{_about(report)}{report.events:,}{others}"
    if report.searches_per_session is not None and report.minutes_per_session is not None:
        minutes = f"{report.minutes_per_session:.1f} minutes (median)"
        yield "A session", f"{report.searches_per_session:.1f} queries (mean), {minutes}"
    if report.latency is not None:
        latency = report.latency
        yield (
            "Latency",
            f"p50 {_ms(latency.p50)}, p95 {_ms(latency.p95)}, p99 {_ms(latency.p99)}, n {latency.n:,}",
        )
    if report.rank_read is not None:
        yield "Read at", f"rank {report.rank_read} (median)"
    if report.task_outcome is not None:
        yield "Tasks", f"{report.task_outcome:.2f} (mean outcome of {_about(report)}{count(report.tasks, 'session')})"
    for name, number in report.oddities.items():
        yield "Odd records", f"{name.replace('_', ' ')} {'' if name in _COUNTED else _about(report)}{number:,}"


_COUNTED = ("without_session", "odd_outcomes", "negative_latencies")
"""What is counted of all records, however many sessions are looked at."""


def _about(report: OnlineReport) -> str:
    """Return what stands before a number that is known of all sessions only if all were looked at."""
    return "about " if report.sample < 1 else ""


def describe_sample(report: OnlineReport) -> str:
    """Return what to add to a number of different queries, which cannot be estimated from some of the sessions."""
    return f" in {100 * report.sample:.3g} % of all sessions" if report.sample < 1 else ""


def describe_estimate(report: OnlineReport) -> str:
    """Return what to add to the name of a table whose counts are estimates; empty if all sessions were looked at."""
    return f", estimated from {100 * report.sample:.3g} % of all sessions" if report.sample < 1 else ""


def _ms(time: float) -> str:
    """Return milliseconds, with a digit more if they are few."""
    return f"{time:.1f} ms" if time < 10 else f"{time:.0f} ms"


def format_rate(rate: OnlineRate) -> tuple[str, str, str]:
    """Return a rate as its share, its interval, and what it is of."""
    if rate.share is None:
        return "-", "-", "0 of 0"
    return f"{rate.share:.1%}", f"{rate.low:.1%} to {rate.high:.1%}", f"{rate.count:,} of {rate.total:,}"


def _sections(report: OnlineReport) -> Iterator[str]:
    rates = [(rate.name, *format_rate(rate)) for rate in report.rates]
    head = ("became", "share", "95 % interval", "queries")
    yield render_section("What became of queries", head, rates, _WORDS, caption=_RATES)
    estimate = describe_estimate(report)
    worst = map(row_query, report.worst)
    yield render_section(f"Queries that fail most{estimate}", QUERY_HEAD, worst, _WORDS, caption=_NEAREST)
    if report.drift is not None:
        drift = report.drift
        shares = [(rate.name, *format_rate(rate)) for rate in (drift.covered, drift.citations)]
        missing = f"{drift.not_asked:,} of its own were not asked{describe_sample(report)}"
        title = f"Beside the golden set {drift.golden}: {missing}"
        yield render_section(title, ("in the set", "share", "95 % interval", "queries"), shares, _WORDS_OF_SET)
        yield render_section(
            f"Asked, and not in the set: {drift.unseen:,}{describe_sample(report)}",
            QUERY_HEAD,
            map(row_query, drift.most_asked),
            _WORDS,
            caption=_NEAREST,
        )
    intents = [
        (intent.intent or "-", f"{intent.queries:,}", f"{intent.share:.1%}", _percent(intent.golden_share),
         f"{intent.nothing_found:,}", f"{intent.asked_again:,}", f"{intent.used:,}")
        for intent in report.intents
    ]  # fmt: skip
    yield render_section(f"By intent{estimate and ', what became of them' + estimate}", INTENT_HEAD, intents, _WORDS)
    yield render_section(
        f"By day{estimate and ', failures' + estimate}",
        ("day", "queries", "failures"),
        _list_days(report.days[-_DAYS:]),
        _WORDS,
    )


def _list_days(days: Sequence[OnlineDay]) -> Iterator[tuple[str, str, str]]:
    """Yield a row for every day, and one for days in between without a query."""
    step, before = timedelta(days=1), None
    for day in days:
        today = date.fromisoformat(day.day)
        if before is not None and today - before > step:
            gap = dict.fromkeys((str(before + step), str(today - step)))
            yield " to ".join(gap), "no traffic", "-"
        yield day.day, f"{day.queries:,}", f"{day.failures:,}"
        before = today


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


QUERY_HEAD = ("query", "how it ends", "sessions", "failures", "last asked", "nearest golden query")
_WORDS = ("became", "query", "how it ends", "last asked", "nearest golden query", "intent", "day")
"""The columns that hold no numbers."""
_WORDS_OF_SET = ("in the set",)
_RATES = (
    "A query failed if it ended with an error, found nothing, was asked again, or was called not useful, and nothing "
    "of it was useful. The intervals allow for queries of one session being alike."
)
_NEAREST = "Nearest is the golden query that shares most words; a dash: none shares half of them."
INTENT_HEAD = ("intent", "queries", "share", "in the set", "nothing found", "asked again", "used")


def row_query(query: OnlineQuery) -> tuple[str, ...]:
    """Return a query as the row of a table under :data:`QUERY_HEAD`."""
    return (
        query.text, query.outcome, f"{query.sessions:,}", f"{query.failures:,}", query.latest,
        f"{query.nearest}: {query.nearest_text}" if query.nearest else "-",
    )  # fmt: skip
