"""Runs as files: a header, one trace a line, an end; written as the answers come, and finished all at once.

A run in the making is called ``NAME.part``. Each trace is handed to the system before the next is asked for, so that a
run that was killed goes on where it was: what is complete in the file is not asked again. Whoever makes a run holds a
lock on that file, so that two at once do not write into each other's.
"""

from __future__ import annotations

import errno
import gzip
import json
import math
import os
import re
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from karat.core import Hit, InputError, KaratError, Place, Provenance, Run, Span, SystemFailed, Trace, shorten
from karat.files import decode, parse_json, read_bytes

try:
    import fcntl
except ImportError:  # not on Windows; there a file that is open cannot be replaced, so that two at once fail too
    fcntl = None  # type: ignore[assignment]

T = TypeVar("T")

VERSION = 1
_END = {"end": True}
_BEGUN = "begun"
_HEAD = 1_000_000  # bytes that a header may take, where only that is read
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_HIT_TEXTS = ("section", "block", "type", "content", "source_hash", "tenant", "locator")


def make_header(provenance: Provenance) -> dict[str, Any]:
    """Return the header of a run file. The file also has the time of its start, which does not identify the run."""
    return {
        "karat": "run",
        "format": VERSION,
        "name": provenance.name,
        "golden": dict(provenance.golden),
        "system": dict(provenance.system),
        "fingerprint": provenance.fingerprint,
        "settings": dict(provenance.settings),
        "versions": dict(provenance.versions),
    }


def trace_record(trace: Trace) -> dict[str, Any]:
    """Give a trace as JSON has it, without what is empty."""
    record: dict[str, Any] = {"query": trace.query, "text": trace.text}
    if trace.paraphrase:
        record["paraphrase"] = trace.paraphrase
    if trace.repeat:
        record["repeat"] = trace.repeat
    record["ms"] = dict(trace.timings)
    if trace.error:
        record["error"] = trace.error
    record["hits"] = [_hit_record(hit) for hit in trace.hits]
    return record


def _hit_record(hit: Hit) -> dict[str, Any]:
    record: dict[str, Any] = {"id": hit.id, "score": hit.score}
    if hit.document != hit.id:
        record["document"] = hit.document
    if hit.span is not None:
        record["span"] = [hit.span.start, hit.span.end]
    record |= {name: value for name in _HIT_TEXTS if (value := getattr(hit, name))}
    if hit.channels:
        record["channels"] = {name: [place.rank, place.score] for name, place in hit.channels.items()}
    if hit.stages:
        record["stages"] = dict(hit.stages)
    return record


