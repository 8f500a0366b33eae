"""The saved runs of a project: which files there are, when each was made, and which is the newest complete one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Literal

import msgspec

from karat.core import InputError, Run, UsageError
from karat.files import access_file, read_bytes
from karat.golden import fingerprint
from karat.projects._gating import find_project, require_complete
from karat.projects._project import Project, open_project
from karat.projects.saved_runs._configured import describe_difference
from karat.runs import read_begun, read_header, read_run_file

_ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.part")
_OTHERS = (".csv", ".json", ".ndjson", ".parquet", ".pq", ".run", ".trec", ".tsv", ".txt")
"""How runs of other programs may end."""
_DATED = re.compile(r"-([0-9]{4}-[0-9]{2}-[0-9]{2})-(?P<identity>[0-9a-f]{8}(?:-[0-9]+)?)\Z")
_DAY = re.compile(r"(?<![0-9])(20[0-9]{2})(-?)([0-9]{2})\2([0-9]{2})(?![0-9])")
_SKEW = timedelta(hours=1)  # by which the clocks of two machines may differ
VARIANT = "is a variant of a sweep"
_EPOCH = datetime.fromtimestamp(0, tz=UTC)
_NUMBERS = re.compile(r"([0-9]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFile:
    """A file that may hold a run, with the day and, if known, the time at which the run was made."""

    path: Path
    day: date
    day_from: Literal["name", "begun", "modified"]
    """``name`` if the day is in the file's name, ``begun`` if the file's header says it, else ``modified``."""
    time: datetime | None = None
    """When the run began, or the file was last changed; None if that is on another day, as after a copy."""
    time_from: Literal["begun", "modified"] | None = None
    future: str = ""
    """The day or time that the run claims, if that is still to come; then it is dated by its file."""

    @property
    def identity(self) -> str:
        """The end of the file's name, which is that of no other run that karat saved; "" for a file of another name."""
        match = _DATED.search(_stem(self.path))
        return match["identity"] if match else ""

    @property
    def order(self) -> tuple[date, datetime, list[str | int], str]:
        """The sort key: day, time, then name, where numbers count as numbers."""
        parts = _NUMBERS.split(_stem(self.path))
        words = [int(part) if place % 2 else part for place, part in enumerate(parts)]
        return self.day, self.time or datetime.min.replace(tzinfo=UTC), words, str(self.path)


def find_runs(paths: Sequence[str | Path], *, golden: str | Path | None = None) -> tuple[Project, tuple[RunFile, ...]]:
    """Return the project of some runs and their files, the newest first; no more than the headers is read.

    ``paths`` is one project, whose folder ``runs`` is meant, or some run files. ``golden`` names the project of runs
    that are kept elsewhere; then a folder of run files will do too.
    """
    folders = [Path(path) for path in paths if Path(path).is_dir()]
    if not paths or (folders and len(paths) > 1):
        raise UsageError("name one project, or some of its run files")
    project = open_project(golden or (folders[0] if folders else find_project(paths[0])))
    if folders:
        return project, list_run_files(folders[0], bare=golden is not None)
    return project, _sort(_date_run(path) for path in dict.fromkeys(map(Path, paths)))


def read_saved_run(file: RunFile) -> Run:
    """Read a run; refuse one that was not finished, and a pipe, which might block forever."""
    if file.path.suffix == ".part":
        raise InputError("the run was not finished", hint="run 'karat eval' again to continue it")
    if file.path.is_fifo():
        raise InputError("is a pipe, not a file")
    return read_run_file(file.path)


def name_file(file: RunFile, error: InputError) -> str:
    """Return an error's message with the file in front, unless the message begins with it."""
    message = str(error)
    return message if message.startswith(str(file.path)) else f"{file.path}: {message}"


def newest_run(
    paths: Sequence[str | Path], *, golden: str | Path | None = None, configured: bool = False
) -> tuple[RunFile, tuple[str, ...]]:
    """Return the newest complete run on the golden set of a project; the arguments are those of :func:`find_runs`.

    With ``configured`` it is the newest of the system that karat.toml configures. The second value says which newer
    files were passed over, and why: damaged, unfinished, on another golden set, of another system, or a variant of a
    sweep.
    """
    project, files = find_runs(paths, golden=golden)
    return choose_newest(project, files, source=str(paths[0]) if len(paths) == 1 else "", configured=configured)


def choose_newest(
    project: Project, files: Sequence[RunFile], *, source: str = "", configured: bool = False
) -> tuple[RunFile, tuple[str, ...]]:
    """Return what :func:`newest_run` returns, of files that are ordered already; ``source`` is named in errors.

    A variant of a sweep is chosen only if there is nothing else, or if it has the settings of the project: others were
    tried, and are not what the project has.
    """
    digest = fingerprint(project.golden)
    variants = _find_tried(project, files)
    faults: dict[Path, str] = {}
    for file in sorted(files, key=lambda file: file.path.name in variants):
        faults[file.path] = _find_fault(project, file, digest, configured=configured)
        if not faults[file.path]:
            newer = [other.path for other in files[: files.index(file)]]
            return file, tuple(faults.get(path) or f"{path}: {VARIANT}" for path in newer)
    passed_over = list(faults.values())
    more = f", nor {len(passed_over) - 1:,} more" if len(passed_over) > 1 else ""
    of_system = " of the configured system" if configured else ""
    raise InputError(
        f"no complete run{of_system} on the current golden set; not {passed_over[0]}{more}",
        source=source,
        hint="'karat eval' makes one" + (", and any run is taken by the name of its file" if configured else ""),
    )


