"""Writing a file whole or not at all, without following a link that somebody may have put in its place."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import signal
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import FrameType
from typing import BinaryIO, TypeVar

from karat.core import InputError
from karat.files._opening import is_stream, special_kind

T = TypeVar("T")

_NAME = re.compile(r"\.karat-(?:[0-9a-f]{16}|[0-9]{1,10})\.tmp")
"""The names of temporary files and folders. Those of an older karat had the number of its process."""
_ABANDONED = 86_400
"""Seconds after which a temporary file belongs to a process that was killed: writing takes much less."""
_ANY = sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_BINARY"))
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | _ANY
_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_UNFINISHED: list[Path] = []
"""The temporary files and folders of this process."""


def write_file(path: str | os.PathLike[str], text: str | Iterable[str], *, private: bool = False) -> None:
    """Write a file whole or not at all. A link stays, and what it leads to is replaced. A long text may be in pieces.

    A new file that is ``private`` is readable by its owner only; one that is there keeps its permissions.

    What is open already (``/dev/stdout``, ``/dev/fd/N``) and ``/dev/null`` are appended to. Other devices, named pipes
    and sockets are refused.
    """
    name, pieces = os.fspath(path), [text] if isinstance(text, str) else text
    try:
        if is_stream(name) or name == os.devnull:
            with open(name, "a", encoding="utf-8") as file:  # noqa: PTH123 (a stream keeps what was written before)
                file.writelines(pieces)
            return
        target = Path(os.path.realpath(name))
        _require_replaceable(target, name)
        with replace_file(target, private=private) as new:
            new.writelines(piece.encode() for piece in pieces)
    except UnicodeEncodeError:
        raise InputError("cannot be written: a text holds half of a surrogate pair", source=name) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a usable path"
        raise InputError(f"cannot be written: {reason}", source=name) from None


def _require_replaceable(target: Path, name: str) -> None:
    try:
        status = target.stat()
    except FileNotFoundError:
        return
    if kind := special_kind(status):
        raise InputError(f"is {kind}, not a file", source=name, hint="name a file")


@contextmanager
def replace_file(path: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """Open a new file that becomes ``path`` at the end, with the permissions of the old one if there is one.

    If there is none, ``private`` makes it readable by its owner only.

    After an error, or a signal that ends the process, it is removed, and ``path`` stays as it was.
    """
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        mode = None
    # Until it is complete nobody else may read what replaces a private file.
    new_mode = 0o666 if mode is None and not private else 0o600
    with _aside(path.parent, lambda place: os.open(place, _NEW, new_mode)) as (place, handle):
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            if mode is not None:
                place.chmod(mode)
            os.fsync(file.fileno())
        place.replace(path)


@contextmanager
def new_folder(parent: Path) -> Iterator[Path]:
    """Make a folder of a new name, readable only by its owner; at the end it is removed with all that is in it."""
    with _aside(parent, lambda place: place.mkdir(mode=0o700)) as (place, _):
        yield place


@contextmanager
def _aside(parent: Path, make: Callable[[Path], T]) -> Iterator[tuple[Path, T]]:
    """Make a file or folder under a name that nobody can guess, and remove it if it is still there at the end."""
    remove_leftovers(parent)
    while True:
        place = parent / f".karat-{secrets.token_hex(8)}.tmp"
        with _remove_on_signals(place):
            try:
                handle = make(place)
            except FileExistsError:
                continue
            try:
                yield place, handle
            finally:
                _remove(place)
            return


def _remove(place: Path) -> None:
    with suppress(OSError):
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink(missing_ok=True)


@contextmanager
def _remove_on_signals(place: Path) -> Iterator[None]:
    """Remove a file or folder before a signal ends the process; signals that somebody handles are left alone."""
    in_main = threading.current_thread() is threading.main_thread()
    handled = [number for number in _ENDING if in_main and signal.getsignal(number) is signal.SIG_DFL]
    _UNFINISHED.append(place)
    for number in handled:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)
        _UNFINISHED.remove(place)


def _end(number: int, _: FrameType | None) -> None:
    for place in _UNFINISHED:
        _remove(place)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


@cache
def remove_leftovers(parent: Path) -> None:
    """Remove what a process that was killed has left in a folder, once for each folder."""
    oldest = time.time() - _ABANDONED
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name):
                status = entry.stat(follow_symlinks=False)
                if status.st_mtime < oldest and status.st_uid == getattr(os, "geteuid", lambda: 0)():
                    _remove(Path(entry.path))


def open_own(path: Path, flags: int) -> int:
    """Open a file whose name karat chooses, and return its descriptor; create it if need be.

    A link, another name of a file, or anything but a file raises OSError: somebody else may have put it there, and
    what karat writes would destroy what it leads to.
    """
    try:
        descriptor = os.open(path, flags | os.O_CREAT | _NO_LINK | _ANY, 0o666)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):  # EMLINK: FreeBSD
            raise OSError(errno.ELOOP, "it is a link, through which karat does not write") from None
        if error.errno == errno.ENXIO:  # nobody reads the pipe, or it is a socket
            raise OSError(errno.ENXIO, f"it is {special_kind(path.lstat())}, not a file") from None
        raise
    try:
        _require_own(os.fstat(descriptor))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def make_folder(path: Path) -> None:
    r"""Make a folder with those around it. What is in a folder .karat, such as tokens, git leaves out of any commit.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as project:
    ...     make_folder(Path(project, ".karat", "work"))
    ...     Path(project, ".karat", ".gitignore").read_text()
    '*\n'
    """
    path.mkdir(parents=True, exist_ok=True)
    kept = next((place for place in (path, *path.parents) if place.name == ".karat"), None)
    if kept is None or os.path.lexists(kept / ".gitignore"):
        return
    try:
        descriptor = os.open(kept / ".gitignore", _NEW, 0o666)
    except FileExistsError:  # another process was faster
        return
    with os.fdopen(descriptor, "wb") as file:
        file.write(b"*\n")


def make_own(path: Path, mode: int = 0o666) -> None:
    """Create a file that another library opens by its name, or refuse what is there as :func:`open_own` does.

    A file that is there is not opened: to close it would take away the locks that this process has on it, those of
    SQLite for example.
    """
    try:
        os.close(os.open(path, _NEW, mode))
    except FileExistsError:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            raise OSError(errno.ELOOP, "it is a link, through which karat does not write") from None
        _require_own(status)


def _require_own(status: os.stat_result) -> None:
    if kind := special_kind(status):
        raise OSError(errno.EINVAL, f"it is {kind}, not a file")
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if status.st_nlink > 1:
        raise OSError(errno.EINVAL, "it is another name of a file (a hard link), which karat does not write to")


def append_file(path: Path, data: bytes) -> None:
    """Append to a file whose name karat chooses, as :func:`open_own` opens it; raises OSError."""
    with os.fdopen(open_own(path, os.O_WRONLY | os.O_APPEND), "ab") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Let the names of new files in a folder be on the disk, too; raises OSError. Windows has no such thing."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
