"""What is compared: run files and baseline files, read, checked against each other and scored alike."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from karat.core import GoldenSet, InputError, Measure, Run
from karat.evaluation import MEASURES, Snapshot, check_comparable, snapshot_run
from karat.files import read_bytes
from karat.gate import read_baseline
from karat.projects._gating import project_of
from karat.projects._project import Project, open_project
from karat.runs import read_answers, same_golden

_CLASSES = "RR"  # the classes of changed lists look at it, whatever was asked for


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One of the runs that are compared."""

    path: str
    snapshot: Snapshot
    """Its name is that of the file: two runs of one system have the same name otherwise."""
    lists: Mapping[str, tuple[str, ...]] | None = None
    """All documents of each query, as it stands and asked for the first time; None for a baseline file."""


@dataclass(frozen=True, kw_only=True)
class Subjects:
    """Runs that can be compared, with the project that they were scored by."""

    project: Project
    measures: tuple[str, ...]
    """What was asked for, or what all of them have."""
    each: tuple[Subject, ...]

    @property
    def snapshots(self) -> list[Snapshot]:
        """What each of them scored."""
        return [one.snapshot for one in self.each]


def read_subjects(
    paths: Sequence[str | Path],
    measures: Sequence[str] = (),
    *,
    project: str | Path | Project | None = None,
    say: Callable[[str], None] | None = None,
) -> Subjects:
    """Read runs and baselines, refuse those whose scores do not mean the same, and score the runs.

    The project is the one that the first file lies in, if none is given. Without ``measures`` it is those of the
    baselines, or else those of the project.
    """
    if not isinstance(project, Project):
        project = open_project(project_of(paths[0]) if project is None else project)
    found = [_read(path, project.golden, say) for path in paths]
    for (one, then), (other, now) in combinations(zip(paths, found, strict=True), 2):
        check_comparable(_head(now, other), _head(then, one))
    found = _same_depth(paths, found, say)
    wanted = _wanted(project, [one for one in found if isinstance(one, Snapshot)], measures)
    each = [_subject(path, one, project, wanted) for path, one in zip(paths, found, strict=True)]
    return Subjects(project=project, measures=tuple(wanted), each=tuple(each))


def _read(path: str | Path, golden: GoldenSet, say: Callable[[str], None] | None) -> Run | Snapshot:
    if _is_baseline(path):
        return replace(read_baseline(path).snapshot, name=Path(path).name)
    return read_answers(path, golden, say=say)


def _is_baseline(path: str | Path) -> bool:
    """Tell a baseline file from a run; one that is damaged says so when it is read."""
    if not Path(path).is_file():
        return False  # whoever reads it says what is wrong
    data = read_bytes(path)
    if b'"karat": "baseline"' in data[:200]:
        return True
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):  # runs are lines of JSON, or none
        return False
    return isinstance(record, dict) and isinstance(record.get("metrics"), dict) and "recorded_at" in record


def _head(one: Run | Snapshot, path: str | Path) -> Snapshot:
    """Give what a file says of its golden set, so that two sets are told before anything is scored."""
    return Snapshot(name=Path(path).name, golden=one.golden, system={}, fingerprint="")


def _same_depth(
    paths: Sequence[str | Path], found: Sequence[Run | Snapshot], say: Callable[[str], None] | None
) -> list[Run | Snapshot]:
    """Let answers from elsewhere have the k of the others: they do not say how many hits were asked for.

    What stands there instead is the length of the longest list, and of a system that was asked for 1,000 it may be 998.
    """
    known = [one.settings["k"] for one in found if one.versions and "k" in one.settings]
    deepest = max((one.settings.get("k", 0) for one in found), default=0)
    k = known[0] if known else deepest
    settled: list[Run | Snapshot] = []
    for path, one in zip(paths, found, strict=True):
        longest = one.settings.get("k", k)
        if one.versions or longest >= k:
            settled.append(one)
            continue
        if say is not None:
            say(
                f"{path}: its longest list has {longest:,} hits, those of the others {k:,}; it is taken to have no more"
            )
        settled.append(replace(one, settings={**one.settings, "k": k}))
    return settled


def _wanted(project: Project, baselines: Sequence[Snapshot], measures: Sequence[str]) -> list[str]:
    wanted = list(dict.fromkeys(str(Measure.parse(one)) for one in measures))
    for baseline in baselines:
        lacking = [one for one in wanted if one not in baseline.means]
        if lacking:
            have = ", ".join(baseline.means)
            raise InputError(f"has no {', '.join(lacking)}", source=baseline.name, hint=f"it has {have}")
    if wanted:
        return wanted
    if baselines:
        shared = [one for one in baselines[0].means if all(one in other.means for other in baselines)]
        if not shared:
            raise InputError("the baselines have no measure in common")
        return shared
    said: Any = project.config.eval.get("measures", MEASURES)
    return list(dict.fromkeys(str(Measure.parse(one)) for one in said))


def _subject(path: str | Path, one: Run | Snapshot, project: Project, measures: Sequence[str]) -> Subject:
    if isinstance(one, Snapshot):
        return Subject(path=str(path), snapshot=one)
    same_golden(project.golden, one)
    unit: Any = project.config.eval.get("unit", "document")
    scored = snapshot_run(project.golden, one, dict.fromkeys((*measures, _CLASSES)), unit=unit)
    return Subject(path=str(path), snapshot=replace(scored, name=Path(path).name), lists=lists_of(one))


def lists_of(run: Run) -> dict[str, tuple[str, ...]]:
    """Give the documents of each query, as it stands and asked for the first time; each once, where it came first."""
    return {
        trace.query: tuple(dict.fromkeys(hit.document for hit in trace.hits))
        for trace in run.traces
        if not trace.paraphrase and not trace.repeat
    }
