"""Writing the files of a project without changing what is there."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from karat.core import InputError
from karat.files import append_file, decode, lock_folder, read_bytes, write_file
from karat.start._golden import Starter, is_same_set, write_set

if TYPE_CHECKING:
    from karat.schema import StartReport

State = Literal["written", "extended", "same", "kept"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileResult:
    """What happened to a file."""

    path: Path
    state: State
    """written; extended by lines at its end; same as what would be written; or kept, because it exists and differs."""
    diff: str = ""
    """The changes from the existing file to the one that would have been written."""
    notes: tuple[str, ...] = ()
    """What is worth knowing about it."""
    todo: tuple[str, ...] = ()
    """What is left to do by hand."""


def describe_start(results: Iterable[FileResult]) -> StartReport:
    """Return what became of each file as a document, with absolute paths."""
    from karat.schema import StartedFile, StartReport

    return StartReport(
        files=tuple(
            StartedFile(
                path=os.path.abspath(result.path),  # noqa: PTH100 (links are not followed)
                state=result.state,
                diff=result.diff,
                notes=result.notes,
                todo=result.todo,
            )
            for result in results
        )
    )


def check_place(path: Path) -> None:
    """Raise InputError if a path does not exist and cannot be created."""
    if os.path.lexists(path):
        return
    above = next(folder for folder in path.parents if os.path.lexists(folder))
    if not above.is_dir():
        raise InputError("cannot be created: a file has this name", source=str(above))
    if not os.access(above, os.W_OK | os.X_OK):
        raise InputError("cannot be written into: permission denied", source=str(above))


def check_kind(path: Path, usable: bool) -> None:
    """Raise InputError if a path exists and is not usable, before anything is written beside it."""
    if not usable and os.path.lexists(path):
        kind = "a folder" if path.is_dir() else "a link that leads nowhere" if path.is_symlink() else "not a file"
        raise InputError(f"is {kind}", source=str(path), hint="move it away, and start again")


def read_text(path: Path) -> str | None:
    """Return the text of a file, or None if there is no file, or if it is not text."""
    try:
        return decode(read_bytes(path), str(path)) if path.is_file() else None
    except (InputError, OSError):  # OSError: its folder may not be entered
        return None


def place_file(path: Path, text: str) -> FileResult:
    """Write a file, unless something exists there."""
    if not os.path.lexists(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be made: {error.strerror}", source=str(path.parent)) from None
        write_file(path, text)
        return FileResult(path=path, state="written")
    existing = read_text(path)
    if existing is None:
        return FileResult(path=path, state="kept", notes=("is not a text file that can be read",))
    if existing.splitlines() == text.splitlines():  # a checkout may have changed the line ends
        return FileResult(path=path, state="same")
    lines = difflib.unified_diff(
        existing.splitlines(), text.splitlines(), f"{path.name} (yours)", f"{path.name} (karat init)", lineterm=""
    )
    return FileResult(path=path, state="kept", diff="\n".join(lines))


def place_lines(path: Path, lines: Sequence[str]) -> FileResult:
    """Append the lines that a file lacks, or write a new file; what is in the file stays as it is."""
    if not os.path.lexists(path):
        return place_file(path, "".join(f"{line}\n" for line in lines))
    with lock_folder(path.parent):  # of two processes, the second finds the lines of the first
        existing = read_text(path)
        missing = [] if existing is None else _missing_lines(existing, lines)
        if existing is not None and not missing:
            return FileResult(path=path, state="same")
        try:
            if existing is None:
                raise OSError("is not a text file that can be read")
            end = "\r\n" if "\r\n" in existing else "\n"
            text = "".join(f"{line}{end}" for line in missing)
            append_file(_follow(path), f"{end if existing and not existing.endswith(end) else ''}{text}".encode())
        except OSError as error:
            todo = f"add to {path.name}, each on a line of its own: {' '.join(missing or lines)}"
            return FileResult(path=path, state="kept", notes=(error.strerror or str(error),), todo=(todo,))
    return FileResult(path=path, state="extended", notes=tuple(f"+ {line}" for line in missing))


def _follow(path: Path) -> Path:
    """Return the file that a link leads to, or raise OSError if it leads out of the folder that the link is in."""
    place = path.resolve()
    if not place.is_relative_to(path.parent.resolve()):
        raise OSError("is a link that leads out of its folder")
    return place


def _missing_lines(text: str, lines: Sequence[str]) -> list[str]:
    """Return the lines that a .gitignore lacks. A name without a slash before it ignores such folders everywhere."""
    patterns = {line.strip().rstrip("/") for line in text.splitlines()}
    anchored = {pattern.lstrip("/") for pattern in patterns}
    return [
        line
        for line in lines
        if line.strip("/") not in anchored and line.rstrip("/").rpartition("/")[2] not in patterns
    ]


def place_set(folder: Path, starter: Starter) -> FileResult:
    """Write a golden set into a new or empty folder. An existing set is kept whole: a mix of two would be neither."""
    empty = folder.is_dir() and not any(folder.iterdir())
    if empty or not os.path.lexists(folder):
        try:
            write_set(starter.golden, folder)
        except (InputError, FileNotFoundError):
            if not any(folder.glob("*")):
                raise
            return FileResult(path=folder, state="kept", notes=("another karat init wrote it at the same time",))
        return FileResult(path=folder, state="written", notes=starter.notes)
    if is_same_set(starter.golden, folder):
        return FileResult(path=folder, state="same", notes=starter.notes)
    note = f"would have got {len(starter.golden.queries):,} queries made from the documents"
    return FileResult(path=folder, state="kept", notes=(note,))
