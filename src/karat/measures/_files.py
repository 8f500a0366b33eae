"""Files as they come: plain, gzipped or on standard input, in a format that is named or sniffed."""

from __future__ import annotations

import io
import os
import re
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, TypeVar, cast, get_args

from karat.core import InputError, UsageError, did_you_mean
from karat.files import BOM, access_file, gunzip
from karat.measures._columns import is_header

Format = Literal["trec", "json", "jsonl", "csv", "tsv", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)

T = TypeVar("T")

_ENDINGS: dict[str, Format] = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_LARGE = 12 * 2**20  # bytes; below, importing Polars costs more than it saves
_LARGE_WITH_POLARS = 2**18  # the same where Polars is there already
_HEAD = 65536
# {"q1": {...  or  {"q1": [...: one object for all queries, even when it stands on one line
_OF_QUERIES = re.compile(rb'\{\s*(\}|"(?:[^"\\]|\\.)*"\s*:\s*[\[{])')


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file that was found, and whose format is known."""

    name: str
    format: Format
    path: Path | None
    """None where the content was read already: standard input, a pipe, or what had to be unpacked."""
    data: bytes | None
    """The content, where it was read already."""
    progress: Callable[[int], None] | None = None
    """Told of the bytes that the streaming reader has taken."""

    @property
    def large(self) -> bool:
        """Whether the vectorised reader pays."""
        limit = min(_LARGE, _LARGE_WITH_POLARS) if "polars" in sys.modules else _LARGE
        if self.data is not None:
            return len(self.data) > limit
        return access_file(self.name, lambda: cast("Path", self.path).stat().st_size) > limit

    def read(self) -> bytes:
        """Give the whole content."""
        return self.data if self.data is not None else access_file(self.name, cast("Path", self.path).read_bytes)

    def open(self) -> BinaryIO:
        """Open the content for reading from its start."""
        if self.data is not None:
            return io.BytesIO(self.data)
        return access_file(self.name, lambda: cast("Path", self.path).open("rb"))


def find(path: str | Path, format: str | None = None, progress: Callable[[int], None] | None = None) -> Source:
    """Find a file, unpack it if it is gzipped, and tell its format by name, ending or content."""
    named = next((known for known in FORMATS if known == format), None)
    if format is not None and named is None:
        raise UsageError(
            f"unknown format {format!r}{did_you_mean(format, FORMATS) or '; known: ' + ', '.join(FORMATS)}"
        )
    name, data, head = _open(str(path))
    if head[:2] == b"\x1f\x8b":
        data = gunzip(data if data is not None else access_file(name, Path(path).read_bytes), name)
        head = data[:_HEAD]
    if not head.removeprefix(BOM).strip():  # blank lines may go on for longer than the head
        data = data if data is not None else access_file(name, Path(path).read_bytes)
        head = data.removeprefix(BOM).lstrip()[:_HEAD]
    if not head:
        raise InputError("the file holds only blanks" if data else "the file is empty", source=name)
    known = named or _ENDINGS.get(_ending(path)) or _sniff(head)
    return Source(name=name, format=known, path=None if data is not None else Path(path), data=data, progress=progress)


def _open(path: str) -> tuple[str, bytes | None, bytes]:
    """Give a name to show, all the content if it can be read only once, and how it begins."""
    if path == "-":
        name = "standard input"
        if sys.stdin is None:
            raise InputError("is closed", source=name)
        data = access_file(name, sys.stdin.buffer.read)
        return name, data, data[:_HEAD]
    name = path or "''"
    with access_file(name, lambda: Path(path).open("rb")) as file:
        # What is read from a pipe, such as the shell's <(command), is gone.
        regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        head = access_file(name, file.read, _HEAD if regular else -1)
    return name, None if regular else head, head[:_HEAD]


def _ending(path: str | Path) -> str:
    endings = [ending.lower() for ending in Path(path).suffixes if ending.lower() != ".gz"]
    return endings[-1] if endings else ""


def _sniff(head: bytes) -> Format:
    """Tell a format from the first bytes of a file; what looks like nothing else is TREC's."""
    if head[:4] == b"PAR1":
        return "parquet"
    start = head.removeprefix(BOM).lstrip()
    first, _, rest = start.partition(b"\n")
    if start[:1] == b"[":
        return "json"
    if start[:1] == b"{":
        one_object_a_line = first.rstrip().endswith(b"}") and rest.lstrip()[:1] == b"{"
        return "json" if _OF_QUERIES.match(start) and not one_object_a_line else "jsonl"
    return _sniff_table(first.decode(errors="replace").strip())


def _sniff_table(first: str) -> Format:
    like_trec = len(first.split()) in (4, 6)
    tabs, commas = first.split("\t"), first.split(",")
    if is_header(tabs) or (len(tabs) > 2 and not like_trec):
        return "tsv"
    if is_header(commas) or (len(commas) > 2 and not like_trec):
        return "csv"
    return "trec"
