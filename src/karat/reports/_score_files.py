"""The scores of runs as files: Markdown, HTML and LaTeX have the tables; CSV and TSV have a row for each value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import UNSET

from karat.core import count_things
from karat.reports._csv import disarm
from karat.reports._latex import LETTER, latex
from karat.reports._page import render_page, render_section
from karat.reports._scores import BEST, ScoreTable, list_score_notes, list_score_tables
from karat.reports._sections import format_table, markdown
from karat.reports._words import clean
from karat.schema import MeasureScore, RunScores, ScoreReport

SCORE_FORMATS = ("csv", "html", "md", "tex", "tsv")
"""The formats that :func:`render_scores` writes."""
_COLUMNS = ("run", "measure", "field", "segment", "query", "value", "queries", "total", "worst", "best")
Cell = str | float | None


def render_scores(report: ScoreReport, format: str, unmatched: Iterable[str] = ()) -> str:
    """Return scores in one of ``SCORE_FORMATS``; ``unmatched`` names the runs without any judged document."""
    if format in ("csv", "tsv"):
        return _render_rows(report, "," if format == "csv" else "\t")
    render = {"html": _render_html, "md": _render_markdown, "tex": _render_latex}[format]
    return render(report, list_score_tables(report, str), list_score_notes(report, frozenset(unmatched)))


def _render_rows(report: ScoreReport, separator: str) -> str:
    rows = [_COLUMNS, *(row for run in report.runs for row in _list_values(run))]
    end = "\r\n" if separator == "," else "\n"
    return "".join(separator.join(_quote(cell, separator) for cell in row) + end for row in rows)


def _list_values(run: RunScores) -> Iterator[Sequence[Cell]]:
    """Yield a row for each mean, then for those of segments, then for the values of queries."""
    for measure, cell in run.measures.items():
        yield _describe(run.name, measure, cell)
    for field, segments in (run.by or {}).items():
        for segment, scores in segments.items():
            for measure, cell in scores.measures.items():
                yield _describe(run.name, measure, cell, field, segment or "(none)")
    for query, values in (run.queries or {}).items():
        for measure, value in values.items():
            yield (run.name, measure, "", "", query, value, None, None, None, None)


def _describe(run: str, measure: str, cell: MeasureScore, field: str = "", segment: str = "") -> Sequence[Cell]:
    value = cell.mean if cell.sum is UNSET else cell.sum
    ends = (None, None) if cell.bounds is UNSET else (cell.bounds.worst, cell.bounds.best)
    return (run, measure, field, segment, "", value, cell.n, cell.total, *ends)


def _quote(value: Cell, separator: str) -> str:
    """Return a field: text in quotes in CSV, and a missing number as nothing."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return repr(value)
    text = disarm(value)  # which has no tabs and no line ends
    return '"{}"'.format(text.replace('"', '""')) if separator == "," else text


def _render_markdown(report: ScoreReport, tables: Sequence[ScoreTable], notes: Sequence[str]) -> str:
    parts = [f"# {markdown(_name(report), 200)}\n"]
    for table in tables:
        head, *rows = _escape(table, markdown, "**{}**")
        parts += [f"## {markdown(table.title)}\n"] if table.title else []
        parts.append(format_table(head, rows))
        parts += [f"- {markdown(note)}" for note in table.notes] + ([""] if table.notes else [])
    parts += [f"- {markdown(note)}" for note in notes]
    return "\n".join(parts).rstrip() + "\n"


def _render_html(report: ScoreReport, tables: Sequence[ScoreTable], notes: Sequence[str]) -> str:
    sections = []
    for table in tables:
        head, *rows = _escape(table, clean, f"{{}} {BEST}")
        sections.append(render_section(table.title or "Means", head, rows, words=head[:1]))
    names = [run.name for run in report.runs]
    lead = f"{count_things(len(names), 'run')}; {BEST} marks the best of several"
    facts = [("judgments", report.qrels), ("conventions", report.conventions), ("runs", ", ".join(names))]
    every = [*notes, *_gather_notes(tables)]
    return render_page(_name(report), _name(report), lead, facts, every, sections)


def _gather_notes(tables: Sequence[ScoreTable]) -> Iterator[str]:
    """Yield each note of the tables once, after the names of the runs that it is about."""
    about: dict[str, list[str]] = {}
    for table in tables:
        for note in table.notes:
            about.setdefault(note, []).append(table.run)
    for note, runs in about.items():
        named = ", ".join(dict.fromkeys(filter(None, runs)))
        yield f"{named}: {note}" if named else note


def _render_latex(report: ScoreReport, tables: Sequence[ScoreTable], notes: Sequence[str]) -> str:
    parts = [_render_latex_table(report, table, notes if i == 0 else ()) for i, table in enumerate(tables)]
    text = "\n".join(parts)
    return "\n".join([r"% Needs \usepackage{booktabs}.", *([LETTER] if r"\karatletter" in text else []), text])


def _render_latex_table(report: ScoreReport, table: ScoreTable, notes: Sequence[str]) -> str:
    """Return a table; what its numbers leave out is part of the caption."""
    head, *rows = _escape(table, latex, r"\textbf{{{}}}")
    caption = f"{latex(table.title or _name(report), 200)}."
    caption += "".join(f" {latex(note)}." for note in (*table.notes, *notes))
    lines = [
        r"\begin{table}",
        r"  \centering",
        f"  \\caption[{{{latex(table.title or _name(report), 80)}}}]{{{caption}}}",
        r"  \addvspace{\medskipamount}",
        f"  \\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
        r"    \toprule",
        f"    {' & '.join(head)} \\\\",
        r"    \midrule",
        *(f"    {' & '.join(row)} \\\\" for row in rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _name(report: ScoreReport) -> str:
    return f"Scores on {report.qrels}"


def _escape(table: ScoreTable, escape: Callable[[object], str], best: str) -> list[list[str]]:
    """Return the rows of a table as a format writes them, with the best of several values in ``best``."""
    return [[_escape_cell(cell, escape, best if table.marked and i and j else "") for j, cell in enumerate(row)]
            for i, row in enumerate(table.rows)]  # fmt: skip


def _escape_cell(cell: str, escape: Callable[[object], str], best: str) -> str:
    if best and cell.endswith(BEST):
        return best.format(escape(cell.removesuffix(BEST)))
    return escape(cell.strip())
