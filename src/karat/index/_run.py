"""A run file as the index keeps it: scored and decided on, its queries in columns."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import UNSET, structs

from karat.core import Hit, KaratError, Run, Trace, TraceTable, list_documents
from karat.evaluation import Evaluation
from karat.files import name_paths, open_file
from karat.gate import Baseline, Policy
from karat.index._columns import RANKED, Columns, Mark
from karat.index._golden import list_relevant
from karat.index._reading import IndexedRun
from karat.projects import Project, gate_evaluation, is_unjudged, report_document
from karat.projects.saved_runs import ListedRun, RunFile, read_listed_run
from karat.runs import read_header
from karat.schema import DecisionDocument, SavedRun
from karat.schema.pages import RunLine, RunMeasure
from karat.traces import encode_trace, trace_record

_LOWEST = 65_535  # a rank that is lower is kept as this
UNJUDGED = "nothing is judged yet"
_NAMED = 200  # queries that a report names, of each kind; the columns have all


@dataclass(frozen=True, kw_only=True)
class ReadRun:
    """A run with everything that the index keeps of it."""

    run: IndexedRun
    report: DecisionDocument | None = None
    """The decision, without its queries; None if there is none."""
    columns: Columns | None = None
    """None if the run could not be scored."""
    lines: Sequence[tuple[int, bytes]] = ()
    """The traces of a file whose lines cannot be found again by where they begin, by position."""

    def without_decision(self, problem: str) -> ReadRun:
        """Return the run with what it measured, and why nothing was decided on it."""
        line = structs.replace(self.run.line, state="undecided", note=problem, outcome=None)
        return replace(self, run=structs.replace(self.run, line=line), report=None)


@dataclass(frozen=True, kw_only=True)
class Held:
    """What every run of a project is held against."""

    project: Project
    policy: Policy
    baseline: Baseline | None
    measures: tuple[str, ...]

    @cached_property
    def relevant(self) -> Mapping[str, tuple[str, ...]]:
        """The first relevant documents of each query."""
        return list_relevant(self.project.golden)

    @cached_property
    def is_unjudged(self) -> bool:
        """Whether nothing can be decided because nobody has judged anything yet."""
        return not self.project.golden.judgment_count and is_unjudged(self.project.golden)


def read_run(held: Held, file: RunFile) -> ReadRun:
    """Read a run file, score it, and decide on it; what cannot be scored is kept with the reason."""
    project, policy, baseline, measures = held.project, held.policy, held.baseline, held.measures
    listed = read_listed_run(project, file, measures, baseline)
    if listed.run is None or listed.evaluation is None:
        return ReadRun(run=IndexedRun(line=_make_line(file, listed), measures=(), reasons=()))
    report, note, evaluation = None, "", listed.evaluation
    try:
        if held.is_unjudged:
            note = UNJUDGED
        else:
            result = gate_evaluation(project, evaluation, policy, baseline)
            evaluation = result.evaluation
            report = report_document(result, file=file.path.name, described=_NAMED)
    except KaratError as error:
        note = str(error)
    line = _make_line(file, listed, report, note)
    scores = listed.evaluation.scores
    columns, lines = _make_columns(held, file.path, listed.run, listed.evaluation, report)
    return ReadRun(
        run=IndexedRun(line=line, measures=scores.measures, reasons=scores.reasons),
        report=None if report is None else _trim(report),
        columns=columns,
        lines=lines,
    )


def name_run(path: Path) -> str:
    """Return the id of a run: the name of its file, without the ending if that is the usual one."""
    return path.name.removesuffix(".jsonl")


def _make_line(
    file: RunFile, listed: ListedRun, report: DecisionDocument | None = None, undecided: str = ""
) -> RunLine:
    row: SavedRun = listed.row
    provenance = listed.run.provenance if listed.run else read_header(file.path)
    time = f"{file.time:%H:%M:%S.%f}" if file.time else ""
    evaluation = listed.evaluation
    measures = _list_means(evaluation) if report is None and evaluation is not None else _list_measures(report)
    return RunLine(
        id=name_run(file.path),
        file=file.path.name,
        title=row.title,
        state="undecided" if undecided else row.state,
        note=name_paths(undecided or row.note, file.path.parent.parent),  # the folder of the project
        date=row.date,
        begun=row.begun,
        order=f"{file.day} {time}",
        label=row.label,
        commit=row.commit,
        branch=row.branch,
        dirty=row.dirty,
        is_baseline=row.is_baseline,
        system=provenance.name if provenance else "",
        settings=dict(provenance.settings) if provenance else {},
        golden=str(provenance.golden.get("fingerprint", "")) if provenance else "",
        queries=row.queries,
        failed=row.failed,
        failures=len(report.failures) if report else 0,
        outcome=report.verdict.outcome if report else None,
        measures=measures,
    )


def _list_measures(report: DecisionDocument | None) -> tuple[RunMeasure, ...]:
    return tuple(
        RunMeasure(
            name=measure.name,
            mean=measure.mean,
            low=measure.interval[0] if measure.interval else None,
            high=measure.interval[1] if measure.interval else None,
            n=measure.n,
            status=measure.status,
            floor=measure.floor,
            lower_is_better=measure.lower_is_better,
        )
        for measure in (report.measures if report else ())
    )


def _list_means(evaluation: Evaluation) -> tuple[RunMeasure, ...]:
    """Return the means of a run that nothing was decided on."""
    return tuple(
        RunMeasure(
            name=name,
            mean=None if math.isnan(mean) else mean,
            low=None,
            high=None,
            n=evaluation.scores.count(name) if name in evaluation.scores.columns else 0,
            status="UNCHECKED",
            floor=None,
        )
        for name, mean in evaluation.means.items()
    )


def _trim(report: DecisionDocument) -> DecisionDocument:
    """Return a report without the values that the columns hold, and with the first of the queries that it names."""
    movers = report.movers
    if len(movers) > 2 * _NAMED:
        movers = (*movers[:_NAMED], *movers[-_NAMED:])
    run = structs.replace(
        report.run,
        unfound=report.run.unfound[:_NAMED],
        false_answers=(report.run.false_answers or ())[:_NAMED] or UNSET,
    )
    return structs.replace(
        report,
        run=run,
        queries=(),
        passages={},
        measures=tuple(structs.replace(measure, values=()) for measure in report.measures),
        segments=tuple(structs.replace(segment, ids=()) for segment in report.segments),
        movers=movers,
        failures=tuple(sorted(report.failures, key=lambda failure: failure.since != "new"))[:_NAMED],
        fixed=(report.fixed or ())[:_NAMED] or UNSET,
        recommendations=tuple(
            structs.replace(advice, queries=advice.queries[:_NAMED]) for advice in report.recommendations
        ),
    )


def _make_columns(
    held: Held, path: Path, run: Run, evaluation: Evaluation, report: DecisionDocument | None
) -> tuple[Columns, Sequence[tuple[int, bytes]]]:
    positions = {id_: position for position, id_ in enumerate(held.project.golden.query_by_id)}
    scores, size = evaluation.scores, len(positions)
    values = np.full((len(scores.measures) + 1, size), math.nan)
    codes = np.zeros((len(scores.measures), size), np.uint8)
    marks, offsets = np.zeros(size, np.uint8), np.full(size, -1, np.int64)
    ranks = np.zeros((RANKED, size), np.uint16)
    rows = [(row, positions[id_]) for row, id_ in enumerate(scores.queries) if id_ in positions]
    if rows:
        sources, targets = np.array(rows, np.int64).T
        values[:-1, targets], codes[:, targets] = scores.values[sources].T, scores.codes[sources].T
    first: dict[int, int] = {}
    for number, (query, time, hits) in enumerate(_list_first(run.traces)):
        position = positions.get(query)
        if position is not None and position not in first:
            first[position] = number
            values[-1, position] = time
            _rank(ranks[:, position], held.relevant.get(query, ()), hits)
    places = list(first)
    marks[places] |= np.uint8(Mark.ASKED)
    starts = _find_lines(path, len(run.traces))
    if starts is not None and places:
        offsets[places] = starts[list(first.values())]
    _mark(marks, positions, Mark.ERROR, evaluation.failures)
    _mark(marks, positions, Mark.UNFOUND, evaluation.unfound)
    _mark(marks, positions, Mark.FALSE, evaluation.false_answers)
    failures = report.failures if report else ()
    _mark(marks, positions, Mark.FAILED, (failure.query for failure in failures))
    _mark(marks, positions, Mark.NEW, (failure.query for failure in failures if failure.since == "new"))
    lines = () if starts is not None else [(place, _pack(run.traces[number])) for place, number in first.items()]
    return Columns(values=values, codes=codes, marks=marks, offsets=offsets, ranks=ranks), lines


def _list_first(traces: Sequence[Trace]) -> Iterator[tuple[str, float, Sequence[Hit]]]:
    """Yield query, milliseconds and hits of each trace; "" for the query of another wording or a repeat."""
    if isinstance(traces, TraceTable):  # which has neither, and an object for each trace takes memory
        times = traces.timings.get("total")
        milliseconds = repeat(math.nan) if times is None else times.tolist()
        yield from zip(traces.queries, milliseconds, traces.hits.lists, strict=False)
        return
    for trace in traces:
        query = "" if trace.paraphrase or trace.repeat else trace.query
        yield query, trace.timings.get("total", math.nan), trace.listed


def _rank(ranks: np.ndarray[Any, Any], relevant: Sequence[str], hits: Sequence[Hit]) -> None:
    """Write the first rank of each relevant document of a query; 0 stays where it was not returned."""
    documents = list_documents(hits)
    for row, id_ in enumerate(relevant):
        if id_ in documents:
            ranks[row] = min(documents.index(id_) + 1, _LOWEST)


def _mark(marks: np.ndarray[Any, Any], positions: dict[str, int], mark: Mark, queries: Iterable[str]) -> None:
    places = [positions[query] for query in queries if query in positions]
    marks[places] |= np.uint8(mark)


def _find_lines(path: Path, traces: int) -> np.ndarray[Any, Any] | None:
    """Return where each trace of a run file begins; None if that is not a plain file of karat's own."""
    if read_header(path) is None or path.name.endswith(".gz"):
        return None
    starts, place = [], 0
    with open_file(path) as file:
        for line in file:
            starts.append(place)
            place += len(line)
    return np.array(starts[1:-1], np.int64) if len(starts) == traces + 2 else None


def _pack(trace: Any) -> bytes:
    try:
        line = encode_trace(trace)
    except (TypeError, UnicodeEncodeError, OverflowError):  # only Python's own encoder can write it
        import json

        line = json.dumps(trace_record(trace)).encode()
    return zlib.compress(line, 1)


__all__ = ["Held", "ReadRun", "name_run", "read_run"]
