"""The pages of long work: what runs, what was started, and what can be."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from karat.core import KaratError, UsageError
from karat.experiments import read_sweep
from karat.files import name_paths
from karat.index import Index
from karat.pages._addresses import fill_address
from karat.pages._errors import NotNow, NotThere
from karat.pages._judging import Name
from karat.pages._tables import Table
from karat.schema.pages import JudgedRun, WorkItemPage, WorkLine, WorkPage
from karat.work import find_work, list_work, read_output, start_work, stop_work

WORK = "/jobs/{work}"
_RUNS, _SWEEPS = 50, 50
_NOT_SWEEPS = ("karat.toml", "golden.toml", "pyproject.toml")


class WorkRequest(Struct, frozen=True, kw_only=True):
    """Nothing can be chosen."""


class WorkItemRequest(Struct, frozen=True, kw_only=True):
    """Which work."""

    work: Annotated[str, Meta(max_length=40)]


class EvaluateSent(Struct, frozen=True, kw_only=True):
    """That the system of the project is asked every question."""

    label: Annotated[str, Meta(max_length=100, pattern=r"^[^\x00-\x1f]*$", description="What to call the run.")] = ""
    who: Name = ""


class JudgeRunSent(Struct, frozen=True, kw_only=True):
    """Whose answers are judged."""

    run: Annotated[str, Meta(min_length=1, max_length=500, description="The id of a run.")]
    who: Name = ""


class SweepSent(Struct, frozen=True, kw_only=True):
    """Which variants are tried."""

    sweep: Annotated[str, Meta(min_length=1, max_length=200, description="The name of a sweep file of the project.")]
    who: Name = ""


class QueueSent(Struct, frozen=True, kw_only=True):
    """A queue of pairs of two runs that people are to judge."""

    name: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9-]{0,40}$(?!\n)", description="The name of the new queue.")]
    kind: Annotated[
        Literal["decide", "pool"],
        Meta(description="What tells most about which run is better, or all of the first ranks that nobody judged."),
    ]
    a: Annotated[str, Meta(min_length=1, max_length=500, description="The id of a run.")]
    b: Annotated[str, Meta(min_length=1, max_length=500)]
    who: Name = ""


class StopSent(Struct, frozen=True, kw_only=True):
    """Which work is stopped."""

    work: Annotated[str, Meta(max_length=40)]
    who: Name = ""


def show_work(index: Index, request: WorkRequest) -> WorkPage:  # noqa: ARG001 (as of all pages)
    """Return what was started from pages, the latest first, and what can be started."""
    works = tuple(_hide_folder(line, index.folder) for line in list_work(index.folder))
    runs = [run.line for run in index.list_runs() if run.line.state in ("complete", "undecided")]
    return WorkPage(
        project=index.meta.get("name", index.folder.name),
        works=works,
        running=next((line.head.id for line in works if line.state == "running"), ""),
        runs=tuple(JudgedRun(id=line.id, title=line.title) for line in runs[:_RUNS]),
        sweeps=tuple(_list_sweeps(index.folder)),
    )


def show_work_item(index: Index, request: WorkItemRequest) -> WorkItemPage:
    """Return a piece of work with the end of what it printed."""
    line = find_work(index.folder, request.work)
    if line is None:
        raise NotThere("there is no such job")
    output, hidden = read_output(index.folder, request.work)
    line = _hide_folder(line, index.folder)
    return WorkItemPage(
        project=index.meta.get("name", index.folder.name),
        line=line,
        command=shlex.join(("karat", *line.head.arguments)),
        output=name_paths(output, index.folder),
        hidden=hidden,
    )


def _hide_folder(line: WorkLine, folder: Path) -> WorkLine:
    """Return a line whose arguments name files as seen from the project: viewers need not know where that is."""
    names = (
        "." if argument == str(folder) else argument.removeprefix(f"{folder}{os.sep}")
        for argument in line.head.arguments
    )
    return replace(line, head=replace(line.head, arguments=tuple(names)))


def _list_sweeps(folder: Path) -> Iterator[str]:
    """Yield the names of the sweep files of a project; those of another project, and what is none, are left out."""
    for path in sorted(folder.glob("*.toml"))[:_SWEEPS]:
        if path.name in _NOT_SWEEPS:
            continue
        try:
            if read_sweep(path).project.resolve() == folder.resolve():
                yield path.name
        except KaratError:  # a policy, or a file of another tool
            continue


def start_evaluation(index: Index, who: str, sent: EvaluateSent) -> tuple[WorkLine, str]:
    """Ask the system of the project every question, as karat eval does; return the work with its address."""
    label = sent.label.strip()
    arguments = ["eval", str(index.folder), *([f"--label={label}"] if label else [])]
    return _start(index, "evaluate", f"karat eval{f' of {label}' if label else ''}", arguments, who)


def start_judging(index: Index, who: str, sent: JudgeRunSent) -> tuple[WorkLine, str]:
    """Let the project's judges judge every answer of a run, as karat judge does; return the work with its address."""
    arguments = ["judge", "run", str(_find_file(index, sent.run)), "--project", str(index.folder)]
    return _start(index, "judge", f"karat judge of {sent.run[:100]}", arguments, who)


def start_sweep(index: Index, who: str, sent: SweepSent) -> tuple[WorkLine, str]:
    """Try the variants of a sweep file, as karat sweep does; return the work with its address."""
    if sent.sweep not in _list_sweeps(index.folder):
        raise NotThere(f"the project has no sweep file {sent.sweep[:100]!r}")
    arguments = ["sweep", str(index.folder / sent.sweep)]
    return _start(index, "sweep", f"karat sweep {sent.sweep}", arguments, who)


def start_queue(index: Index, who: str, sent: QueueSent) -> tuple[WorkLine, str]:
    """Make a queue of what two runs returned, as karat label queue does; return the work with its address."""
    files = [str(_find_file(index, run)) for run in (sent.a, sent.b)]
    arguments = ["label", "queue", sent.name, *files, "--kind", sent.kind, "--golden", str(index.folder)]
    return _start(index, "queue", f"karat label queue {sent.name}", arguments, who)


def _find_file(index: Index, id_: str) -> Path:
    run = index.find_run(id_)
    if run is None:
        raise NotThere(f"there is no run {id_[:100]!r}")
    return index.folder / "runs" / Path(run.line.file).name


def _start(index: Index, kind: str, title: str, arguments: list[str], who: str) -> tuple[WorkLine, str]:
    try:
        line = start_work(index.folder, kind, title, arguments, by=who)  # type: ignore[arg-type] # one of the three
    except UsageError as error:
        raise NotNow(str(error)) from None
    return line, link_work(line.head.id)


def stop_running(index: Index, sent: StopSent) -> tuple[WorkLine, str]:
    """Stop a piece of work; return it with its address."""
    if find_work(index.folder, sent.work) is None:
        raise NotThere("there is no such job")
    try:
        return stop_work(index.folder, sent.work), link_work(sent.work)
    except UsageError as error:
        raise NotNow(str(error)) from None


def link_work(work: str) -> str:
    """Return the address of a piece of work."""
    return fill_address(WORK, {"work": work})


def table_work(page: WorkPage) -> Table:
    """Return the work as rows."""
    head = ("id", "kind", "title", "by", "started", "state", "exit code", "ended")
    rows = [
        (own.head.id, own.head.kind, own.head.title, own.head.by, own.head.at, own.state,
         own.end.code if own.end else None, own.end.at if own.end else None)
        for own in page.works
    ]  # fmt: skip
    return Table(head=head, rows=rows)