class RunWriter:
    """Writes a run trace by trace; as a context manager it finishes the file, or leaves it to be taken up again."""

    def __init__(self, path: Path, provenance: Provenance) -> None:
        self._name = str(path)
        self.path = Path(os.path.abspath(path))  # noqa: PTH100 (a system may change the folder; links stay what they are)
        self.part = self.path.with_name(self.path.name + ".part")
        self._header = _line(make_header(provenance))
        self._file: FileIO | None = None
        self._answers = 0
        self.done: tuple[Trace, ...] = ()
        """What was answered before, when this run was begun already."""

    def __enter__(self) -> RunWriter:
        try:
            if self.path.is_dir():
                raise InputError("is a folder, not a file", source=self._name)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._opened()
            kept = self._kept(self._file.read())
            self._file.truncate(kept)
            self._file.seek(kept)
            if not kept:
                self._put(_line({**json.loads(self._header), _BEGUN: f"{datetime.now(tz=UTC):%Y-%m-%dT%H:%M:%SZ}"}))
        except OSError as error:
            self._close()
            raise _unwritable(error, self._name) from None
        except KaratError:
            self._close()
            raise
        self._answers = len(self.done)
        return self

    def _opened(self) -> FileIO:
        """Open the file for this process alone."""
        while True:
            file = FileIO(os.open(self.part, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666), "r+")
            try:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                raise InputError(
                    "another process is making this run", source=self._name, hint="wait for it, or choose another file"
                ) from None
            except OSError as error:
                if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL):
                    raise
                # A file system without locks: there is nothing to hold.
            if self._is_the_part(file):
                return file
            file.close()  # somebody finished it between the two steps

    def _is_the_part(self, file: FileIO) -> bool:
        try:
            return os.path.samestat(os.fstat(file.fileno()), self.part.stat())
        except FileNotFoundError:
            return False

    def _kept(self, data: bytes) -> int:
        """Find how much of a run that was begun can be kept."""
        end = data.rfind(b"\n") + 1  # a line that was cut off is asked again
        first, *lines = data[:end].splitlines(keepends=True) or [b""]
        if _timeless(first) != self._header:
            if lines:
                raise InputError(
                    "another run was begun there, and not finished",
                    source=str(self.part),
                    hint="finish it, choose another file, or remove it",
                )
            return 0
        if lines and lines[-1] == _line(_END):  # all was answered, and only the last step is missing
            end -= len(lines.pop())
        self.done = tuple(self._read(line, number) for number, line in enumerate(lines, 2))
        return end

    def _read(self, line: bytes, number: int) -> Trace:
        source = str(self.part)
        try:
            return _trace(parse_json(line.decode(), source, number), source, number)
        except UnicodeDecodeError:
            what = "is no UTF-8"
        except InputError as error:
            what = error.what
        raise InputError(f"the file is damaged: {what}", source=source, line=number, hint="remove it to begin anew")

    def write(self, trace: Trace) -> None:
        """Add a trace, and hand it to the operating system."""
        line = _line(trace_record(trace))
        try:
            self._put(line)
        except OSError as error:
            raise SystemFailed(
                f"{self._name}: cannot be written: {error.strerror}; "
                f"{self._answers:,} answers are kept, and the same call goes on from there"
            ) from None
        self._answers += 1

    def _put(self, line: bytes) -> None:
        assert self._file is not None
        rest = memoryview(line)
        while rest:
            rest = rest[self._file.write(rest) :]

    def forget(self) -> None:
        """Remove what was begun, so that it is not taken up again."""
        self.part.unlink(missing_ok=True)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        assert self._file is not None
        try:
            if error is None:
                self._put(_line(_END))
                os.fsync(self._file.fileno())
                self.part.replace(self.path)  # still locked: nobody takes it for one to go on with
            elif not self._answers:
                self.forget()
        except OSError as failure:
            if error is None:
                raise SystemFailed(f"{self._name}: cannot be written: {failure.strerror}") from None
        finally:
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()


def _unwritable(error: OSError, name: str) -> KaratError:
    """Tell a full disk, which is no mistake of the user's, from a path at which nothing can be written."""
    what = f"cannot be written: {error.strerror}"
    return SystemFailed(f"{name}: {what}") if error.errno in _FULL else InputError(what, source=name)


