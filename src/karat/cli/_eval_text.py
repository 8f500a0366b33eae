"""The document of ``karat eval`` as a terminal shows it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import UNSET

from karat.cli._bounds_text import bounds_text
from karat.cli._table import bold, escaped, number, printable, render
from karat.core import is_missing
from karat.evaluation import describe_depth, evaluation_report
from karat.measures import ANSWERABLE, BLIND, UNANSWERABLE
from karat.reports import hints

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from karat.evaluation import Evaluation
    from karat.schema import EvaluatedRun, LabelCorrection, SegmentScores

_SHOWN = 5


def evaluation_text(
    evaluation: Evaluation,
    *,
    by: str | None,
    per_query: bool,
    success: float,
    caveats: Sequence[str] = (),
    by_labels: Mapping[str, LabelCorrection] | None = None,
) -> str:
    """Return means, latency and notes as tables and lines; with ``by`` the means of a field's segments, too."""
    run = evaluation_report(evaluation, per_query=per_query, success=success, by_labels=by_labels).runs[0]
    parts = [_summary(run), bounds_text(run.measures), _wordings(run), _latency(run)]
    if by and run.by is not UNSET and by in run.by:
        parts.append(_segments(run.by[by], by))
    elif by:
        parts.append(f"by {printable(by)}: the queries have only one value")
    if run.queries is not UNSET:
        measures = list(run.measures)
        rows = [["query", *measures]]
        rows += [[printable(query), *(number(row[name]) for name in measures)] for query, row in run.queries.items()]
        parts.append(render(rows))
    notes = [*(f"{bold('caveat')}: {escaped(caveat)}" for caveat in caveats), *_notes(evaluation, run)]
    return "\n\n".join([part for part in parts if part] + (["\n".join(notes)] if notes else []))


def _summary(run: EvaluatedRun) -> str:
    noise, trials = run.noise, run.trials
    repeated = ["noise", *trials.columns] if trials is not UNSET else []
    rows = [["measure", "mean", *repeated, "queries"]]
    for name, cell in run.measures.items():
        extra: list[str] = []
        if noise is not UNSET and trials is not UNSET:
            extra = [number(noise[name]), *map(number, trials.measures.get(name, [None, None]))]
        rows.append([name, number(cell.mean), *extra, f"{cell.n}/{cell.total}"])
        if run.by_labels is not UNSET and name in run.by_labels:
            own = run.by_labels[name]
            interval = "" if own.low is None else f" ({number(own.low)} to {number(own.high)})"
            title = f"  by {own.labels} labels{interval}" if own.mean is not None else "  by labels"
            rows.append([title, number(own.mean), *("" for _ in extra), ""])
    return render(rows)


def _wordings(run: EvaluatedRun) -> str:
    if run.wordings is UNSET:
        return ""
    rows = [["wording", *run.measures, "queries"]]
    for place, cells in enumerate(run.wordings):
        means = [number(cell.mean) for cell in cells.values()]
        total = str(max(cell.total for cell in cells.values()))
        rows.append([f"paraphrase {place}" if place else "query", *means, total])
    return render(rows)


def _latency(run: EvaluatedRun) -> str:
    statistics = ("p50", "p95", "p99", "mean")
    rows = [["latency (ms)", *statistics]]
    for stage, times in run.latency.items():
        rows.append([printable(stage), *(f"{times[name]:.2f}" for name in statistics)])
    return render(rows) if len(rows) > 1 else ""


def _segments(segments: Mapping[str, SegmentScores], field: str) -> str:
    measures = list(next(iter(segments.values())).measures)
    rows = [[field, *measures, "queries"]]
    for value, segment in segments.items():
        cells = segment.measures
        rows.append([printable(value), *(number(cells[name].mean) for name in measures), str(cells[measures[0]].total)])
    return render(rows)


