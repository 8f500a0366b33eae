"""Input files: plain, gzipped or on standard input, in a format that is named or sniffed."""

from __future__ import annotations

import io
import json
import os
import re
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, TypeVar, cast, get_args

from karat.core import InputError, UsageError, did_you_mean
from karat.files import BOM, GZIP, access_file, gunzip, open_file, read_bytes, read_stdin, read_stream
from karat.measures._columns import is_header
from karat.measures._trace_fields import TRACE_KEYS

Format = Literal["trec", "json", "jsonl", "csv", "tsv", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)
Log = Literal["run", "traces", "spans", "decision"]
"""What karat or a retriever writes, known by its content whatever the file is called."""

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
_LARGE_WITH_POLARS = 2**18  # the same once Polars is imported
_HEAD = 65536
# {"q1": {...  or  {"q1": [...: one object for all queries, even on one line
_OF_QUERIES = re.compile(rb'\{\s*(\}|"(?:[^"\\]|\\.)*"\s*:\s*[\[{])')
_SPANS = re.compile(
    rb'"(resourceSpans|resource_spans|openinference\.span\.kind|mlflow\.spanType|parentObservationId)"\s*:'
)
_KARAT = re.compile(rb'\{\s*"karat"\s*:\s*"(run|report)"')


@dataclass(frozen=True, kw_only=True)
class Source:
    """An input file of known format."""

    name: str
    format: Format
    path: Path | None
    """None where ``data`` has the content: standard input, a pipe, or an unpacked file."""
    data: bytes | None
    """The content, where it was read already."""
    log: Log | None = None
    """Set for a run file or a decision of karat, for a trace file, and for spans of a tracing tool."""
    progress: Callable[[int], None] | None = None
    """Called with the number of bytes that the streaming reader has read."""

    @property
    def large(self) -> bool:
        """Whether the vectorised reader is faster."""
        limit = min(_LARGE, _LARGE_WITH_POLARS) if "polars" in sys.modules else _LARGE
        if self.data is not None:
            return len(self.data) > limit
        return access_file(self.name, lambda: cast("Path", self.path).stat().st_size) > limit

    def read(self) -> bytes:
        """Return the whole content."""
        if self.data is not None:
            return self.data
        with self.open() as file:
            return read_stream(file, self.name)

    def open(self) -> BinaryIO:
        """Open the content for reading from its start."""
        if self.data is not None:
            return io.BytesIO(self.data)
        return open_file(cast("Path", self.path))


def find(path: str | Path, format: str | None = None, progress: Callable[[int], None] | None = None) -> Source:
    """Open a file, unpack it if it is gzipped, and find its format by ``format``, ending or content."""
    named = next((name for name in FORMATS if name == format), None)
    if format is not None and named is None:
        raise UsageError(
            f"unknown format {format!r}{did_you_mean(format, FORMATS) or '; known: ' + ', '.join(FORMATS)}"
        )
    name, data, head = _open(str(path))
    if head[:2] == GZIP:
        data = gunzip(data, name) if data is not None else read_bytes(path)
        head = data[:_HEAD]
    if not head.removeprefix(BOM).strip():  # blank lines may go on for longer than the head
        data = data if data is not None else read_bytes(path)
        head = data.removeprefix(BOM).lstrip()[:_HEAD]
    if not head:
        raise InputError("the file holds only blanks" if data else "the file is empty", source=name)
    return Source(
        name=name,
        format=named or _ENDINGS.get(_ending(path)) or _sniff(head),
        path=None if data is not None else Path(path),
        data=data,
        log=_recognise(head),
        progress=progress,
    )


def _open(path: str) -> tuple[str, bytes | None, bytes]:
    """Return a name to show, the whole content if it can be read only once, and the first bytes."""
    if path == "-":
        name = "standard input"
        data = read_stdin()
        return name, data, data[:_HEAD]
    name = path or "''"
    with open_file(path) as file:
        # A pipe, such as the shell's <(command), can be read only once.
        regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        head = access_file(name, file.read, _HEAD) if regular else read_stream(file, name)
    return name, None if regular else head, head[:_HEAD]


def _ending(path: str | Path) -> str:
    endings = [ending.lower() for ending in Path(path).suffixes if ending.lower() != ".gz"]
    return endings[-1] if endings else ""


def _recognise(head: bytes) -> Log | None:
    """Recognise a run, traces, spans or a decision by the first bytes of a file."""
    start = head.removeprefix(BOM).lstrip()
    if match := _KARAT.match(start):
        return "run" if match[1] == b"run" else "decision"
    if start[:1] not in (b"{", b"["):
        return None
    try:
        record = json.loads(start.split(b"\n", 1)[0])
    except (ValueError, RecursionError):  # longer than the head, or over several lines
        if _SPANS.search(start):
            return "spans"
        return "traces" if b'"topk"' in start else None
    record = record[0] if isinstance(record, list) and record else record
    if not isinstance(record, dict):
        return None
    from karat.traces import holds_spans

    return "spans" if holds_spans(record) else "traces" if TRACE_KEYS & record.keys() else None


def _sniff(head: bytes) -> Format:
    """Return the format that the first bytes of a file look like; TREC's if they look like no other."""
    if head[:4] == b"PAR1":
        return "parquet"
    start = head.removeprefix(BOM).lstrip()
    first, _, rest = start.partition(b"\n")
    if start[:1] == b"[":
        return "json"
    if start[:1] == b"{":
        object_per_line = first.rstrip().endswith(b"}") and rest.lstrip()[:1] == b"{"
        return "json" if _OF_QUERIES.match(start) and not object_per_line else "jsonl"
    return _sniff_table(first.decode(errors="replace").strip())


def _sniff_table(first: str) -> Format:
    like_trec = len(first.split()) in (4, 6)
    tabs, commas = first.split("\t"), first.split(",")
    if is_header(tabs) or (len(tabs) > 2 and not like_trec):
        return "tsv"
    if is_header(commas) or (len(commas) > 2 and not like_trec):
        return "csv"
    return "trec"
