"""What an export is made of: one record for each run, and for each entry of a log of experiments."""

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
from karat.runs import read_answers, require_golden

_FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Record:
    """One thing to export, under its true names."""

    kind: Literal["run", "experiment"]
    id: str
    """The same for the same thing, wherever it is exported from; an export looks for it."""
    name: str
    source: str
    """The file it was read from."""
    made: int
    """When it came about, in milliseconds since 1970."""
    params: Mapping[str, Any]
    metrics: Mapping[str, float]
    tags: Mapping[str, str]
    document: Mapping[str, Any]
    """All that is known of it, as JSON has it."""
    note: str = ""
    """A description for people."""
    file: Path | None = None
    """What goes among the artefacts as it is."""


def read_records(
    paths: Sequence[str | Path],
    *,
    project: str | Path | None = None,
    measures: Sequence[str] = (),
    say: Callable[[str], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Record, ...]:
    """Read runs, and logs of experiments, and make records of them.

    A run is scored with ``measures``, or those of its project: the one that is given, or the one it lies in.
    ``progress`` is told how many files were read, and how many there are.
    """
    opened: dict[Path, Project] = {}
    found: list[Record] = []
    for number, path in enumerate(paths, 1):
        if _is_log(path):
            found += experiment_records(path)
        else:
            folder = Path(find_project(path) if project is None else project)
            opened[folder] = opened.get(folder) or open_project(folder)
            found.append(run_record(path, opened[folder], measures, say=say))
        if progress is not None:
            progress(number, len(paths))
    return tuple(found)


def _is_log(path: str | Path) -> bool:
    """Tell a log of experiments from a run, which is lines; a damaged one says so when it is read."""
    if Path(path).name == LOG:
        return True
    if not Path(path).is_file():
        return False  # whoever reads it says what is wrong
    try:
        record = json.loads(read_bytes(path))
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and isinstance(record.get("experiments"), list)


def run_record(
    path: str | Path, project: Project, measures: Sequence[str] = (), *, say: Callable[[str], None] | None = None
) -> Record:
    """Score a run, and give its record: what the system is made of, its means and its latency."""
    run = read_answers(path, project.golden, say=say)
    require_golden(project.golden, run.provenance)
    scored = score_run(project.golden, run, measures or project.config.eval.measures, unit=project.unit)
    params = _filled(flatten({"system": scored.provenance.system, "settings": scored.provenance.settings}))
    numbers = dict(_numbers(scored))
    tags = {
        **_golden(scored.provenance.golden),
        "karat.system": scored.name,
        "karat.system.fingerprint": scored.provenance.fingerprint,
        "karat.version": scored.provenance.versions.get("karat", __version__),
    }
    return Record(
        kind="run",
        id=_id("run", hashlib.sha256(read_bytes(path)).hexdigest(), params),
        name=Path(path).name.removesuffix(".gz").removesuffix(".jsonl"),
        source=str(path),
        made=int(Path(path).stat().st_mtime * 1000),
        params=params,
        metrics={name: value for name, value in numbers.items() if math.isfinite(value)},
        tags=tags | _without(name for name, value in numbers.items() if not math.isfinite(value)),
        document=_document(scored),
        file=Path(path),
    )


def _numbers(scored: Evaluation) -> Iterator[tuple[str, float]]:
    """Give all that is measured of a run; NaN where there is no value."""
    yield from scored.means.items()
    for stage, times in scored.latency.items():
        before = "latency." if stage == "total" else f"latency.{stage}."
        yield from ((f"{before}{name}", value) for name, value in times.items() if name != "n")
    yield "coverage", scored.coverage
    yield "queries", len(scored.queries)
    yield "failed", len(scored.failures)
    yield "unfound", len(scored.unfound)


def _document(scored: Evaluation) -> dict[str, Any]:
    return {
        "name": scored.name,
        "golden": dict(scored.provenance.golden),
        "system": dict(scored.provenance.system),
        "fingerprint": scored.provenance.fingerprint,
        "settings": dict(scored.provenance.settings),
        "versions": dict(scored.provenance.versions),
        "definitions": dict(scored.scores.definitions),
        "means": {name: value if math.isfinite(value) else None for name, value in scored.means.items()},
        "latency": {stage: dict(times) for stage, times in scored.latency.items()},
        "failed": dict(scored.failures),
        "unfound": sorted(scored.unfound),
    }


def experiment_records(path: str | Path) -> tuple[Record, ...]:
    """Give a record of each entry of a log: its changes, results and verdict."""
    log = read_log(path)
    for name, times in Counter(one.id for one in log).items():
        if times > 1:
            what = f"{times} experiments are called {shorten(name)}"
            raise InputError(what, source=str(path), hint="rename all but one")
    return tuple(_experiment_record(one, path) for one in log)


def _experiment_record(one: Experiment, path: str | Path) -> Record:
    params = _filled(flatten(one.changes))
    results = flatten(one.results)
    metrics = {name: float(value) for name, value in results.items() if _is_number(value)}
    said = {key: one.record[key] for key in ("variant", "sweep", "policy", "run") if key in one.record}
    golden, system = one.record.get("golden"), one.record.get("fingerprint")
    known = golden if isinstance(golden, Mapping) else {}
    tags = {
        **_golden(known),
        **{f"karat.{key}": value for key, value in said.items() if isinstance(value, str)},
        "karat.experiment": one.id,
        "karat.date": one.date,
        "karat.verdict": one.verdict,
        "karat.reason": one.reason,
        "karat.system.fingerprint": system if isinstance(system, str) else "",
    }
    return Record(
        kind="experiment",
        id=_id("experiment", [one.id, one.date, known.get("fingerprint"), system], params),
        name=one.id,
        source=str(path),
        made=_midnight(one.date),
        params=params,
        metrics=metrics,
        tags=tags | _without(name for name in results if name not in metrics),
        document={"experiment": dict(one.record)},
        note=one.description,
    )


def _is_number(value: Any) -> bool:
    """Tell a number that a metric can hold; JSON has whole ones that are too large for it."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def _midnight(date: str) -> int:
    """Give the beginning of a day, or now where it is none."""
    try:
        day = datetime.fromisoformat(date)
        moment = int((day if day.tzinfo else day.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        moment = -1
    return moment if moment >= 0 else int(time.time() * 1000)


def _golden(golden: Mapping[str, Any]) -> dict[str, str]:
    """Name the golden set."""
    return {f"karat.golden.{key}": str(golden.get(key) or "") for key in ("name", "version", "fingerprint")}


def _without(names: Iterable[str]) -> dict[str, str]:
    """Name what has no value: a 0 would be a lie."""
    return {"karat.without_value": ", ".join(names)}


def _filled(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value != {}}


def _id(*parts: object) -> str:
    """Hash what makes a record this one and no other: of what is exported only numbers and tags can change."""
    text = json.dumps([_FORMAT, *parts], sort_keys=True, default=str)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
