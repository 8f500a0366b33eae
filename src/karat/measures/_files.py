"""Files as they come: plain, gzipped or on standard input, in a format that is named or sniffed."""

from __future__ import annotations

import io
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, cast, get_args

from karat.core import InputError, UsageError, did_you_mean

Format = Literal["trec", "json", "jsonl", "csv", "tsv", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)

_ENDINGS: dict[str, Format] = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_LARGE = 4 * 2**20  # bytes; below, importing a dataframe library costs more than it saves
_HEAD = 65536


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file that was found, and whose format is known."""

    name: str
    format: Format
    path: Path | None
    """None for standard input, and for what had to be unpacked."""
    data: bytes | None
    """The content, where it had to be read already."""
    progress: Callable[[int], None] | None = None
    """Told of the bytes that the streaming reader has taken."""

    @property
    def large(self) -> bool:
        """Whether the vectorised reader pays."""
        size = len(self.data) if self.data is not None else cast("Path", self.path).stat().st_size
        return size > _LARGE

    def read(self) -> bytes:
        """Give the whole content."""
        return self.data if self.data is not None else _guarded(self.name, cast("Path", self.path).read_bytes)

    def open(self) -> BinaryIO:
        """Open the content for reading from its start."""
        return io.BytesIO(self.data) if self.data is not None else cast("Path", self.path).open("rb", buffering=0)


def find(path: str | Path, format: str | None = None, progress: Callable[[int], None] | None = None) -> Source:
    """Find a file, unpack it if it is gzipped, and tell its format by name, ending or content."""
    named = next((known for known in FORMATS if known == format), None)
    if format is not None and named is None:
        raise UsageError(
            f"unknown format {format!r}{did_you_mean(format, FORMATS) or '; known: ' + ', '.join(FORMATS)}"
        )
    name = "standard input" if str(path) == "-" else str(path)
    data = sys.stdin.buffer.read() if str(path) == "-" else None
    head = data[:_HEAD] if data is not None else _guarded(name, lambda: _head(Path(path)))
    endings = [ending.lower() for ending in Path(path).suffixes] if data is None else []
    if head[:2] == b"\x1f\x8b":
        data = _gunzip(data if data is not None else _guarded(name, Path(path).read_bytes), name)
        head = data[:_HEAD]
        endings = endings[:-1] if endings[-1:] == [".gz"] else endings
    if not head.strip():
        raise InputError("the file is empty" if not head else "the file holds only blanks", source=name)
    known = named or _ENDINGS.get(endings[-1] if endings else "") or _sniff(head)
    return Source(name=name, format=known, path=None if data is not None else Path(path), data=data, progress=progress)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)


def _guarded(name: str, read: Callable[[], bytes]) -> bytes:
    try:
        return read()
    except FileNotFoundError:
        raise InputError("no such file", source=name) from None
    except IsADirectoryError:
        raise InputError("is a folder, not a file", source=name) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source=name) from None
    except ValueError:
        raise InputError("is no usable path", source=repr(name)) from None


def _gunzip(data: bytes, name: str) -> bytes:
    import gzip

    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"cannot be unpacked: {error}", source=name, hint="the gzip file is damaged or cut off"
        ) from None


def _sniff(head: bytes) -> Format:
    """Tell a format from the first bytes of a file; what looks like nothing else is TREC's."""
    if head[:4] == b"PAR1":
        return "parquet"
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    first = start.split(b"\n", 1)[0].strip()
    if start[:1] in (b"{", b"["):
        rest = start[len(first) :].lstrip()
        one_object_a_line = start[:1] == b"{" and first.endswith(b"}") and (not rest or rest[:1] == b"{")
        return "jsonl" if one_object_a_line and (rest or b'":{' not in first.replace(b" ", b"")) else "json"
    fields = len(first.split())
    if fields not in (4, 6):
        if first.count(b"\t") >= 2:
            return "tsv"
        if first.count(b",") >= 2:
            return "csv"
    return "trec"