def leave_out_variants(project: Project, files: Sequence[RunFile]) -> tuple[RunFile, ...]:
    """Return the files without variants of sweeps, as :func:`choose_newest` has it, or all if there is nothing else."""
    variants = _find_tried(project, files)
    return tuple(file for file in files if file.path.name not in variants) or tuple(files)


def _find_tried(project: Project, files: Sequence[RunFile]) -> frozenset[str]:
    """Return the names of the variants of sweeps, but for the newest that has the settings of the project."""
    variants = find_variants(project.config.folder)
    own = next((file.path.name for file in files if file.path.name in variants and _is_configured(project, file)), "")
    return variants - {own}


def _is_configured(project: Project, file: RunFile) -> bool:
    """Return whether the header of a run says that the configured system made it."""
    provenance = None if file.path.is_fifo() else read_header(file.path)
    return provenance is not None and not describe_difference(project, Run(provenance=provenance, traces=()))


def _find_fault(project: Project, file: RunFile, digest: str, *, configured: bool) -> str:
    """Return why a file does not hold the newest run, with its path; "" if it may."""
    try:
        run = read_saved_run(file)
        if run.provenance.golden.get("fingerprint") != digest:
            return f"{file.path}: is on another golden set"
        require_complete(project.golden, run)
        difference = describe_difference(project, run) if configured else ""
    except InputError as error:
        return name_file(file, error)
    return f"{file.path}: is not of the configured system: {difference}" if difference else ""


def find_variants(folder: Path) -> frozenset[str]:
    """Return the names of the run files that sweeps of a project made, as its log of experiments has them.

    A log that cannot be read has none; ``karat experiments`` says what is wrong with it.
    """
    try:
        log = msgspec.json.decode(read_bytes(folder / "experiments.json"), type=_Log)
    except (InputError, msgspec.DecodeError):
        return frozenset()
    return frozenset(Path(entry.run).name for entry in log.experiments if entry.run and entry.sweep)


class _Entry(msgspec.Struct):
    run: str = ""
    sweep: str = ""


class _Log(msgspec.Struct):
    experiments: list[_Entry]


def list_run_files(project: Path, *, bare: bool = False) -> tuple[RunFile, ...]:
    """Return the run files of a project's folder, the newest first, unfinished ones included.

    With ``bare`` the folder may hold them itself, without a folder ``runs``. If it has none, its other files may be
    runs of other programs, unless it is a project.
    """
    folder = project / "runs"
    if bare and not folder.exists():
        folder = project
    paths = access_file(str(folder), lambda: list(folder.iterdir())) if folder.exists() else []
    runs = [path for path in paths if path.name.endswith(_ENDINGS)]
    if not runs and folder == project and not (project / "karat.toml").exists():
        runs = [path for path in paths if _may_be_run(path)]
    if not runs:
        raise InputError("there are no runs yet", source=str(folder), hint="'karat eval' makes them")
    return _sort(map(_date_run, runs))


def _may_be_run(path: Path) -> bool:
    """Return whether a file may be a run of another program, by its name."""
    name = path.name.lower().removesuffix(".gz")
    return name.endswith(_OTHERS) and not name.startswith(".") and path.is_file()


def _sort(files: Iterable[RunFile]) -> tuple[RunFile, ...]:
    return tuple(sorted(files, key=lambda file: file.order, reverse=True))


def _date_run(path: Path) -> RunFile:
    """Find when a run was made: by the day in its name, the time in its header, or the time of its file.

    A day or time that is still to come does not count: such a run would be the newest for ever.
    """
    now = datetime.now(tz=UTC)
    begun = read_begun(path)
    named_day = _named_day(path)
    # A link that leads nowhere has a time of its own.
    changed = access_file(str(path), lambda: path.stat() if path.exists() else path.lstat()).st_mtime
    modified = datetime.fromtimestamp(changed, tz=UTC)
    future = ""
    if begun is not None and begun > now + _SKEW:
        begun, future = None, f"{begun:%Y-%m-%d %H:%M}"
    if named_day is not None and named_day > (now + _SKEW).date():
        named_day, future = None, f"{named_day}"
    if modified > now + _SKEW and begun is None and named_day is None:
        modified, future = _EPOCH, future or f"{modified:%Y-%m-%d}"
    time = begun or modified
    source: Literal["begun", "modified"] = "begun" if begun else "modified"
    day = named_day or time.date()
    near = timedelta() <= time.date() - day <= timedelta(days=1)  # a run that goes past midnight ends on the next day
    return RunFile(
        path=path,
        day=day,
        day_from="name" if named_day else source,
        time=time if near else None,
        time_from=source if near else None,
        future=future,
    )


def _named_day(path: Path) -> date | None:
    """Return the day in a file's name, as ``karat eval`` writes it, or None.

    A file of another format than karat's, such as bm25-2026-10-05.txt, has no other sign of its day: there any one day
    counts.
    """
    if not path.name.endswith(_ENDINGS):
        return _find_day(path.name)
    match = _DATED.search(_stem(path))
    try:
        return date.fromisoformat(match[1]) if match else None
    except ValueError:  # such as 30 February
        return None


def _find_day(name: str) -> date | None:
    """Return the only day in a name; None if there is none, or more."""
    days = {year + month + day for year, _, month, day in _DAY.findall(name)}
    try:
        return date.fromisoformat(days.pop()) if len(days) == 1 else None
    except ValueError:
        return None


def _stem(path: Path) -> str:
    ending = next((ending for ending in _ENDINGS if path.name.endswith(ending)), "")
    return path.name.removesuffix(ending)
