"""Run files: a header, one line per trace, and a last line that marks the end.

An unfinished run is called ``NAME.part``, and is renamed when it is complete. Each trace is passed to the operating
system as soon as it is there, so that a run that was killed continues where it stopped: at most the answers of its last
milliseconds are asked for again. The process that makes a run holds a lock on its file, so that no other process writes
into it.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from karat.core import InputError, KaratError, Origin, Provenance, Run, SystemFailed, Trace, list_queries, shorten
from karat.files import GZIP, decode, open_file, open_own, parse_json, read_bytes
from karat.schema import TRACE_FORMAT
from karat.traces import decode_traces, encode_trace, read_trace, trace_record

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be replaced, so that two processes cannot finish one run
    fcntl = None  # type: ignore[assignment]

T = TypeVar("T")

_READABLE = (1, TRACE_FORMAT)
_END = {"end": True}
_LAST = b'{"end":true}\n'
_BEGUN, _ORIGIN = "begun", "origin"
_HEAD = 1_000_000  # bytes of a header, if nothing else is read
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def make_header(provenance: Provenance) -> dict[str, Any]:
    """Return the header of a run file, without its origin, which does not identify the run."""
    return {
        "karat": "run",
        "format": TRACE_FORMAT,
        "name": provenance.name,
        "golden": dict(provenance.golden),
        "system": dict(provenance.system),
        "fingerprint": provenance.fingerprint,
        "settings": dict(provenance.settings),
        "versions": dict(provenance.versions),
    }


class RunWriter:
    """Writes a run trace by trace.

    As a context manager it completes the file at the end; after an error it leaves the unfinished file, which the next
    writer of the same run continues, unless it is told not to ``resume``: then it begins anew.
    """

    def __init__(self, path: Path, provenance: Provenance, *, resume: bool = True) -> None:
        self._name = str(path)
        self.path = Path(os.path.abspath(path))  # noqa: PTH100 (a system may change the current folder; links are kept)
        self.part = self.path.with_name(self.path.name + ".part")
        self._header = _line(make_header(provenance))
        self._resume = resume
        self._file: FileIO | None = None
        self._count = 0
        self.done: tuple[Trace, ...] = ()
        """The traces of the unfinished run that this writer continues."""
        self.origin = provenance.origin
        """The origin in the file: for a run that is continued, that of its beginning."""

    def __enter__(self) -> RunWriter:
        try:
            if self.path.is_dir():
                raise InputError("is a folder, not a file", source=self._name)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._open()
            size = self._recover(self._file.read())
            self._file.truncate(size)
            self._file.seek(size)
            if not size:
                self.origin = replace(self.origin, begun=self.origin.begun or timestamp())
                facts = self.origin.to_dict()
                times = {_BEGUN: facts.pop(_BEGUN)}
                self._put(_line({**json.loads(self._header), **times, **({_ORIGIN: facts} if facts else {})}))
        except OSError as error:
            self._close()
            raise _describe_failure(error, self._name) from None
        except KaratError:
            self._close()
            raise
        self._count = len(self.done)
        return self

    def _open(self) -> FileIO:
        """Open the unfinished file, and lock it for this process."""
        while True:
            file = FileIO(open_own(self.part, os.O_RDWR), "r+")
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
                # The file system has no locks.
            if self._is_part(file):
                return file
            file.close()  # another process completed the run between opening and locking

    def _is_part(self, file: FileIO) -> bool:
        try:
            return os.path.samestat(os.fstat(file.fileno()), self.part.lstat())
        except FileNotFoundError:
            return False

    def _recover(self, data: bytes) -> int:
        """Read the traces of an unfinished run, and return how many bytes of its file can be kept."""
        if not self._resume:
            return 0
        end = data.rfind(b"\n") + 1  # the question of an incomplete line is asked again
        first, *lines = data[:end].splitlines(keepends=True) or [b""]
        if _remove_origin(first) != self._header:
            if lines:
                raise InputError(
                    "has an unfinished run of another kind",
                    source=str(self.part),
                    hint="finish it, choose another file, or remove it",
                )
            return 0
        if lines and lines[-1] == _line(_END):  # complete, but not renamed yet
            end -= len(lines.pop())
        self.done = tuple(self._read(line, number) for number, line in enumerate(lines, 2))
        self.origin = _read_origin(json.loads(first))
        return end

    def _read(self, line: bytes, number: int) -> Trace:
        source = str(self.part)
        try:
            return read_trace(parse_json(line.decode(), source, number), source, number)
        except UnicodeDecodeError:
            reason = "is not UTF-8"
        except InputError as error:
            reason = error.what
        raise InputError(f"the file is damaged: {reason}", source=source, line=number, hint="remove it to start again")

    def write(self, trace: Trace) -> None:
        """Append a trace, and pass it to the operating system."""
        line = _trace_line(trace)
        try:
            self._put(line)
        except OSError as error:
            raise SystemFailed(
                f"{self._name}: cannot be written: {error.strerror}; "
                f"{self._count:,} answers are saved, and the same call continues from there"
            ) from None
        self._count += 1

    def _put(self, line: bytes) -> None:
        assert self._file is not None
        written = self._file.write(line)
        while written < len(line):  # a signal, or a disk that is nearly full
            written += self._file.write(memoryview(line)[written:])

    def forget(self) -> None:
        """Remove the unfinished run, so that it is not continued."""
        self.part.unlink(missing_ok=True)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        assert self._file is not None
        try:
            if error is None:
                self._put(_line(_END))
                os.fsync(self._file.fileno())
                self.part.replace(self.path)  # still locked, so that no other process continues it
            elif not self._count:
                self.forget()
        except OSError as failure:
            if error is None:
                raise SystemFailed(f"{self._name}: cannot be written: {failure.strerror}") from None
        finally:
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()


def _describe_failure(error: OSError, name: str) -> KaratError:
    """Return SystemFailed for a full or broken disk, and InputError for a path that cannot be written."""
    message = f"cannot be written: {error.strerror}"
    return SystemFailed(f"{name}: {message}") if error.errno in _FULL else InputError(message, source=name)


def _line(record: Mapping[str, Any]) -> bytes:
    try:
        return _encode(record).encode() + b"\n"
    except UnicodeEncodeError:  # half of a surrogate pair in a text of the system
        return json.dumps(record, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _trace_line(trace: Trace) -> bytes:
    try:
        return encode_trace(trace) + b"\n"
    except (TypeError, UnicodeEncodeError, OverflowError):
        # A subclass of a text or a number, half of a surrogate pair, or a number of more than 64 bits.
        return _line(trace_record(trace))


def timestamp() -> str:
    """Return the time now, as run files have it: to the millisecond, so that two runs of a script have an order."""
    return datetime.now(tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _remove_origin(line: bytes) -> bytes:
    """Return the line of a header without when, where and of which code the run was started."""
    try:
        record = json.loads(line)
        if isinstance(record, dict):
            return _line({key: value for key, value in record.items() if key not in (_BEGUN, _ORIGIN)})
    except (ValueError, RecursionError):  # not a header, or one with NaN, so it cannot be that of this run
        pass
    return line


def _read_origin(header: Mapping[str, Any]) -> Origin:
    """Return the origin in a header; files of an older karat have only the time."""
    origin = Origin.from_dict(header.get(_ORIGIN))
    begun = header.get(_BEGUN)
    return replace(origin, begun=begun if isinstance(begun, str) and _parse_time(begun) else "")


def read_header(path: Path) -> Provenance | None:
    """Return the provenance in the header of a run file, also of an unfinished one; None if it cannot be read."""
    header = _read_header(path) if path.is_file() else {}
    try:
        return _read_provenance(header, str(path)) if header.get("karat") == "run" else None
    except InputError:  # the reader of the whole file reports the error
        return None


def read_begun(path: Path) -> datetime | None:
    """Return when a run was started, without reading the rest of its file; None if the file does not say so."""
    # Reading the header of a pipe would take it from the reader of the run.
    return _parse_time(_read_header(path).get(_BEGUN) if path.is_file() else None)


def _parse_time(text: object) -> datetime | None:
    if not isinstance(text, str) or not re.fullmatch(
        r"[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}(\.[0-9]{3})?Z", text
    ):
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:  # such as the 30th of February
        return None


def _read_header(path: Path) -> dict[str, Any]:
    """Return the header of a file, or {} if its first line is not one; :func:`read_run_file` reports the error."""
    try:
        with open_file(path) as file:
            packed = file.read(2) == GZIP
            file.seek(0)
            with gzip.open(file) if packed else file as lines:
                header = json.loads(lines.readline(_HEAD))
    except (InputError, OSError, EOFError, zlib.error, ValueError, RecursionError):
        return {}
    return header if isinstance(header, dict) else {}


def read_run_file(path: str | Path, data: bytes | None = None) -> Run:
    """Return the run of a file that karat wrote. An unfinished run is an error.

    ``data`` is the content of the file, if the caller has read it already.
    """
    name = str(path)
    data = read_bytes(path) if data is None else data
    start = data.find(b"\n") + 1
    end = len(data) - len(_LAST)
    traces = decode_traces(data, start, end) if start and data.endswith(_LAST, start) else None
    if traces is not None:
        head = require_head(parse_json(decode(data[: start - 1], name), name, 1, strict=True), name)
    else:
        head, traces = _read_lines(data, name)
    _require_unique(traces, name)
    return Run(provenance=_read_provenance(head, name), traces=traces)


def _read_lines(data: bytes, name: str) -> tuple[dict[str, Any], tuple[Trace, ...]]:
    """Return the header and the traces of a file, each field checked."""
    lines = decode(data, name).split("\n")
    if lines and not lines[-1]:
        lines.pop()
    records = [parse_json(line, name, number, strict=True) for number, line in enumerate(lines, 1)]
    head = require_head(records[0] if records else None, name)
    if len(records) < 2 or records[-1] != _END:
        raise InputError(
            "the run was not finished", source=name, line=len(records), hint="run 'karat eval' again to continue it"
        )
    return head, tuple(read_trace(record, name, number) for number, record in enumerate(records[1:-1], 2))


def require_head(head: object, name: str) -> dict[str, Any]:
    """Return the header of a run file of a format that is known; anything else is an error."""
    if not isinstance(head, dict) or head.get("karat") != "run":
        raise InputError("is not a run of karat", source=name, hint='its first line would be {"karat": "run", ...}')
    if head.get("format") not in _READABLE:
        known = " and ".join(map(str, _READABLE))
        raise InputError(f"is a run of format {shorten(head.get('format'))}, and this karat reads {known}", source=name)
    return head


def _read_provenance(head: Mapping[str, Any], source: str) -> Provenance:
    kinds = {"name": str, "golden": dict, "system": dict, "fingerprint": str, "settings": dict, "versions": dict}
    for key, kind in kinds.items():
        if not isinstance(head.get(key), kind):
            problem = f"has {key!r} as {shorten(head[key])}" if key in head else f"lacks {key!r}"
            raise InputError(f"the header {problem}", source=source, line=1)
    k = head["settings"].get("k", 1)
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InputError(f"the header has k as {shorten(k)}", source=source, line=1)
    return Provenance(**{key: head[key] for key in kinds}, origin=_read_origin(head))


def _require_unique(traces: Sequence[Trace], source: str) -> None:
    if len(set(list_queries(traces))) == len(traces):
        return
    seen: set[tuple[str, int, int]] = set()
    for number, trace in enumerate(traces, 2):
        key = (trace.query, trace.paraphrase, trace.repeat)
        if key in seen:
            raise InputError(f"query {shorten(trace.query)} is answered twice", source=source, line=number)
        seen.add(key)
