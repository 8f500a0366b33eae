"""Quality over time: the saved runs of a project in the order in which they were made, scored alike."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from karat.core import InputError, Measure, Run, UsageError
from karat.evaluation import MEASURES, Evaluation, empty_scores, require_comparable, score_run, system_changes
from karat.files import access_file
from karat.golden import fingerprint
from karat.projects import Project, find_project, open_project, require_complete
from karat.runs import read_begun, read_run_file

_ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.part")
_DATED = re.compile(r"-([0-9]{4}-[0-9]{2}-[0-9]{2})-[0-9a-f]{8}(-[0-9]+)?\Z")
_NUMBERS = re.compile(r"([0-9]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFile:
    """A file that a run may be in, with the day that it was made, and the time as far as that is known."""

    path: Path
    day: date
    day_from: str
    """``name`` if the day stands in the file's name, ``begun`` if the file says it, else ``modified``."""
    time: datetime | None = None
    """When the run was begun, or the file last changed; None where that is on another day, as that of a copy is."""
    time_from: str | None = None

    @property
    def order(self) -> tuple[date, datetime, list[str | int], str]:
        """The place in a history: by day, by time, then by name, in which numbers count as numbers."""
        parts = _NUMBERS.split(_stem(self.path))
        names = [int(part) if i % 2 else part for i, part in enumerate(parts)]
        return self.day, self.time or datetime.min.replace(tzinfo=UTC), names, str(self.path)

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON has it."""
        return {
            "run": self.path.name,
            "path": str(self.path),
            "date": self.day.isoformat(),
            "date_from": self.day_from,
            "time": None if self.time is None else f"{self.time:%Y-%m-%dT%H:%M:%SZ}",
            "time_from": self.time_from,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One run of a history."""

    file: RunFile
    evaluation: Evaluation
    """Without values by query: of hundreds of runs there is no room for them."""
    changes: tuple[tuple[str, Any, Any], ...] | None = None
    """What the system is made of that differs from the run before, as key, now and then; None for the first."""

    def to_dict(self, measures: Sequence[str]) -> dict[str, Any]:
        """Give it as JSON has it."""
        one = self.evaluation
        return {
            **self.file.to_dict(),
            "queries": len(one.queries),
            "failed": len(one.failures),
            "measures": {name: _number(one.mean(name)) for name in measures},
            "p95": _number(one.latency_of("p95")),
            "changes": None
            if self.changes is None
            else [{"key": key, "now": now, "was": was} for key, now, was in self.changes],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Runs whose scores mean the same, the oldest first."""

    points: tuple[Point, ...]
    asked: dict[str, Any] = field(default_factory=dict)
    """The settings by which it differs from the other histories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """What became of a project's quality."""

    project: Project
    measures: tuple[str, ...]
    histories: tuple[History, ...]
    """Runs that were asked otherwise (another k, a sample) are another history; the one with the newest run first."""
    apart: tuple[Point, ...] = ()
    """Runs on another golden set, which are not scored: scores on different sets are not one history."""
    skipped: tuple[tuple[RunFile, str], ...] = ()
    """Files that could not be used, and why."""

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON has it."""
        golden = self.project.golden
        return {
            "golden": {"name": golden.name, "version": golden.version, "fingerprint": fingerprint(golden)},
            "measures": list(self.measures),
            "histories": [
                {"asked": one.asked, "runs": [point.to_dict(self.measures) for point in one.points]}
                for one in self.histories
            ],
            "apart": [
                {
                    **one.file.to_dict(),
                    "queries": len(one.evaluation.queries),
                    "golden": dict(one.evaluation.provenance.golden),
                }
                for one in self.apart
            ],
            "skipped": [{**file.to_dict(), "reason": reason} for file, reason in self.skipped],
        }


def read_trend(
    paths: Sequence[str | Path] = (".",),
    measures: Sequence[str] = (),
    *,
    golden: str | Path | None = None,
    last: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Trend:
    """Read the runs of a project, a folder whose ``runs`` are meant, or of some files, and score each once.

    ``golden`` is the project of runs that were kept elsewhere: files, or a folder of them. With ``last`` no more than
    so many of the newest runs on the project's golden set. A file that is damaged or not finished is no reason to show
    nothing: it is in ``skipped``.
    """
    if last is not None and last < 1:
        raise UsageError(f"last={last}; choose at least 1")
    folders = [Path(path) for path in paths if Path(path).is_dir()]
    if not paths or (folders and len(paths) > 1):
        raise UsageError("name one project, or the files of its runs")
    project = open_project(golden or (folders[0] if folders else find_project(paths[0])))
    files = (
        _found(folders[0], bare=golden is not None)
        if folders
        else [_dated(path) for path in dict.fromkeys(map(Path, paths))]
    )
    said = measures or project.config.eval.measures or MEASURES
    wanted = tuple(dict.fromkeys(str(Measure.parse(one)) for one in said))
    newest_first = sorted(files, key=lambda file: file.order, reverse=True)
    return _Reader(project, wanted).read(newest_first, last, progress)


def newest_run(paths: Sequence[str | Path], *, golden: str | Path | None = None) -> tuple[RunFile, tuple[str, ...]]:
    """Find the newest complete run on the golden set of a project, among what :func:`read_trend` would read.

    The other value says which newer ones were passed over, and why: damaged, unfinished, or on another golden set.
    """
    trend = read_trend(paths, MEASURES[:1], golden=golden, last=1)  # one measure: the score is not looked at
    apart = [f"{one.file.path}: is on another golden set" for one in reversed(trend.apart)]
    passed_over = (*apart, *(reason for _, reason in reversed(trend.skipped)))
    if not trend.histories:
        more = f", nor {len(passed_over) - 1:,} more" if len(passed_over) > 1 else ""
        what = f"no complete run on the golden set as it is now; not {passed_over[0]}{more}"
        raise InputError(what, source=str(paths[0]) if len(paths) == 1 else "", hint="'karat eval' makes one")
    return trend.histories[0].points[-1].file, passed_over


def _found(project: Path, *, bare: bool) -> list[RunFile]:
    """Give the runs of a folder, those that were begun and not finished with them; a bare one may have no ``runs``."""
    folder = project / "runs"
    if bare and not folder.exists():
        folder = project
    paths = access_file(str(folder), lambda: list(folder.iterdir())) if folder.exists() else []
    files = [_dated(path) for path in paths if path.name.endswith(_ENDINGS)]
    if not files:
        raise InputError("there are no runs yet", source=str(folder), hint="'karat eval' makes them")
    return files


def _dated(path: Path) -> RunFile:
    """Find when a run was made: on the day in its name, at the time that it says, or as far as its file tells."""
    begun = read_begun(path)
    # A link that leads nowhere has a time of its own.
    changed = access_file(str(path), lambda: path.stat() if path.exists() else path.lstat()).st_mtime
    time, source = (begun, "begun") if begun else (datetime.fromtimestamp(changed, tz=UTC), "modified")
    named = _day(path)
    day = named or time.date()
    near = timedelta() <= time.date() - day <= timedelta(days=1)  # a run that goes past midnight ends on the next
    return RunFile(
        path=path,
        day=day,
        day_from="name" if named else source,
        time=time if near else None,
        time_from=source if near else None,
    )


def _day(path: Path) -> date | None:
    """Find the day in the name of a file, as karat eval writes it."""
    named = _DATED.search(_stem(path))
    try:
        return date.fromisoformat(named[1]) if named else None
    except ValueError:  # such as the 30th of February: no day
        return None


def _stem(path: Path) -> str:
    ending = next((ending for ending in _ENDINGS if path.name.endswith(ending)), "")
    return path.name.removesuffix(ending)


class _Reader:
    """Reads runs one by one, the newest first, and lets go of each before the next."""

    def __init__(self, project: Project, measures: tuple[str, ...]) -> None:
        self._project = project
        self._measures = measures
        self._fingerprint = fingerprint(project.golden)  # once: it is as slow as a run is to score
        self._histories: list[tuple[Evaluation, list[Point]]] = []
        self._apart: list[Point] = []
        self._skipped: list[tuple[RunFile, str]] = []

    def read(self, files: Sequence[RunFile], last: int | None, progress: Callable[[int, int], None] | None) -> Trend:
        """Read until so many runs were found; what is no run does not count."""
        found = 0
        for number, file in enumerate(files, 1):
            if found == last:
                break
            try:
                found += self._take(file)
            except InputError as error:  # any other is a mistake in the call, and no file's
                named = str(error).startswith(str(file.path))
                self._skipped.append((file, str(error) if named else f"{file.path}: {error}"))
            if progress is not None:
                progress(number, len(files))
        return Trend(
            project=self._project,
            measures=self._measures,
            histories=_told_apart([_in_order(points) for _, points in self._histories]),
            apart=tuple(reversed(self._apart)),
            skipped=tuple(reversed(self._skipped)),
        )

    def _take(self, file: RunFile) -> bool:
        """Read a run, and say whether it is on the golden set of the project."""
        if file.path.suffix == ".part":
            raise InputError("the run was not finished", hint="run 'karat eval' again to go on")
        if file.path.is_fifo():  # which might be waited for in vain
            raise InputError("is a pipe, and no file")
        run = read_run_file(file.path)
        if run.provenance.golden.get("fingerprint") != self._fingerprint:
            self._apart.append(Point(file=file, evaluation=_unscored(run)))
            return False
        golden = self._project.golden
        require_complete(golden, run)
        taken = score_run(golden, run, self._measures, unit=self._project.unit).renamed(file.path.name)
        self._points(taken).append(Point(file=file, evaluation=taken.summary()))
        return True

    def _points(self, taken: Evaluation) -> list[Point]:
        """Find the history whose scores mean the same, or begin one."""
        for first, points in self._histories:
            try:
                require_comparable(taken, first)
            except InputError:  # another k, or a sample: that is what makes another history
                continue
            return points
        self._histories.append((taken, []))
        return self._histories[-1][1]


def _unscored(run: Run) -> Evaluation:
    queries = tuple(dict.fromkeys(trace.query for trace in run.traces))
    return Evaluation(provenance=run.provenance, scores=empty_scores(run.provenance.name), queries=queries)


def _in_order(points: Sequence[Point]) -> list[Point]:
    """Put the oldest first, and say of each other what changed since the one before."""
    ordered = list(reversed(points))
    later = (
        replace(
            now, changes=tuple(system_changes(now.evaluation.provenance.system, before.evaluation.provenance.system))
        )
        for before, now in pairwise(ordered)
    )
    return [*ordered[:1], *later]


def _told_apart(histories: Sequence[Sequence[Point]]) -> tuple[History, ...]:
    """Say of each history by which settings it differs from the others, as far as its own runs agree in them."""
    settings = [[point.evaluation.provenance.settings for point in points] for points in histories]
    newest = settings[0][-1] if settings else {}
    keys = [key for key in newest if any(one.get(key) != newest[key] for each in settings for one in each)]
    return tuple(
        History(
            points=tuple(points),
            asked={key: each[0].get(key) for key in keys if all(one.get(key) == each[0].get(key) for one in each)},
        )
        for points, each in zip(histories, settings, strict=True)
    )


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
