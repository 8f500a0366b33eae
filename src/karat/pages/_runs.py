"""The page of all runs: sorted, filtered, a page at a time."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from karat.core import UsageError
from karat.index import Index
from karat.schema.pages import RunLine, RunsPage

_Key = tuple[bool, float | str, str]


class RunsRequest(Struct, frozen=True, kw_only=True):
    """Which runs, and in which order."""

    q: Annotated[str, Meta(max_length=200, description="Text in the title, file, commit, branch or a setting.")] = ""
    system: Annotated[str, Meta(max_length=500, description="The name of the system.")] = ""
    branch: Annotated[str, Meta(max_length=500)] = ""
    outcome: Annotated[
        str, Meta(pattern="^(|pass|fail|inconclusive|error|none)$", description="What the gate says; none: nothing.")
    ] = ""
    sort: Annotated[
        str,
        Meta(
            max_length=200,
            description="time, title, queries, failed or a measure; with a minus in front the greatest first.",
        ),
    ] = "-time"
    after: Annotated[str, Meta(max_length=2_000, description="Where the last page ended: its field more.")] = ""
    limit: Annotated[int, Meta(ge=1, le=500)] = 50
    a: Annotated[str, Meta(max_length=500, description="The first of two runs that were chosen.")] = ""
    choose: Annotated[str, Meta(pattern="^(|on)$", description="Whether two runs are to be chosen.")] = ""


def show_runs(index: Index, request: RunsRequest) -> RunsPage:
    """Return the runs of a project that the filters keep, in order, a page at a time."""
    lines = [run.line for run in index.list_runs()]
    measures = tuple(msgspec.json.decode(index.meta.get("measures", "[]"), type=tuple[str, ...]))
    kept = [line for line in lines if _is_wanted(line, request)]
    name, descending = request.sort.removeprefix("-"), request.sort.startswith("-")
    find_key = _choose_key(name, measures)
    # Two passes: what has no value comes last, whichever way the order goes.
    ordered = sorted(kept, key=lambda line: find_key(line)[1:], reverse=descending)
    ordered.sort(key=lambda line: find_key(line)[0])
    start = _find_start(ordered, request.after)
    shown = ordered[start : start + request.limit]
    has_more = start + request.limit < len(ordered)
    filters = {"q": request.q, "system": request.system, "branch": request.branch, "outcome": request.outcome}
    return RunsPage(
        project=index.meta.get("name", index.folder.name),
        measures=measures,
        runs=tuple(shown),
        sort=request.sort,
        filters={key: value for key, value in filters.items() if value},
        systems=tuple(sorted({line.system for line in lines if line.system})),
        branches=tuple(sorted({line.branch for line in lines if line.branch})),
        total=len(lines),
        matching=len(kept),
        more=shown[-1].id if has_more else None,
        index=index.find_state(),
    )


def _is_wanted(line: RunLine, request: RunsRequest) -> bool:
    if request.outcome and (line.outcome or "none") != request.outcome:
        return False
    if (request.system and line.system != request.system) or (request.branch and line.branch != request.branch):
        return False
    texts = (line.title, line.file, line.commit, line.branch, json.dumps(dict(line.settings), ensure_ascii=False))
    return not request.q or any(request.q.casefold() in text.casefold() for text in texts)


def _choose_key(name: str, measures: tuple[str, ...]) -> Callable[[RunLine], _Key]:
    """Return the function that gives the sort key of a run: whether it has none, the key, and its id."""
    plain: dict[str, Callable[[RunLine], float | str]] = {
        "time": lambda line: line.order,
        "title": lambda line: line.title.casefold(),
        "queries": lambda line: line.queries,
        "failed": lambda line: line.failed,
    }
    if name in plain:
        take = plain[name]
        return lambda line: (False, take(line), line.id)
    if name not in measures:
        raise UsageError(f"there is no order {name!r}; choose from {', '.join((*plain, *measures))}")

    def find_mean(line: RunLine) -> _Key:
        measure = line.find(name)
        mean = None if measure is None else measure.mean
        return mean is None, 0.0 if mean is None else float(mean), line.id

    return find_mean


def _find_start(ordered: list[RunLine], after: str) -> int:
    """Return where a page begins; a run that is gone by now begins at the start."""
    return next((place + 1 for place, line in enumerate(ordered) if line.id == after), 0) if after else 0
