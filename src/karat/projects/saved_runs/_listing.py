"""The runs of a project for people: list them, show one, and remove old ones."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from karat.core import InputError, Measure, Provenance, Run, UsageError
from karat.evaluation import Evaluation, UnknownDocuments, default_measures
from karat.files import read_bytes, shorten_path
from karat.gate import Baseline
from karat.projects._gating import evaluate_run, find_baseline
from karat.projects._project import Project, open_project
from karat.projects.saved_runs import choose_run
from karat.projects.saved_runs._files import RunFile, find_runs, name_file, read_saved_run
from karat.runs import opinions_path, read_any_run, read_header
from karat.schema import PrunedRun, RunDetails, RunListing, RunPruning, SavedRun

_DAY = 24 * 60 * 60


@dataclass(frozen=True, kw_only=True)
class ListedRun:
    """A run file as it is listed, with what was read of it."""

    row: SavedRun
    run: Run | None = None
    """None if the file could not be read."""
    evaluation: Evaluation | None = None
    """None if the run could not be scored; the row says why."""


def list_runs(
    folder: str | Path,
    measures: Sequence[str] = (),
    *,
    last: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RunListing:
    """Return the saved runs of a project, the newest first, scored on the golden set as it is now.

    ``last`` is the number of runs to read; the older ones are only counted.
    """
    project, files = find_runs([folder])
    chosen = files if last is None else files[:last]
    names = _choose_measures(project, measures)
    baseline = _read_baseline(project)
    rows = []
    for number, file in enumerate(chosen, 1):
        rows.append(read_listed_run(project, file, names, baseline).row)
        if progress:
            progress(number, len(chosen))
    return RunListing(
        project=str(shorten_path(project.config.folder)),
        measures=names,
        runs=tuple(rows),
        more=len(files) - len(chosen),
    )


def describe_saved_run(
    path: str | Path, measures: Sequence[str] = (), *, golden: str | Path | None = None
) -> RunDetails:
    """Return a run and where it comes from; ``path`` is its file, or a project, whose newest complete run is meant."""
    chosen = choose_run(path, golden=golden)
    project = open_project(chosen.project)
    _, (file,) = find_runs([chosen.path], golden=chosen.project)
    scored = read_listed_run(project, file, _choose_measures(project, measures), _read_baseline(project))
    run, evaluation = scored.run, scored.evaluation
    if run is None:
        raise InputError(scored.row.note or "cannot be read", source=str(chosen.path))
    provenance = run.provenance
    failures = {trace.query: trace.error for trace in reversed(run.traces) if trace.error}
    return RunDetails(
        run=scored.row,
        name=provenance.name,
        golden=dict(provenance.golden),
        fingerprint=provenance.fingerprint,
        system=dict(provenance.system),
        settings=dict(provenance.settings),
        versions=dict(provenance.versions),
        origin=provenance.origin.to_dict(),
        latency={} if evaluation is None else {stage: _null(times) for stage, times in evaluation.latency.items()},
        failures=dict(reversed(failures.items())),
    )


def prune_runs(folder: str | Path, *, keep: int, dry_run: bool = False) -> RunPruning:
    """Remove old runs of a project, and return which were removed and which were kept, each with the reason.

    The newest ``keep`` complete runs stay, the run of the baseline, those that experiments.json names, unfinished ones
    of the last day, and whatever is not a run of karat. With ``dry_run`` nothing is removed.
    """
    if keep < 1:
        raise UsageError(f"keep={keep}; choose at least 1")
    project, files = find_runs([folder])
    baseline, log = _read_baseline(project), _read_log(project)
    kept: list[PrunedRun] = []
    removed: list[PrunedRun] = []
    newest = 0
    for file in files:
        provenance = read_header(file.path)
        complete = provenance is not None and file.path.suffix != ".part"
        newest += complete
        reason = _keep_reason(file, provenance, baseline, log, among_newest=complete and newest <= keep)
        entry = PrunedRun(
            file=str(file.path),
            title=provenance.title if provenance else "",
            date=f"{file.day}",
            reason=reason or ("unfinished" if not complete else f"older than the newest {keep:,}"),
        )
        (kept if reason else removed).append(entry)
    if not dry_run:
        for entry in removed:
            _remove(Path(entry.file))
            _remove(opinions_path(entry.file))
    folder = shorten_path(project.config.folder)
    return RunPruning(project=str(folder), dry_run=dry_run, removed=tuple(removed), kept=tuple(kept))


def _keep_reason(
    file: RunFile, provenance: Provenance | None, baseline: Baseline | None, log: str, *, among_newest: bool
) -> str:
    """Return why a file is kept, or "" if it is not."""
    if provenance is None:
        return "not a run of karat"
    if file.path.suffix != ".part" and _is_baseline(provenance, baseline):
        return "the run of the baseline"
    if file.path.name in log:
        return "named in experiments.json"
    if among_newest:
        return "among the newest"
    if file.path.suffix == ".part" and time.time() - file.path.stat().st_mtime < _DAY:
        return "unfinished, and of the last day"
    return ""


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot be removed: {error.strerror}", source=str(path)) from None


def _read_log(project: Project) -> str:
    try:
        return read_bytes(project.config.folder / "experiments.json").decode("utf-8", "replace")
    except InputError:
        return ""


def _read_baseline(project: Project) -> Baseline | None:
    """Return the baseline of a project; None if there is none, or if it cannot be read, which the gate reports."""
    try:
        return find_baseline(project)
    except InputError:
        return None


def _is_baseline(provenance: Provenance, baseline: Baseline | None) -> bool:
    """Whether a baseline was made from a run; without a time in the baseline, any run of its system may be the one."""
    if baseline is None:
        return False
    recorded = baseline.evaluation.provenance
    if not recorded.fingerprint or recorded.fingerprint != provenance.fingerprint:
        return False
    return not recorded.origin.begun or recorded.origin.begun == provenance.origin.begun


def _choose_measures(project: Project, measures: Sequence[str]) -> tuple[str, ...]:
    chosen: Iterable[str] = measures or project.config.eval.measures or default_measures(project.golden)
    return tuple(dict.fromkeys(str(Measure.parse(name)) for name in chosen))


def read_listed_run(project: Project, file: RunFile, measures: Sequence[str], baseline: Baseline | None) -> ListedRun:
    """Return a run file with its means; one that cannot be scored is listed with the reason."""
    provenance = read_header(file.path)
    run: Run | None = None
    evaluation: Evaluation | None = None
    note, state = "", "complete"
    try:
        foreign = provenance is None and file.path.suffix != ".part" and not file.path.is_fifo()
        run = read_any_run(file.path, project.golden) if foreign else read_saved_run(file)
        provenance = run.provenance
        evaluation = evaluate_run(project, run, measures)
    except InputError as error:
        note = name_file(file, error).removeprefix(f"{file.path}: ")
        state = "other golden set" if run else "unfinished" if file.path.suffix == ".part" else "damaged"
        state = "no judged document" if isinstance(error, UnknownDocuments) else state
    if file.future:
        dated = f"dated {file.future}, which is in the future"
        note = f"{note}; {dated}" if note else dated
    provenance = provenance or Provenance(name=file.path.name)
    origin = provenance.origin
    row = SavedRun(
        file=str(file.path),
        title=provenance.title,
        state=state,  # type: ignore[arg-type]
        note=note,
        date=f"{file.day}",
        begun=origin.begun or None,
        label=origin.label,
        commit=origin.commit,
        branch=origin.branch,
        dirty=origin.dirty,
        is_baseline=run is not None and _is_baseline(provenance, baseline),
        queries=len({trace.query for trace in run.traces}) if run else 0,
        failed=len({trace.query for trace in run.traces if trace.error}) if run else 0,
        measures={} if evaluation is None else _null({name: evaluation.mean(name) for name in measures}),
    )
    return ListedRun(row=row, run=run, evaluation=evaluation)


def _null(table: Mapping[str, float]) -> dict[str, float | None]:
    return {name: None if math.isnan(value) else value for name, value in table.items()}
