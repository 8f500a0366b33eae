"""Which work there is, and how far it is."""

from __future__ import annotations

import re
from pathlib import Path

from karat.files import open_file
from karat.schema.pages import WorkEnd, WorkHead, WorkLine, WorkProgress, WorkState
from karat.work._files import END, FOLDER, HEAD, OUTPUT, PROGRESS, is_held, read

_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{6}")


def list_work(project: Path, most: int = 50) -> tuple[WorkLine, ...]:
    """Return the work of a project, the latest first."""
    folder = project / FOLDER
    names = sorted((path.name for path in folder.iterdir()), reverse=True) if folder.is_dir() else []
    lines = (find_work(project, name) for name in names[:most])
    return tuple(line for line in lines if line is not None)


def find_work(project: Path, id_: str) -> WorkLine | None:
    """Return a piece of work by its id; None if there is none."""
    folder = project / FOLDER / id_
    head = read(folder, HEAD, WorkHead) if _ID.fullmatch(id_) else None
    if head is None:
        return None
    is_alive = is_held(folder)
    end = read(folder, END, WorkEnd)  # looked for after the lock, so that what has just ended is not taken for lost
    return WorkLine(
        head=head, state=_find_state(end, is_alive=is_alive), progress=read(folder, PROGRESS, WorkProgress), end=end
    )


def _find_state(end: WorkEnd | None, *, is_alive: bool) -> WorkState:
    if end is None:
        return "running" if is_alive else "lost"
    if end.stopped:
        return "stopped"
    return "failed" if end.code else "done"


def read_output(project: Path, id_: str, most: int = 20_000) -> tuple[str, int]:
    """Return the end of what a piece of work printed, and how many bytes come before it."""
    path = project / FOLDER / id_ / OUTPUT
    if not _ID.fullmatch(id_) or not path.is_file():
        return "", 0
    with open_file(path, is_input=False) as file:
        size = file.seek(0, 2)
        start = max(0, size - most)
        file.seek(start)
        return file.read(most).decode(errors="replace"), start
