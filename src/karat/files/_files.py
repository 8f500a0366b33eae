"""Reading any file, gzipped or not, and writing one whole or not at all."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from karat.core import InputError

T = TypeVar("T")


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the contents of a file, unpacked if it is gzipped. ``-`` is standard input."""
    name = os.fspath(path)
    if name == "-":
        if sys.stdin is None:
            raise InputError("is closed", source="standard input")
        data = access_file("standard input", sys.stdin.buffer.read)
    else:
        data = access_file(name or "''", lambda: Path(name).read_bytes())
    return gunzip(data, name) if data[:2] == b"\x1f\x8b" else data


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


def gunzip(data: bytes, name: str) -> bytes:
    """Return unpacked data, or raise an InputError if the gzip file is damaged."""
    import gzip

    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"cannot be unpacked: {error}", source=name, hint="the gzip file is damaged or cut off"
        ) from None


def write_file(path: str | os.PathLike[str], text: str) -> None:
    """Write a file whole or not at all. A pipe or a device, which cannot be replaced, is appended to."""
    target = Path(os.path.realpath(path))
    ordinary = os.path.isfile(target) or not os.path.exists(target)  # noqa: PTH113, PTH110 (pathlib raises)
    ordinary = ordinary and not os.path.abspath(path).startswith("/dev/")  # noqa: PTH100 (/dev/stderr may be a file)
    try:
        if ordinary:
            _replace(target, text)
        else:
            with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123 (a stream keeps what was written before)
                file.write(text)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", source=os.fspath(path)) from None


def _replace(path: Path, text: str) -> None:
    temporary = path.with_name(f".karat-{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            temporary.chmod(path.stat().st_mode & 0o7777)  # the new file keeps the old permissions
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
