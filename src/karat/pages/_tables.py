"""What pages show as rows, for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from karat.schema.pages import (
    ComparisonPage,
    GoldenQueryPage,
    OverviewPage,
    ProposalsPage,
    QueryPage,
    RankingsPage,
    RunPage,
    RunsPage,
)

Cell = str | int | float | bool | None


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows under a head."""

    head: Sequence[str]
    rows: Iterable[Sequence[Cell]]


def table_overview(page: OverviewPage) -> Table:
    """Return the trend: a row for each run, the oldest first."""
    names = [measure.name for measure in page.measures]
    head = [
        "run",
        "title",
        "date",
        "outcome",
        *(f"{name} {part}" for name in names for part in ("mean", "low", "high")),
    ]
    rows = [
        [
            point.run,
            point.title,
            point.date,
            point.outcome,
            *(values.get(name) for name in names for values in (point.means, point.low, point.high)),
        ]
        for point in page.trend
    ]
    return Table(head=head, rows=rows)


def table_runs(page: RunsPage) -> Table:
    """Return a row for each run, with the mean, the interval and the number of queries of each measure."""
    parts = ("mean", "low", "high", "n")
    head = ["run", "title", "date", "begun", "system", "commit", "branch", "state", "outcome", "baseline"]
    head += ["queries", "failed", *(f"{name} {part}" for name in page.measures for part in parts)]
    rows = []
    for run in page.runs:
        row: list[Cell] = [run.id, run.title, run.date, run.begun, run.system, run.commit, run.branch, run.state]
        row += [run.outcome, run.is_baseline, run.queries, run.failed]
        for name in page.measures:
            measure = run.find(name)
            row += [None] * 4 if measure is None else [measure.mean, measure.low, measure.high, measure.n]
        rows.append(row)
    return Table(head=head, rows=rows)


def table_run(page: RunPage) -> Table:
    """Return a row for each query of the page."""
    head = ["query", "text", "category", "states", "milliseconds", *page.measures]
    rows = [
        [
            query.id,
            query.text,
            query.category,
            ", ".join(query.states),
            query.milliseconds,
            *(query.scores[name] for name in page.measures),
        ]
        for query in page.queries
    ]
    return Table(head=head, rows=rows)


def table_comparison(page: ComparisonPage) -> Table:
    """Return a row for each query of the page."""
    head = ["query", "text", "category", f"{page.measure} A", f"{page.measure} B", "gain", "moved by"]
    rows = [
        [query.id, query.text, query.category, query.first, query.second, query.gain, query.mover]
        for query in page.queries
    ]
    return Table(head=head, rows=rows)


def table_rankings(page: RankingsPage) -> Table:
    """Return a row for each hit of both rankings."""
    head = ["run", "rank", "id", "document", "title", "score", "grade", "rank in the other", "moved by"]
    rows = [
        [name, hit.rank, hit.id, hit.document, hit.title, hit.score, hit.grade, hit.other, hit.mover]
        for name, side in (("A", page.first), ("B", page.second))
        for hit in side.hits
    ]
    return Table(head=head, rows=rows)


def table_golden_query(page: GoldenQueryPage) -> Table:
    """Return a row for each judgment."""
    head = ["query", "document", "target", "title", "grade", "source", "annotator", "date", "decides", "decided"]
    rows = [
        (
            *(page.id, own.document, own.target, own.title, own.grade, own.source, own.annotator, own.date),
            *(own.decides, own.decided),
        )
        for own in page.judgments
    ]
    return Table(head=head, rows=rows)


def table_proposals(page: ProposalsPage) -> Table:
    """Return a row for each proposal."""
    head = ["proposal", "state", "by", "at", "changes", "reason"]
    rows = [(own.proposal, own.state, own.by, own.at, own.changes, own.reason) for own in page.proposals]
    return Table(head=head, rows=rows)


def table_query(page: QueryPage) -> Table:
    """Return a row for each run: its scores, and the ranks of relevant documents."""
    head = ["run", "title", "date", "outcome", "error", *page.measures, *(f"rank of {id_}" for id_ in page.relevant)]
    rows = [
        [
            run.run,
            run.title,
            run.date,
            run.outcome,
            run.error,
            *(run.scores.get(name) for name in page.measures),
            *(run.ranks.get(id_) for id_ in page.relevant),
        ]
        for run in page.runs
    ]
    return Table(head=head, rows=rows)
