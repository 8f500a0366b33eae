"""Reading any file, gzipped or not, up to a limit."""

from __future__ import annotations

import io
import os
import sys
import zlib
from typing import Protocol

from karat.core import InputError
from karat.files._limits import max_bytes, too_large
from karat.files._opening import access_file, open_file
from karat.files._reads import record_stream

_BLOCK = 1 << 20
GZIP = b"\x1f\x8b"
"""How a gzipped file begins."""


class Readable(Protocol):
    """What can be read block by block."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, or none at the end."""


def read_bytes(path: str | os.PathLike[str], *, before: int = 0) -> bytes:
    """Return the contents of a file, unpacked if it is gzipped. ``-`` is standard input.

    It is an error if they are, packed or unpacked, more bytes than :func:`max_bytes` allows. ``before`` is the number
    of bytes of other files that count, too.
    """
    name = os.fspath(path)
    if name == "-":
        data = read_stdin()
    else:
        with open_file(name) as file:
            data = read_stream(file, name, before=before, size=os.fstat(file.fileno()).st_size)
    return gunzip(data, name, before=before) if data[:2] == GZIP else data


def read_stdin() -> bytes:
    """Return all of standard input, as it comes."""
    name = "standard input"
    if sys.stdin is None:
        raise InputError("is closed", source=name)
    record_stream(sys.stdin.buffer)
    return read_stream(sys.stdin.buffer, name)


def read_stream(file: Readable, name: str, *, before: int = 0, unpacked: bool = False, size: int = 0) -> bytes:
    """Return all that a stream holds, or raise an InputError if that is more than :func:`max_bytes` allows.

    ``size`` is how many bytes it probably holds: if it does, they are not copied.
    """
    limit = max_bytes()
    # Unlike a list of blocks, which are joined at the end, it takes hardly more memory than the bytes.
    buffer = io.BytesIO()
    block = access_file(name, file.read, size if _BLOCK < size <= limit - before else _BLOCK)
    while block:
        if before + buffer.tell() + len(block) > limit:
            raise too_large(name, limit, before=before, unpacked=unpacked)
        following = access_file(name, file.read, _BLOCK)
        if not following and not buffer.tell():
            return block
        buffer.write(block)
        block = following
    return buffer.getvalue()


def gunzip(data: bytes, name: str, *, before: int = 0) -> bytes:
    """Return unpacked data; a damaged gzip file, or one that unpacks to too many bytes, raises an InputError."""
    import gzip

    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        return read_stream(_Packed(file, name), name, before=before, unpacked=True)


class _Packed:
    """A gzip file whose damages are errors of karat."""

    def __init__(self, file: Readable, name: str) -> None:
        self._file, self._name = file, name

    def read(self, size: int, /) -> bytes:
        try:
            return self._file.read(size)
        except (OSError, EOFError, zlib.error) as error:
            hint = "the gzip file is damaged or cut off"
            raise InputError(f"cannot be unpacked: {error}", source=self._name, hint=hint) from None
