"""Long work that a page starts: verbs of the command line, each in a process that goes on by itself."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from karat.schema._types import Count

WorkKind = Literal["evaluate", "judge", "sweep", "queue"]
WorkState = Literal["running", "done", "failed", "stopped", "lost"]


class WorkHead(Struct, frozen=True, kw_only=True):
    """What was started, by whom and when; the file ``work.json`` of its folder."""

    id: str
    kind: WorkKind
    title: Annotated[str, Meta(description="What it does, in words.")]
    arguments: Annotated[tuple[str, ...], Meta(description="The verb of karat with its arguments.")]
    by: str
    at: Annotated[str, Meta(description="In UTC.")]


class WorkProgress(Struct, frozen=True, kw_only=True):
    """How far the stage of a verb is; the file that ``KARAT_PROGRESS`` names."""

    stage: str
    done: Count
    total: Count


class WorkEnd(Struct, frozen=True, kw_only=True):
    """How work ended; the file ``end.json`` of its folder."""

    code: Annotated[int, Meta(description="The exit code of the verb.")]
    at: str
    stopped: Annotated[bool, Meta(description="Whether somebody stopped it.")] = False


class WorkLine(Struct, frozen=True, kw_only=True):
    """A piece of work in a list."""

    head: WorkHead
    state: Annotated[WorkState, Meta(description="lost: its process was killed, and nothing says how far it came.")]
    progress: WorkProgress | None
    end: WorkEnd | None


class JudgedRun(Struct, frozen=True, kw_only=True):
    """A run whose answers can be judged."""

    id: str
    title: str


class WorkPage(Struct, frozen=True, kw_only=True):
    """The jobs that were started, the latest first, and those that can be started."""

    karat: Literal["page-work"] = "page-work"
    project: str
    works: tuple[WorkLine, ...]
    running: Annotated[str, Meta(description="The id of what runs; empty if nothing does, and something can start.")]
    runs: Annotated[tuple[JudgedRun, ...], Meta(description="The newest runs, whose answers can be judged.")]
    sweeps: Annotated[tuple[str, ...], Meta(description="The sweep files in the folder of the project.")]


class WorkItemPage(Struct, frozen=True, kw_only=True):
    """One piece of work with what it printed."""

    karat: Literal["page-work-item"] = "page-work-item"
    project: str
    line: WorkLine
    command: str
    output: Annotated[str, Meta(description="The end of what it printed.")]
    hidden: Annotated[Count, Meta(description="Bytes before that, which are not shown.")]
