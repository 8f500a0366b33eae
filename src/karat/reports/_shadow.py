"""The report on shadow runs: its sentence, facts and tables, for the terminal and as one HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from karat.core import count_things
from karat.reports._page import render_page, render_section
from karat.reports._words import count
from karat.schema.shadow import ShadowMeasure, ShadowMover, ShadowReport, ShadowShare


class ShadowTable(NamedTuple):
    """A table of the report."""

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def render_shadow_html(report: ShadowReport) -> str:
    """Return the report as one HTML page that opens offline. Nothing in it can act as markup, and no script may run."""
    return render_page(
        f"Shadow runs of {report.feature}",
        f"In the shadow: {report.feature}",
        describe_shadow(report),
        list_shadow_facts(report),
        report.notes,
        (
            render_section(*table, words=_WORDS, caption=_CAPTIONS.get(table.head, ""))
            for table in list_shadow_tables(report)
        ),
    )


def describe_shadow(report: ShadowReport) -> str:
    """Return the report in a sentence."""
    if not report.runs:
        return "There are no shadow runs."
    runs, units = count(report.runs, "run"), count(report.units, "session or query", "sessions or queries")
    same, left = report.classes[0], report.classes[-1]
    compared = report.runs - left.count
    alike = f"of {compared:,} compared, {_percent(same.count / compared)} have identical lists" if compared else ""
    rest = f"{_percent(left.share)} are not compared" if left.count else ""
    ends = "; ".join(filter(None, (alike, rest)))
    return f"{runs} of {units}, {_moment(report.first)} to {_moment(report.last)} UTC; {ends}."


def _moment(time: str) -> str:
    """Return a time as people read it.

    >>> _moment("2026-11-19T21:43:17Z")
    '2026-11-19 21:43'
    """
    return time[:16].replace("T", " ")


def list_shadow_facts(report: ShadowReport) -> Iterator[tuple[str, str]]:
    """Yield what is known of the runs, each with its name."""
    yield "Store", report.store
    for control, treatment in report.systems[:3]:
        yield "Systems", f"control {control or '-'}, treatment {treatment or '-'}"
    if report.estimated > report.runs:
        yield "Stand for", count_things(report.estimated, "call")
    yield "From", ", ".join(f"{source} {number:,}" for source, number in report.sources.items()) or "-"
    alike = report.similarity
    if alike.rbo is not None and alike.overlap is not None and alike.tau is not None:
        yield (
            "Lists",
            f"RBO {alike.rbo:.3f}, Jaccard {alike.overlap:.3f}, tau-b {alike.tau:.3f} (means, n {alike.runs:,})",
        )
    if report.latency is not None:
        own = report.latency
        ends = "" if own.low is None else f" ({own.low:.2f} to {'any' if own.high is None else f'{own.high:.2f}'})"
        ratio = "-" if own.ratio is None else f"{own.ratio:.2f}{ends}"
        yield (
            "p95",
            (f"control {own.control_p95:.1f} ms, treatment {own.treatment_p95:.1f} ms, ratio {ratio}, n {own.n:,}"),
        )


def list_shadow_tables(report: ShadowReport) -> Iterator[ShadowTable]:
    """Yield the tables of the report; one without rows has nothing to say."""
    head = ("lists", "share", "95 % interval", "runs")
    shares = [*report.classes, report.similarity.top_changed]
    yield ShadowTable("How lists differ", head, [_row_share(share) for share in shares])
    if report.judged is not None:
        title = f"On {count(report.judged.runs, 'run')} judged by {report.judged.golden}"
        yield ShadowTable(title, _MEASURE_HEAD, [_row_measure(row) for row in report.judged.measures])
    for title, movers in (("Documents that rise", report.rising), ("Documents that fall", report.falling)):
        yield ShadowTable(title, _MOVER_HEAD, [_row_mover(mover) for mover in movers])
    statuses = [(status, f"{number:,}") for status, number in report.statuses.items()]
    yield ShadowTable("What became of calls", ("status", "runs"), statuses)


_MEASURE_HEAD = (
    "measure", "control", "treatment", "difference", "95 % interval", "whatever unjudged is", "unjudged", "runs",
)  # fmt: skip
_WORDS = ("lists", "measure", "document", "status")
"""The columns that hold no numbers."""
_MOVER_HEAD = ("document", "movement", "up", "down", "entered", "left")
_CAPTIONS = {
    _MEASURE_HEAD: "Unjudged: the share of unjudged documents in the lists of the control and of the treatment. "
    "Whatever unjudged is: the smallest and the largest difference over all grades that they may have.",
    _MOVER_HEAD: "A place is worth 1 / log2(rank + 1), as in DCG. The movement is what the treatment gives a document "
    "less what the control gives it, over all runs. The other columns count runs; entered and left are those in which "
    "only one of them returns it.",
}
"""What the columns of a table mean, by its head."""


def _row_share(share: ShadowShare) -> tuple[str, ...]:
    if share.share is None:
        return share.name, "-", "-", "0 of 0"
    interval = f"{share.low:.1%} to {share.high:.1%}"
    return share.name, _percent(share.share), interval, f"{share.count:,} of {share.total:,}"


def _row_measure(row: ShadowMeasure) -> tuple[str, ...]:
    unjudged = f"{_percent(row.control_unjudged)}, {_percent(row.treatment_unjudged)}"
    return (
        row.measure, _number(row.control), _number(row.treatment), _signed(row.delta), _span(row.low, row.high),
        _span(row.worst, row.best), unjudged, f"{row.runs:,}",
    )  # fmt: skip


def _row_mover(mover: ShadowMover) -> tuple[str, ...]:
    counts = (mover.up, mover.down, mover.entered, mover.left)
    return mover.document, _signed(mover.movement), *(f"{number:,}" for number in counts)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.4f}"


def _span(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{low:+.4f} to {high:+.4f}"