def _notes(evaluation: Evaluation, run: EvaluatedRun) -> list[str]:
    total = evaluation.scores.total
    notes = []
    if run.failed:
        what = "are not in the run" if all(is_missing(row.error) for row in run.failed) else "failed"
        notes.append(bold(f"{len(run.failed):,} of {len(evaluation.traces):,} questions {what}, and count as 0:"))
        notes += [f"  {printable(row.query)}: {escaped(row.error)[:200]}" for row in run.failed[:_SHOWN]]
        notes += ["  ..."] if len(run.failed) > _SHOWN else []
    notes += _worst_means(evaluation, run)
    if run.unfound:
        shown = ", ".join(map(printable, run.unfound[:_SHOWN]))
        more = ", ..." if len(run.unfound) > _SHOWN else ""
        findable = total - len(evaluation.unanswerable) - len(evaluation.unjudged)
        notes.append(f"{len(run.unfound):,} of {findable:,} found nothing relevant: {shown}{more}")
    if evaluation.unjudged:
        lacking = [printable(query) for query in evaluation.queries if query in evaluation.unjudged]
        more = ", ..." if len(lacking) > _SHOWN else ""
        names = ", ".join(lacking[:_SHOWN])
        notes.append(f"for {len(lacking):,} of {total:,} queries the golden set has nothing relevant: {names}{more}")
    if evaluation.unanswerable:
        notes.append(_describe_unanswerable(evaluation, run))
    for name, own in (run.by_labels or {}).items():
        if own.mean is None:
            notes.append(f"{name} is the judge's alone: labels do not correct it ({own.problem}), and its rules fail")
    if run.false_answers is not UNSET:
        shown = ", ".join(map(printable, run.false_answers[:_SHOWN]))
        more = ", ..." if len(run.false_answers) > _SHOWN else ""
        count = f"{len(run.false_answers):,} of {len(evaluation.unanswerable):,}"
        notes.append(f"{count} unanswerable queries got hits instead of none: {shown}{more}")
    missed = {*run.unfound, *evaluation.failures} - evaluation.unanswerable
    answered = {trace.query for trace in evaluation.traces if trace.listed or trace.error}
    empty = set(evaluation.queries) - answered - evaluation.unanswerable
    answerable = total - len(evaluation.unanswerable)
    notes += hints(evaluation.scores.mean(), len(missed), answerable, empty=len(empty))
    for name, cell in run.measures.items():
        notes += describe_depth(evaluation, name)
        reasons = {reason: count for reason, count in cell.missing.items() if reason not in (ANSWERABLE, UNANSWERABLE)}
        notes += [f"{name}: {count} without a value ({reason})" for reason, count in reasons.items()]
    for name, bands in (run.bands or {}).items():
        counts = ", ".join(f"{count:,} {band}" for band, count in bands.items())
        notes.append(f"{name}: {counts} (from 0.40 and from 0.60 on)")
    notes += [BLIND[name] for name in run.measures if name in BLIND]
    definitions = [cell.definition for cell in run.measures.values() if cell.definition is not UNSET]
    if definitions:
        notes.append("computed as " + ", ".join(definitions))
    if run.latency and evaluation.provenance.versions:  # the times of a run from elsewhere may mean anything
        notes.append("latency is around the system only, after a warm-up that is not counted")
    return notes


def _describe_unanswerable(evaluation: Evaluation, run: EvaluatedRun) -> str:
    """Return how many queries have no answer, and which measures look at them."""
    from karat.core import Measure

    count = f"{len(evaluation.unanswerable):,} of {evaluation.scores.total:,} queries have no answer"
    names = [name for name in run.measures if Measure.parse(name).definition.queries != "answerable"]
    if not names:
        return f"{count} and are left out: TrueEmpty, FalseHits and RightRefusal measure them"
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"{count}, which {listed} {'measure' if len(names) > 1 else 'measures'}; other measures leave them out"


def _worst_means(evaluation: Evaluation, run: EvaluatedRun) -> list[str]:
    """Return the means that leave failures and refusals out, as the gate computes them."""
    from karat.gate import count_failures, count_refusals

    if not run.failed and not any(cell.missing for cell in run.measures.values()):
        return []
    failures = count_failures(evaluation)
    counted = (refusals := count_refusals(failures)).means
    what = "what failed" if refusals is failures else "what failed or was refused"
    means = {name: counted[name] for name in run.measures if name in counted}
    changed = [
        f"{name} {number(mean)}"
        for name, mean in means.items()
        if not math.isnan(mean) and mean != evaluation.means.get(name)
    ]
    return [f"with {what} as the worst value, as in the gate: {', '.join(changed)}"] if changed else []
