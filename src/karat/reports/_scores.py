"""The scores of runs as tables, and what their numbers leave out: the same for terminals and for files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from msgspec import UNSET

from karat.core import HIGHEST_GRADE, Measure, count_things
from karat.reports._terminal import number, printable
from karat.schema import MeasureScore, RunScores, ScoreReport

BEST = "*"
"""The mark after the best value of several runs; a value that is not the best has a blank in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreTable:
    """A table of texts, which are not escaped yet; its first row names the columns."""

    run: str = ""
    """The run that it is about; "" for all runs."""
    about: str = ""
    """What it shows of the run: "by category", for example."""
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    marked: bool = False
    """Whether :data:`BEST` stands after the best value of a row."""

    @property
    def title(self) -> str:
        """Its run, and what it shows; "" for the means of all runs."""
        return f"{self.run} {self.about}".strip()


def list_score_tables(report: ScoreReport, show: Callable[[str], str] = printable) -> list[ScoreTable]:
    """Return the table of means, then for each run its bounds, its segments and its queries, if the report has them.

    ``show`` returns how an id or a name from outside is shown.
    """
    names = [show(run.name) for run in report.runs]
    tables = [ScoreTable(rows=_summarise(report.runs, names), marked=len(report.runs) > 1)]
    for run, name in zip(report.runs, names, strict=True):
        measures = list(run.measures)
        if bounds := list_bounds_rows(run.measures):
            tables.append(
                ScoreTable(run="" if len(names) == 1 else name, rows=bounds, notes=list_bounds_notes(run.measures))
            )
        for field, segments in (run.by or {}).items():
            rows = [[show(field), *measures, "queries"]]
            for value, segment in segments.items():
                cells = [segment.measures[measure] for measure in measures]
                rows.append([show(value) or "(none)", *map(_format_cell, cells), _format_counts(cells)])
            tables.append(ScoreTable(run=name, about=f"by {show(field)}", rows=rows))
        if run.queries:
            rows = [["query", *measures]]
            rows += [[show(query), *(number(values[m]) for m in measures)] for query, values in run.queries.items()]
            tables.append(ScoreTable(run=name, about="by query", rows=rows))
    return tables


def _summarise(runs: Sequence[RunScores], names: Iterable[str]) -> list[list[str]]:
    """Return one row per measure and one column per run; a star marks the best of several."""
    rows = [["measure", *_distinguish(names), "queries"]]
    for measure in runs[0].measures:
        cells = [run.measures[measure] for run in runs]
        texts = [_format_cell(cell) for cell in cells]
        if len(runs) > 1:
            # Means over different numbers of queries cannot be compared.
            comparable = len({cell.n for cell in cells}) == 1
            best = _find_best(measure, [cell.mean for cell in cells if cell.mean is not None and comparable])
            marks = [BEST if best is not None and cell.mean == best else " " for cell in cells]
            texts = [text + mark for text, mark in zip(texts, marks, strict=True)]
        rows.append([measure, *texts, _format_counts(cells)])
    return rows


def _distinguish(names: Iterable[str]) -> list[str]:
    """Return names with a number after each that looks like another."""
    seen: Counter[str] = Counter()
    distinct = []
    for name in names:
        seen[name] += 1
        distinct.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return distinct


def _find_best(measure: str, values: Sequence[float]) -> float | None:
    """Return the best of some means, or None for counts, and where there is no mean."""
    better = measure.startswith("pass") or Measure.parse(measure).definition.higher_is_better
    if better is None or not values:
        return None
    return max(values) if better else min(values)


def _format_counts(cells: Sequence[MeasureScore]) -> str:
    """Return how many queries the means are over; once, if it is the same for all."""
    counts = [f"{cell.n}/{cell.total}" for cell in cells]
    return " ".join(counts if len(set(counts)) > 1 else counts[:1])


def _format_cell(cell: MeasureScore) -> str:
    if isinstance(cell.sum, float):
        return f"{cell.sum:.0f}" if cell.sum == round(cell.sum) else number(cell.sum)
    return number(cell.mean)


def list_bounds_rows(measures: Mapping[str, MeasureScore]) -> list[list[str]]:
    """Return the worst and the best value of each measure over unjudged documents; [] without bounds."""
    rows = []
    for name, score in measures.items():
        if score.bounds is UNSET:
            continue
        ends, now = score.bounds, number(score.mean if score.sum is UNSET else score.sum)
        cells = [number(ends.worst), now, number(ends.best)] if ends.why is UNSET else ["-", now, "-"]
        rows.append([name, *cells, f"{ends.unjudged:,}"])
    return [["if unjudged documents were judged", "worst", "now", "best", "unjudged"], *rows] if rows else []


def list_bounds_notes(measures: Mapping[str, MeasureScore]) -> list[str]:
    """Return what the bounds leave out."""
    bounds = {name: score.bounds for name, score in measures.items() if score.bounds is not UNSET}
    loose = [name for name, ends in bounds.items() if not ends.exact and ends.why is UNSET and ends.unjudged]
    notes = [f"{', '.join(loose)}: the best is a bound, which no grades may reach"] if loose else []
    unknown = {name: ends.why for name, ends in bounds.items() if ends.why is not UNSET}
    return notes + [f"{name}: no bounds, {why}" for name, why in unknown.items()]


def list_score_notes(report: ScoreReport, unmatched: Set[str] = frozenset()) -> list[str]:
    """Return what the numbers leave out; ``unmatched`` names the runs in which no judged document was retrieved."""
    notes = [note for run in report.runs for note in _list_run_notes(run, unmatched)]
    if report.highest_grade is not UNSET:
        above = f"a grade is {report.highest_grade:,}, and golden sets have none above {HIGHEST_GRADE}"
        notes.append(f"{printable(report.qrels)}: {above}: gains such as those of nDCG grow with it; is it a slip?")
    changed = {m: cell.definition for m, cell in report.runs[0].measures.items() if cell.definition}
    if changed:
        notes.append(f"conventions {report.conventions}: " + ", ".join(f"{m} is {d}" for m, d in changed.items()))
    return notes


def _list_run_notes(run: RunScores, unmatched: Set[str]) -> Iterator[str]:
    name = printable(run.name)
    reasons = dict.fromkeys(reason for cell in run.measures.values() for reason in cell.missing)
    for reason in reasons:
        counts = {m: cell.missing[reason] for m, cell in run.measures.items() if reason in cell.missing}
        for count in sorted(set(counts.values())):
            measures = ", ".join(measure for measure, n in counts.items() if n == count)
            yield f"{name}: {_count(count)} without a value ({reason}), left out of {measures}"
    if run.not_in_run and "not in the run" not in reasons:
        shown = ", ".join(map(printable, run.not_in_run[:5])) + (", ..." if len(run.not_in_run) > 5 else "")
        yield f"{name}: {_count(len(run.not_in_run))} judged but not in the run, scored as an empty list: {shown}"
    if run.name in unmatched:
        yield f"{name}: no judged document was retrieved; do both files name documents alike?"
    if run.repeated:
        hits, queries = count_things(run.repeated.hits, "hit"), _count(run.repeated.queries)
        yield f"{name}: {hits} of documents that rank higher already, left out, in {queries}"
    if run.not_judged:
        yield f"{name}: {_count(run.not_judged)} in the run without judgments, ignored"


def _count(queries: int) -> str:
    return count_things(queries, "query", "queries")
