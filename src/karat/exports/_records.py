"""The records of an export: one for each run, and one for each entry of a log of experiments."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from karat.core import InputError, __version__, shorten
from karat.evaluation import Evaluation, flatten, score_run
from karat.experiments import LOG, Experiment, read_log
from karat.files import read_bytes
from karat.projects import Project, find_project, open_project
from karat.projects.saved_runs import find_run
from karat.runs import read_any_run
from karat.schema import ExportedExperiment, ExportedRun

_FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Record:
    """A run or an experiment to export, with karat's own names."""

    kind: Literal["run", "experiment"]
    id: str
    """The same for the same content, wherever it is exported from; a later export finds it by this."""
    name: str
    source: str
    """The file that it was read from."""
    created: int
    """When it was made, in milliseconds since 1970."""
    params: Mapping[str, Any]
    metrics: Mapping[str, float]
    tags: Mapping[str, str]
    document: ExportedRun | ExportedExperiment
    """All that is known about it."""
    note: str = ""
    """A description for people."""
    file: Path | None = None
    """A file to keep among the artefacts."""


def read_records(
    paths: Sequence[str | Path],
    *,
    project: str | Path | None = None,
    measures: Sequence[str] = (),
    say: Callable[[str], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Record, ...]:
    """Read runs and logs of experiments, and return their records.

    A run is scored with ``measures``, or those of its project: ``project``, or the one that the run is in.
    ``progress`` gets the number of files read and of all files.
    """
    projects: dict[Path, Project] = {}
    records: list[Record] = []
    for number, name in enumerate(paths, 1):
        path = find_run(name, golden=project, say=say)
        if _is_log(path):
            records += experiment_records(path)
        else:
            folder = Path(find_project(path) if project is None else project)
            projects[folder] = projects.get(folder) or open_project(folder)
            records.append(run_record(path, projects[folder], measures, say=say))
        if progress is not None:
            progress(number, len(paths))
    return tuple(records)


def _is_log(path: str | Path) -> bool:
    """Return whether a file is a log of experiments and not a run; a damaged log is reported when it is read."""
    if Path(path).name == LOG:
        return True
    if not Path(path).is_file():
        return False  # the reader reports it
    try:
        record = json.loads(read_bytes(path))
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and isinstance(record.get("experiments"), list)


def run_record(
    path: str | Path, project: Project, measures: Sequence[str] = (), *, say: Callable[[str], None] | None = None
) -> Record:
    """Score a run and return its record: what the system is made of, its means and its latency."""
    run = read_any_run(path, project.golden, say=say)
    evaluation = score_run(project.golden, run, measures or project.config.eval.measures, **project.scoring)
    provenance = evaluation.provenance
    params = _filled(flatten({"system": provenance.system, "settings": provenance.settings}))
    numbers = dict(_numbers(evaluation))
    tags = {
        **_golden(provenance.golden),
        "karat.system": provenance.name,
        "karat.system.fingerprint": provenance.fingerprint,
        "karat.version": provenance.versions.get("karat", __version__),
    }
    id_ = _id("run", hashlib.sha256(read_bytes(path)).hexdigest(), params)
    return Record(
        kind="run",
        id=id_,
        name=Path(path).name.removesuffix(".gz").removesuffix(".jsonl"),
        source=str(path),
        created=int(Path(path).stat().st_mtime * 1000),
        params=params,
        metrics={name: value for name, value in numbers.items() if math.isfinite(value)},
        tags=tags | _without(name for name, value in numbers.items() if not math.isfinite(value)),
        document=_document(evaluation, id_),
        file=Path(path),
    )


def _numbers(evaluation: Evaluation) -> Iterator[tuple[str, float]]:
    """Yield everything that is measured in a run; NaN where there is no value."""
    yield from evaluation.means.items()
    for stage, times in evaluation.latency.items():
        prefix = "latency." if stage == "total" else f"latency.{stage}."
        yield from ((f"{prefix}{name}", value) for name, value in times.items() if name not in ("n", "failed"))
    yield "coverage", evaluation.coverage
    yield "queries", len(evaluation.queries)
    yield "failed", len(evaluation.failures)
    yield "unfound", len(evaluation.unfound)


def _document(evaluation: Evaluation, id_: str) -> ExportedRun:
    provenance = evaluation.provenance
    return ExportedRun(
        id=id_,
        name=provenance.name,
        golden=dict(provenance.golden),
        system=dict(provenance.system),
        fingerprint=provenance.fingerprint,
        settings=dict(provenance.settings),
        versions=dict(provenance.versions),
        definitions=dict(evaluation.scores.definitions),
        means={name: value if math.isfinite(value) else None for name, value in evaluation.means.items()},
        latency={stage: dict(times) for stage, times in evaluation.latency.items()},
        failed=dict(evaluation.failures),
        unfound=tuple(sorted(evaluation.unfound)),
        names={},
    )


def experiment_records(path: str | Path) -> tuple[Record, ...]:
    """Return a record of each entry of a log: its changes, results and verdict."""
    log = read_log(path)
    for name, count in Counter(experiment.id for experiment in log).items():
        if count > 1:
            message = f"{count} experiments are called {shorten(name)}"
            raise InputError(message, source=str(path), hint="rename all but one")
    return tuple(_experiment_record(experiment, path) for experiment in log)


def _experiment_record(experiment: Experiment, path: str | Path) -> Record:
    params = _filled(flatten(experiment.changes))
    results = flatten(experiment.results)
    metrics = {name: float(value) for name, value in results.items() if _is_number(value)}
    origin = {key: experiment.record[key] for key in ("variant", "sweep", "policy", "run") if key in experiment.record}
    golden, system = experiment.record.get("golden"), experiment.record.get("fingerprint")
    golden = golden if isinstance(golden, Mapping) else {}
    tags = {
        **_golden(golden),
        **{f"karat.{key}": value for key, value in origin.items() if isinstance(value, str)},
        "karat.experiment": experiment.id,
        "karat.date": experiment.date,
        "karat.verdict": experiment.verdict,
        "karat.reason": experiment.reason,
        "karat.system.fingerprint": system if isinstance(system, str) else "",
    }
    id_ = _id("experiment", [experiment.id, experiment.date, golden.get("fingerprint"), system], params)
    return Record(
        kind="experiment",
        id=id_,
        name=experiment.id,
        source=str(path),
        created=_midnight(experiment.date),
        params=params,
        metrics=metrics,
        tags=tags | _without(name for name in results if name not in metrics),
        document=ExportedExperiment(id=id_, experiment=dict(experiment.record), names={}),
        note=experiment.description,
    )


def _is_number(value: Any) -> bool:
    """Return whether a value is a number that a metric can hold; JSON has whole numbers that are too large."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def _midnight(date: str) -> int:
    """Return the beginning of a day in milliseconds since 1970, or now if the text is not a day."""
    try:
        day = datetime.fromisoformat(date)
        moment = int((day if day.tzinfo else day.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        moment = -1
    return moment if moment >= 0 else int(time.time() * 1000)


def _golden(golden: Mapping[str, Any]) -> dict[str, str]:
    """Return the tags that name the golden set."""
    return {f"karat.golden.{key}": str(golden.get(key) or "") for key in ("name", "version", "fingerprint")}


def _without(names: Iterable[str]) -> dict[str, str]:
    """Return the tag that names the measures without a value: a 0 would be a lie."""
    return {"karat.without_value": ", ".join(names)}


def _filled(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value != {}}


def _id(*parts: object) -> str:
    """Hash what identifies a record: a later export of the same one may change only its numbers and tags."""
    text = json.dumps([_FORMAT, *parts], sort_keys=True, default=str)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
