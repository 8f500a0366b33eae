"""From one judge to another: both judge the same sample, and the baseline moves by what they differ."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from karat.config import read_judges_file
from karat.core import InputError, Trace, UsageError, is_blank, shorten
from karat.files import refuse_input
from karat.gate import Baseline, Rule, read_baseline, write_baseline
from karat.projects._gating import baseline_path, project_policy
from karat.projects._project import Project
from karat.runs import read_any_run
from karat.schema.judging import BridgedMeasure, BridgeReport, JudgeEstimate, MovedLimit
from karat.stats import estimate_mean

if TYPE_CHECKING:
    from karat.judges import Judge
    from karat.projects.judging import JudgedSample, Recording

_TIE = 1e-9


def bridge_judges(
    project: Project,
    old: Path,
    new: Path,
    run: Path,
    *,
    names: Sequence[str] = (),
    count: int = 60,
    seed: int = 0,
    baseline: Path | None = None,
    output: Path | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    recording: Recording | None = None,
) -> BridgeReport:
    """Let two judges judge the same answers of a run file, and return by how much their scores differ.

    ``old`` and ``new`` are files with a table ``[judges]``; a judge that is the same in both is left out. The
    baseline's mean and the floors of the gate move by the mean difference, with its interval. With ``output`` a
    baseline is written that has the new judge's scores of the sampled queries, and no others of these measures: a
    later run is compared on these. The run has to be that of the baseline.
    """
    # Baselines need no judges for anything else.
    from karat.projects.judging import choose_judges, judge_sample, select_counted

    place = baseline_path(project, baseline)
    recorded = read_baseline(place) if place.is_file() else None
    answers = read_any_run(run, project.golden)
    before, after = (
        replace(project, config=replace(project.config, judges=read_judges_file(path))) for path in (old, new)
    )
    judges = choose_judges(after, names)
    if recorded is not None and not names:  # a judge that the baseline does not have has nothing to move
        judges = [judge for judge in judges if judge.measure in recorded.evaluation.scores.measures] or judges
    queries = {trace.query for trace in answers.traces}
    counted = {judge.name: select_counted(project, judge.name, queries) for judge in judges}
    sampled = _draw(answers.traces, counted, run, count, seed)
    if recording is not None:
        recording.begin(run, answers)
    sides = [
        judge_sample(own, judges, answers, sampled, progress=progress, recording=recording) for own in (before, after)
    ]
    judges = [judge for judge in judges if len({side.fingerprints[judge.name] for side in sides}) > 1]
    if not judges:
        raise UsageError("both judges are the same: there is nothing to bridge")
    sides = [side.select(counted) for side in sides]
    rows = [_compare(project, judge, sides, recorded, len(sampled)) for judge in judges]
    if output is not None:
        _write_moved(recorded, judges, sides, output)
    if recording is not None:
        recording.finish([side.spending for side in sides])
    return BridgeReport(
        run=str(run),
        old=", ".join(sides[0].fingerprints[judge.name] for judge in judges),
        new=", ".join(sides[1].fingerprints[judge.name] for judge in judges),
        sampled=len(sampled),
        queries=len(queries),
        measures=rows,
        baseline=None if recorded is None else str(place),
        output=None if output is None else str(output),
        spending=[side.spending for side in sides],
    )


def _draw(
    traces: Sequence[Trace], counted: Mapping[str, Collection[str]], path: Path, count: int, seed: int
) -> set[str]:
    """Return queries whose answers count in the measure of a judge, at random; refused ones if a judge is for them."""
    answered = sorted(
        {
            trace.query
            for trace in traces
            if not (is_blank(trace.answer) or trace.error or (trace.refused and "refusal" not in counted))
            and any(trace.query in own for own in counted.values())
        }
    )
    if not answered:
        raise InputError("no question of the run has an answer", source=str(path))
    return set(random.Random(seed).sample(answered, min(count, len(answered))))  # noqa: S311 (no secret)


def _compare(
    project: Project, judge: Judge, sides: Sequence[JudgedSample], recorded: Baseline | None, total: int
) -> BridgedMeasure:
    old, new = (side.scores.get(judge.name, {}) for side in sides)
    both = sorted(query for query in old if query in new)
    first, second = (np.array([own[query] for query in both]) for own in (old, new))
    shift = estimate_mean(second - first)
    mean = math.nan if recorded is None else recorded.evaluation.mean(judge.measure)
    limits = [
        MovedLimit(kind=kind, limit=limit, moved=_move(limit, shift))
        for rule in project_policy(project).rules
        if rule.metric == judge.measure and rule.where is None
        for kind, limit in _list_limits(rule)
    ]
    return BridgedMeasure(
        judge=judge.name,
        measure=judge.measure,
        scored=len(both),
        total=total,
        old_mean=float(first.mean()) if len(both) else None,
        new_mean=float(second.mean()) if len(both) else None,
        shift=_write_estimate([min(max(part, -1.0), 1.0) if math.isfinite(part) else part for part in shift]),
        baseline=None if math.isnan(mean) else mean,
        moved=None if math.isnan(mean) else _move(mean, shift),
        limits=limits,
    )


def _list_limits(rule: Rule) -> list[tuple[str, float]]:
    return [(kind, limit) for kind, limit in (("min", rule.min), ("max", rule.max)) if limit is not None]


def _move(value: float, shift: tuple[float, float, float]) -> JudgeEstimate:
    """Return a mean or a limit for the new judge, within the scale of all judges, 0 to 1."""
    return _write_estimate([min(max(value + part, 0.0), 1.0) if math.isfinite(part) else part for part in shift])


def _write_estimate(moved: Sequence[float]) -> JudgeEstimate:
    known = [part if math.isfinite(part) else None for part in moved]
    return JudgeEstimate(value=known[0], low=known[1], high=known[2])


def _write_moved(
    recorded: Baseline | None, judges: Sequence[Judge], sides: Sequence[JudgedSample], output: Path
) -> None:
    """Write the baseline with the new judge's scores in the place of the old one's."""
    if recorded is None:
        raise UsageError("there is no baseline to move; judge the run by the new judge, and record it")
    refuse_input(output)
    evaluation = recorded.evaluation
    if evaluation.repeats:
        raise UsageError("the baseline has repeats, which cannot be moved; judge its run again, and record it")
    scores, earlier = evaluation.scores, evaluation.provenance.settings.get("judged_by")
    values, codes, reasons = scores.values.copy(), scores.codes.copy(), list(scores.reasons)
    reasons.append("the new judge did not judge it")
    definitions = dict(scores.definitions)
    for judge in judges:
        if judge.measure not in scores.measures:
            raise UsageError(f"the baseline has no {judge.measure}; choose judges that it has with --judge")
        column = scores.measures.index(judge.measure)
        _require_same_run(judge, scores.column(judge.measure), sides[0], earlier)
        old, new = (side.scores.get(judge.name, {}) for side in sides)
        new = {query: value for query, value in new.items() if query in old}
        if scores.rows.keys().isdisjoint(new):
            raise UsageError(f"no query of the baseline has a score of {judge.measure} by both judges")
        for query, row in scores.rows.items():
            codes[row, column] = 0 if query in new else len(reasons)
            values[row, column] = new.get(query, math.nan)
        definitions[judge.measure] = f"{judge.measure} by {sides[1].fingerprints[judge.name]}"
    moved = replace(scores, values=values, codes=codes, reasons=tuple(reasons), definitions=definitions)
    judged_by = {judge.name: sides[1].fingerprints[judge.name] for judge in judges}
    if isinstance(earlier, Mapping):  # earlier versions of karat named all judges together
        judged_by = {**earlier, **judged_by}
    settings = {**evaluation.provenance.settings, "judged_by": judged_by}
    provenance = replace(evaluation.provenance, settings=settings)
    means = {**evaluation.means, **{judge.measure: moved.mean()[judge.measure] for judge in judges}}
    write_baseline(
        replace(recorded, evaluation=replace(evaluation, scores=moved, means=means, provenance=provenance)), output
    )


def _require_same_run(judge: Judge, column: Mapping[str, float], old: JudgedSample, judged_by: object) -> None:
    """Refuse a run to which the old judge gives other scores than the baseline has: its answers are others.

    The opinions beside the run do not tell, since those of the new judge may have taken their place.
    """
    recorded = judged_by.get(judge.name) if isinstance(judged_by, Mapping) else None
    if recorded is not None and recorded != old.fingerprints[judge.name]:
        raise UsageError(
            f"the judge of the baseline is {shorten(str(recorded))}, and OLD has {old.fingerprints[judge.name]}: "
            "name the file with the table [judges] that the baseline was judged with"
        )
    scores = {query: value for query, value in old.scores.get(judge.name, {}).items() if query in column}
    if not scores:
        raise UsageError(f"the old judge has no score of {judge.measure} for a query that the baseline scored")
    wrong = [query for query, value in scores.items() if abs(column[query] - value) > _TIE]
    if wrong:
        raise UsageError(
            f"the run is not that of the baseline: the old judge gives {len(wrong)} of {len(scores)} queries another "
            f"{judge.measure}, such as {shorten(wrong[0])}; name the run that was recorded"
        )
