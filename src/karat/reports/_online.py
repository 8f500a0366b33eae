"""The report on live traffic as one HTML page, in the style of all reports; it needs no script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from karat.reports._html import escape_text, hash_source, read_asset
from karat.reports._words import count
from karat.schema.feedback import OnlineQuery, OnlineRate, OnlineReport

_DAYS = 31


def render_online_html(report: OnlineReport) -> str:
    """Return the report as one HTML page that opens offline. Nothing in it can act as markup, and no script may run."""
    style = read_asset("report.css")
    policy = f"default-src 'none'; style-src {hash_source(style)}; img-src data:; base-uri 'none'; form-action 'none'"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Live traffic of {escape_text(report.store)}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<header class="bar"><p class="brand">karat</p></header>
<main>
<section class="verdict none" aria-labelledby="title">
<div class="said"><h1 id="title">Live traffic</h1>
<p class="lead">{escape_text(describe_traffic(report))}</p></div>
<dl class="facts">{_facts(report)}</dl>
</section>
{_notes(report)}
{"".join(_sections(report))}
</main>
</body>
</html>
"""


def describe_traffic(report: OnlineReport) -> str:
    """Return the traffic in a sentence."""
    if not report.queries:
        return "There are no queries."
    queries, sessions = count(report.queries, "query", "queries"), count(report.sessions, "session")
    return f"{queries} in {sessions}, {report.first} to {report.last}."


def list_traffic_facts(report: OnlineReport) -> Iterator[tuple[str, str]]:
    """Yield what is known of the traffic, each with its name."""
    yield "Store", report.store
    yield "Events", f"{report.events:,}"
    if report.searches_per_session is not None and report.minutes_per_session is not None:
        minutes = f"{report.minutes_per_session:.1f} minutes (median)"
        yield "A session", f"{report.searches_per_session:.1f} queries (mean), {minutes}"
    if report.latency is not None:
        latency = report.latency
        yield (
            "Latency",
            f"p50 {latency.p50:.0f} ms, p95 {latency.p95:.0f} ms, p99 {latency.p99:.0f} ms, n {latency.n:,}",
        )
    if report.rank_read is not None:
        yield "Read at", f"rank {report.rank_read} (median)"
    if report.task_outcome is not None:
        yield "Tasks", f"{report.task_outcome:.2f} (mean outcome)"
    for name, number in report.oddities.items():
        yield "Odd records", f"{name.replace('_', ' ')} {number:,}"


def format_rate(rate: OnlineRate) -> tuple[str, str, str]:
    """Return a rate as its share, its interval, and what it is of."""
    if rate.share is None:
        return "-", "-", "0 of 0"
    return f"{rate.share:.1%}", f"{rate.low:.1%} to {rate.high:.1%}", f"{rate.count:,} of {rate.total:,}"


def _facts(report: OnlineReport) -> str:
    facts = list_traffic_facts(report)
    return "".join(f"<div><dt>{name}</dt><dd>{escape_text(fact)}</dd></div>" for name, fact in facts)


def _notes(report: OnlineReport) -> str:
    notes = "".join(f"<li>{escape_text(note)}</li>" for note in report.notes)
    return f'<section class="callout"><h2>Read with care</h2><ul>{notes}</ul></section>' if notes else ""


def _sections(report: OnlineReport) -> Iterator[str]:
    rates = [(rate.name, *format_rate(rate)) for rate in report.rates]
    yield _table("What became of queries", ("", "share", "95 % interval", "queries"), rates)
    yield _table("Queries that fail most", QUERY_HEAD, map(row_query, report.worst))
    if report.drift is not None:
        drift = report.drift
        shares = [(rate.name, *format_rate(rate)) for rate in (drift.covered, drift.citations)]
        yield _table(f"Beside the golden set {drift.golden}", ("", "share", "95 % interval", "queries"), shares)
        yield _table(f"Asked, and not in the set: {drift.unseen:,}", QUERY_HEAD, map(row_query, drift.most_asked))
    intents = [
        (intent.intent or "-", f"{intent.queries:,}", f"{intent.share:.1%}", _percent(intent.golden_share),
         f"{intent.nothing_found:,}", f"{intent.asked_again:,}", f"{intent.used:,}")
        for intent in report.intents
    ]  # fmt: skip
    yield _table("By intent", INTENT_HEAD, intents)
    days = [(day.day, f"{day.queries:,}", f"{day.failures:,}") for day in report.days[-_DAYS:]]
    yield _table("By day", ("day", "queries", "failures"), days)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


QUERY_HEAD = ("query", "how it ends", "sessions", "failures", "last asked", "nearest golden query")
INTENT_HEAD = ("intent", "queries", "share", "in the set", "nothing found", "asked again", "used")


def row_query(query: OnlineQuery) -> tuple[str, ...]:
    """Return a query as the row of a table under :data:`QUERY_HEAD`."""
    return (
        query.text, query.outcome, f"{query.sessions:,}", f"{query.failures:,}", query.latest, query.nearest or "-",
    )  # fmt: skip


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    body = "".join(f"<tr>{''.join(f'<td>{escape_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    if not body:
        return ""
    names = "".join(f'<th scope="col">{escape_text(name)}</th>' for name in head)
    table = f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"
    return f'<section><h2>{escape_text(title)}</h2><div class="scroll">{table}</div></section>'
