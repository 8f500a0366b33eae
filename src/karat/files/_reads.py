"""What a command has read, so that its output does not destroy or become its own input.

Every file that is opened for reading is recorded here, and every folder whose files are input. A verb of the command
line cannot forget one of its inputs, therefore, whatever the options are by which they are named.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import IO

from karat.core import UsageError


@dataclass(slots=True)
class _Reads:
    files: dict[tuple[int, int], str] = field(default_factory=dict)
    """The name of each file, by device and inode."""
    folders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The endings of the files that are read in each folder and below it; none for all files."""


_reads: ContextVar[_Reads | None] = ContextVar("karat_reads", default=None)


@contextmanager
def record_reads() -> Iterator[None]:
    """Record what is read while the context lasts."""
    token = _reads.set(_Reads())
    try:
        yield
    finally:
        _reads.reset(token)


def record_file(name: str, status: os.stat_result) -> None:
    """Record that a file is read."""
    if (reads := _reads.get()) is not None:
        reads.files.setdefault((status.st_dev, status.st_ino), name)


def record_path(path: str | os.PathLike[str]) -> None:
    """Record that a file is read by a library that opens it itself."""
    if _reads.get() is not None:
        record_file(os.fspath(path), os.stat(path))  # noqa: PTH116 (pathlib raises on odd names)


def record_stream(stream: IO[bytes]) -> None:
    """Record that a stream is read, such as standard input, if there is a file behind it."""
    try:
        descriptor = stream.fileno()
    except OSError:  # there is only memory behind it, in a test for example
        return
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode):
        record_file("", status)  # it is recognised by its inode


def record_folder(folder: str | os.PathLike[str], endings: Sequence[str] = ()) -> None:
    """Record that all files in and below a folder are read, or only those with one of these endings."""
    if (reads := _reads.get()) is not None:
        reads.folders[os.fspath(folder)] = tuple(endings)


def refuse_input(target: str | os.PathLike[str], option: str = "--output", *, folder: bool = False) -> None:
    """Raise UsageError if a path is one that was read, or is in a folder whose files are read.

    Links are followed, other names of a file are recognised, and names that differ only in case are the same: they are
    on many file systems. ``folder`` says that a folder is written.
    """
    reads = _reads.get()
    if reads is None or os.fspath(target) == "-":
        return
    place = _fold(target)
    if _is_read(target, place, reads):
        raise UsageError(f"{option} {target} would overwrite an input; choose another name")
    for name, endings in reads.folders.items():
        above = _fold(name)
        if place == above and not folder:
            raise UsageError(f"{option} {target} would overwrite an input; choose another name")
        inside = place == above or place.startswith(above.rstrip(os.sep) + os.sep)
        if inside and (folder or not endings or place.endswith(tuple(endings))):
            raise UsageError(f"{option} {target} is in {name}, whose files are read as input; choose another place")


def _is_read(target: str | os.PathLike[str], place: str, reads: _Reads) -> bool:
    try:
        status = os.stat(target)  # noqa: PTH116 (pathlib raises on odd names)
    except (OSError, ValueError):  # there is no such file
        base = os.path.basename(place)  # noqa: PTH119 (it is text)
        alike = (name for name in reads.files.values() if os.path.basename(name).casefold() == base)  # noqa: PTH119
        return any(_fold(name) == place for name in alike)
    return (status.st_dev, status.st_ino) in reads.files


def _fold(path: str | os.PathLike[str]) -> str:
    """Return the real path of a file, in one case."""
    try:
        return os.path.realpath(path).casefold()
    except (OSError, ValueError):  # a loop of links, or a NUL: writing it will fail
        return os.fspath(path)
