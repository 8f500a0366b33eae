"""Opening files for reading, and only files: a pipe is not waited for, and a device is not touched."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from io import BufferedReader
from typing import TypeVar

from karat.core import InputError
from karat.files._reads import record_file, record_stream

T = TypeVar("T")

_STREAMS = ("/dev/stdin", "/dev/stdout", "/dev/stderr")
_DESCRIPTORS = ("/dev/fd/", "/proc/self/fd/")
_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
# O_NONBLOCK: should a file be replaced by a pipe between looking and opening, opening it must not wait.
_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))


def access_file(name: str, action: Callable[..., T], *arguments: object) -> T:
    """Return ``action(*arguments)``. If the system refuses, raise an InputError that names the file and the reason."""
    try:
        return action(*arguments)
    except FileNotFoundError:
        raise InputError("no such file", source=name) from None
    except IsADirectoryError:
        raise InputError("is a folder, not a file", source=name) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source=name) from None
    except ValueError:
        raise InputError("is not a usable path", source=repr(name)) from None


def open_file(path: str | os.PathLike[str], *, is_input: bool = True) -> BufferedReader:
    """Open a file for reading. A folder, a named pipe, a socket and a device raise an InputError.

    ``/dev/stdin`` and ``/dev/fd/N``, which a shell writes for ``<(command)``, are read whatever is behind them: they
    are open already. ``is_input`` says that the result depends on the file, so that no output may replace it.
    """
    name = os.fspath(path)
    return access_file(name or "''", _open, name, is_input)


def _open(name: str, is_input: bool) -> BufferedReader:
    if is_stream(name):
        file = open(name, "rb")  # noqa: PTH123, SIM115 (the caller closes it)
        record_stream(file)
        return file
    _require_file(os.stat(name), name)  # noqa: PTH116 (pathlib raises on odd names)
    descriptor = os.open(name, _FLAGS)
    try:
        status = os.fstat(descriptor)
        _require_file(status, name)
    except BaseException:
        os.close(descriptor)
        raise
    if is_input:
        record_file(name, status)
    return open(descriptor, "rb")  # noqa: PTH123 (the same)


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Return whether a path names what is open already: standard input, output or error, or a descriptor."""
    try:
        name = os.path.abspath(path)  # noqa: PTH100 (pathlib resolves links)
    except (OSError, ValueError):  # the working directory is gone, or a NUL
        return False
    return name in _STREAMS or name.startswith(_DESCRIPTORS)


def _require_file(status: os.stat_result, name: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError
    if (kind := special_kind(status)) and name != os.devnull:
        hint = "pipe it into standard input, which is called -" if kind == "a named pipe" else ""
        raise InputError(f"is {kind}, not a file", source=name, hint=hint)


def special_kind(status: os.stat_result) -> str:
    """Return what a special file is, such as ``a device``; empty for files and folders."""
    return next((kind for test, kind in _KINDS if test(status.st_mode)), "")
