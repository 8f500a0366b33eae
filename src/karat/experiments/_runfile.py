"""Runs as files: a header, one trace a line, an end; written as the answers come, and finished all at once.

A run in the making is called ``NAME.part``. Each trace is handed to the system before the next is asked for, so that a
run that was killed goes on where it was: what is complete in the file is not asked again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from karat.core import Hit, InputError, Place, Run, Span, Trace, decode, parse_json, read_bytes

VERSION = 1
_HIT_TEXTS = ("section", "block", "type", "content", "source_hash", "tenant")


def header(run: Run) -> dict[str, Any]:
    """Give what a run says of itself before its traces."""
    return {
        "karat": "run",
        "format": VERSION,
        "name": run.name,
        "golden": dict(run.golden),
        "system": dict(run.system),
        "fingerprint": run.fingerprint,
        "settings": dict(run.settings),
        "versions": dict(run.versions),
    }


def trace_record(trace: Trace) -> dict[str, Any]:
    """Give a trace as JSON has it, without what is empty."""
    record: dict[str, Any] = {"query": trace.query, "text": trace.text}
    if trace.paraphrase:
        record["paraphrase"] = trace.paraphrase
    if trace.repeat:
        record["repeat"] = trace.repeat
    record["ms"] = {name: round(value, 4) for name, value in trace.timings.items()}
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

    def __init__(self, path: Path, run: Run) -> None:
        self.path, self.part = path, path.with_name(path.name + ".part")
        self._header = _line(header(run))
        self._file: BinaryIO | None = None
        self.done: tuple[Trace, ...] = ()
        """What was answered before, when this run was begun already."""

    def __enter__(self) -> RunWriter:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            kept = self._kept()
            self._file = self.part.open("wb" if kept is None else "r+b")
            if kept is None:
                self._file.write(self._header)
                self._file.flush()
            else:
                self._file.truncate(kept)
                self._file.seek(kept)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", source=str(self.path)) from None
        return self

    def _kept(self) -> int | None:
        """Find how much of a run that was begun can be kept; None when there is none, or it is another one."""
        if not self.part.is_file():
            return None
        data = self.part.read_bytes()
        end = data.rfind(b"\n") + 1  # a line that was cut off is asked again
        lines = data[:end].splitlines(keepends=True)
        if not lines or lines[0] != self._header:
            return None
        self.done = tuple(
            _trace(parse_json(line.decode(), str(self.part), number), str(self.part), number)
            for number, line in enumerate(lines[1:], 2)
        )
        return end

    def write(self, trace: Trace) -> None:
        """Add a trace, and hand it to the operating system."""
        assert self._file is not None
        self._file.write(_line(trace_record(trace)))
        self._file.flush()

    def forget(self) -> None:
        """Remove what was begun, so that it is not taken up again."""
        self.part.unlink(missing_ok=True)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        assert self._file is not None
        with self._file:
            if error is None:
                self._file.write(_line({"end": True}))
                self._file.flush()
                os.fsync(self._file.fileno())
        if error is None:
            self.part.replace(self.path)


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def read_run_file(path: str | Path) -> Run:
    """Read a run that karat wrote; refuse one that was not finished."""
    name = str(path)
    lines = decode(read_bytes(path), name).split("\n")
    if lines and not lines[-1]:
        lines.pop()
    records = [parse_json(line, name, number, strict=True) for number, line in enumerate(lines, 1)]
    head = records[0] if records else None
    if not isinstance(head, dict) or head.get("karat") != "run":
        raise InputError("is no run of karat", source=name, hint='its first line says {"karat": "run", ...}')
    if head.get("format") != VERSION:
        raise InputError(f"is a run of format {head.get('format')!r}, and this karat reads {VERSION}", source=name)
    if len(records) < 2 or records[-1] != {"end": True}:
        raise InputError(
            "the run was not finished", source=name, line=len(records), hint="run 'karat eval' again to go on"
        )
    traces = tuple(_trace(record, name, number) for number, record in enumerate(records[1:-1], 2))
    try:
        return Run(
            **{key: head[key] for key in ("name", "golden", "system", "fingerprint", "settings", "versions")},
            traces=traces,
        )
    except KeyError as error:
        raise InputError(f"the header lacks {error}", source=name, line=1) from None


def _trace(record: Any, source: str, line: int) -> Trace:
    try:
        return Trace(
            query=record["query"],
            text=record["text"],
            hits=tuple(map(_hit, record["hits"])),
            timings=record.get("ms", {}),
            error=record.get("error", ""),
            paraphrase=record.get("paraphrase", 0),
            repeat=record.get("repeat", 0),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"is no trace: {error!r}", source=source, line=line) from None


def _hit(record: Mapping[str, Any]) -> Hit:
    span = record.get("span")
    return Hit(
        record["id"],
        float(record["score"]),
        record.get("document", record["id"]),
        None if span is None else Span(*span),
        channels={name: Place(*place) for name, place in record.get("channels", {}).items()},
        stages=record.get("stages", {}),
        **{name: record[name] for name in _HIT_TEXTS if name in record},
    )