def _line(record: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:  # half of a surrogate pair, in what a system wrote
        return json.dumps(record, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _timeless(line: bytes) -> bytes:
    """Give a header without the time at which the run was begun."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):  # it is no header, and so that of another run
        return line
    return _line({key: value for key, value in record.items() if key != _BEGUN}) if isinstance(record, dict) else line


def read_begun(path: Path) -> datetime | None:
    """Read when a run was begun, and nothing else of it; None of one that does not say it, and of what is no run."""
    said = _head(path).get(_BEGUN) if path.is_file() else None  # of a pipe nothing would be left for who reads the run
    if not isinstance(said, str) or not re.fullmatch(r"[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}Z", said):
        return None
    try:
        return datetime.fromisoformat(said)
    except ValueError:  # such as the 30th of February
        return None


def _head(path: Path) -> dict[str, Any]:
    """Read the first line of a file; nothing if that is no record, of which who reads all of it is told."""
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            with gzip.open(file) if packed else file as lines:
                head = json.loads(lines.readline(_HEAD))
    except (OSError, EOFError, zlib.error, ValueError, RecursionError):
        return {}
    return head if isinstance(head, dict) else {}


def read_run_file(path: str | Path, data: bytes | None = None) -> Run:
    """Read a run that karat wrote; an unfinished one is an error.

    ``data`` is the content of the file, for a caller that has read it.
    """
    name = str(path)
    lines = decode(read_bytes(path) if data is None else data, name).split("\n")
    if lines and not lines[-1]:
        lines.pop()
    records = [parse_json(line, name, number, strict=True) for number, line in enumerate(lines, 1)]
    head = records[0] if records else None
    if not isinstance(head, dict) or head.get("karat") != "run":
        raise InputError("is no run of karat", source=name, hint='its first line says {"karat": "run", ...}')
    if head.get("format") != VERSION:
        raise InputError(f"is a run of format {head.get('format')!r}, and this karat reads {VERSION}", source=name)
    if len(records) < 2 or records[-1] != _END:
        raise InputError(
            "the run was not finished", source=name, line=len(records), hint="run 'karat eval' again to go on"
        )
    traces = tuple(_trace(record, name, number) for number, record in enumerate(records[1:-1], 2))
    _check_once(traces, name)
    return Run(provenance=_read_provenance(head, name), traces=traces)


def _read_provenance(head: Mapping[str, Any], source: str) -> Provenance:
    kinds = {"name": str, "golden": dict, "system": dict, "fingerprint": str, "settings": dict, "versions": dict}
    for key, kind in kinds.items():
        if not isinstance(head.get(key), kind):
            what = f"has {key!r} as {shorten(head[key])}" if key in head else f"lacks {key!r}"
            raise InputError(f"the header {what}", source=source, line=1)
    k = head["settings"].get("k", 1)
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InputError(f"the header has k as {shorten(k)}", source=source, line=1)
    return Provenance(**{key: head[key] for key in kinds})


def _check_once(traces: Sequence[Trace], source: str) -> None:
    seen: set[tuple[str, int, int]] = set()
    for number, trace in enumerate(traces, 2):
        key = (trace.query, trace.paraphrase, trace.repeat)
        if key in seen:
            raise InputError(f"query {shorten(trace.query)} is answered twice", source=source, line=number)
        seen.add(key)


def _trace(record: Any, source: str, line: int) -> Trace:
    try:
        return Trace(
            query=_of(str, record["query"]),
            text=_of(str, record["text"]),
            hits=tuple(map(_hit, record["hits"])),
            timings={stage: _finite(value) for stage, value in record.get("ms", {}).items()},
            error=_of(str, record.get("error", "")),
            paraphrase=_of(int, record.get("paraphrase", 0)),
            repeat=_of(int, record.get("repeat", 0)),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, InputError) as error:
        raise InputError(f"is no trace: {error!r}", source=source, line=line) from None


def _of(kind: type[T], value: object) -> T:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{shorten(value)} is of the wrong type")
    return value


def _finite(value: Any) -> float:
    if isinstance(value, bool | str) or not math.isfinite(number := float(value)):
        raise ValueError(f"{shorten(value)} is no finite number")
    return number


def _hit(record: Mapping[str, Any]) -> Hit:
    span = record.get("span")
    return Hit(
        _of(str, record["id"]),
        _finite(record["score"]),
        _of(str, record.get("document", record["id"])),
        None if span is None else Span(*(_of(int, place) for place in span)),
        channels={
            name: Place(_of(int, rank), _finite(score)) for name, (rank, score) in record.get("channels", {}).items()
        },
        stages={name: _finite(value) for name, value in record.get("stages", {}).items()},
        **{name: _of(str, record[name]) for name in _HIT_TEXTS if name in record},
    )
