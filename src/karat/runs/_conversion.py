"""A run in another format: read trace by trace, without what the format cannot hold, and written line by line."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from karat.core import GoldenSet, InputError, Provenance, Trace, UsageError, count_things, did_you_mean, shorten
from karat.files import GZIP, decode, max_bytes, open_file, parse_json, refuse_input, replace_file, too_large
from karat.runs._foreign import NOT_IN_RUN, describe_foreign, set_k
from karat.runs._runfile import make_header, read_header, require_head
from karat.runs._span_traces import SpanAnswers
from karat.runs._traces import read_any_run, read_whole_run
from karat.schema import LostPart, RunConversion
from karat.traces import TRACE_FORMATS, Clock, TraceFormat, decode_trace, drop_losses, encode_line, holds_spans

_SHOWN = 3
_LAST = b'{"end":true}'


def convert_run(
    source: str | Path,
    destination: str | Path,
    to: str = "karat",
    *,
    golden: GoldenSet | None = None,
    k: int | None = None,
) -> RunConversion:
    """Write a run of any kind in another format, and return what was written and what the format cannot hold.

    ``golden`` is the golden set of a run that another program made: it tells which question of the set a request is
    about, and which document a hit names. Without it every trace is converted; a request that does not name its
    question has its text as the id. ``k`` says how many hits such a system was asked for.
    """
    if to not in TRACE_FORMATS:
        others = did_you_mean(to, TRACE_FORMATS) or f"; there are {', '.join(TRACE_FORMATS)}"
        raise UsageError(f"no format of traces is called {to!r}{others}")
    notes: list[str] = []
    provenance, traces = _open_run(source, golden, k, notes.append, whole=TRACE_FORMATS[to].keeps_origin)
    refuse_input(destination, "the destination")
    written = _write(traces, Path(destination), TRACE_FORMATS[to], provenance)
    return RunConversion(
        source=str(source),
        written=str(destination),
        format=to,
        traces=written.traces,
        failed=written.failed,
        notes=tuple(notes),
        lost=_describe_losses(TRACE_FORMATS[to], written),
    )


@dataclass(slots=True)
class _Written:
    traces: int = 0
    failed: int = 0
    lost: Counter[str] = field(default_factory=Counter)


def _describe_losses(target: TraceFormat, written: _Written) -> tuple[LostPart, ...]:
    lost = [
        LostPart(name=loss.name, what=loss.text, traces=written.lost[loss.name])
        for loss in target.losses
        if written.lost[loss.name]
    ]
    if not target.keeps_origin:
        what = "where the run comes from: golden set, system, settings and versions"
        lost.append(LostPart(name="origin", what=what, traces=written.traces))
    return tuple(lost)


def _write(traces: Iterable[Trace], path: Path, target: TraceFormat, provenance: Provenance) -> _Written:
    clock = Clock(name=provenance.name, k=_asked_for(provenance), now=_begin(provenance))
    written = _Written()
    with _open_destination(path) as file:
        if target.keeps_origin:
            facts = provenance.origin.to_dict()
            times = {"begun": facts.pop("begun")} if facts.get("begun") else {}
            file.write(encode_line({**make_header(provenance), **times, **({"origin": facts} if facts else {})}))
        for trace in traces:
            smaller, names = drop_losses(trace, target.losses)
            file.write(target.encode(smaller, clock))
            written.lost.update(names)
            written.traces += 1
            written.failed += bool(trace.error)
        if target.keeps_origin:
            file.write(_LAST + b"\n")
    return written


@contextmanager
def _open_destination(path: Path) -> Iterator[BinaryIO]:
    try:
        if path.is_dir():
            raise InputError("is a folder, not a file", source=str(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(path.resolve()) as file:
            yield file
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a usable path"
        raise InputError(f"cannot be written: {reason}", source=str(path)) from None


def _asked_for(provenance: Provenance) -> int:
    k = provenance.settings.get("k")
    return k if type(k) is int and k > 0 else 0


def _begin(provenance: Provenance) -> int:
    """Return when a run began, in nanoseconds since 1970; 0 if that is not known."""
    begun = provenance.origin.begun
    return round(datetime.fromisoformat(begun).timestamp() * 1000) * 1_000_000 if begun else 0


def _open_run(
    source: str | Path, golden: GoldenSet | None, k: int | None, say: Callable[[str], None], *, whole: bool
) -> tuple[Provenance, Iterable[Trace]]:
    """Return where a run comes from, and its traces, which a run of karat yields as they are read.

    With ``whole``, queries of the golden set that the run lacks are failed traces: a run of karat has all of them.
    """
    provenance = read_header(Path(source))
    if provenance is not None:
        if k is not None:
            raise UsageError(f"{source}: k is in the file, which karat wrote; leave it out")
        return provenance, _stream_run(source)
    if golden is None and _holds_spans(source):
        return _pack_spans(source, k, say)
    run = read_whole_run(source, k=k, say=say) if golden is None else read_any_run(source, golden, k=k, say=say)
    missing = list(dict.fromkeys(trace.query for trace in run.traces if trace.error == NOT_IN_RUN))
    if not whole or not missing:
        return run.provenance, (trace for trace in run.traces if trace.error != NOT_IN_RUN)
    some = ", ".join(map(shorten, missing[:_SHOWN])) + (" ..." if len(missing) > _SHOWN else "")
    number = count_things(len(missing), "query of the golden set is", "queries of the golden set are")
    say(f"{number} not in the run, and written as failed, which counts as 0: {some}")
    return run.provenance, run.traces


def _holds_spans(source: str | Path) -> bool:
    """Return whether a file has a record of a tracing tool on its first line; one of other forms is read whole."""
    if str(source) == "-" or not Path(source).is_file():
        return False
    try:
        record = json.loads(next(_read_lines(source), (1, b""))[1])
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and holds_spans(record)


def _pack_spans(source: str | Path, k: int | None, say: Callable[[str], None]) -> tuple[Provenance, Iterable[Trace]]:
    """Read a file of spans line by line. Its traces are kept as JSON, which takes a tenth of the memory."""
    name, digest, form = str(source), hashlib.sha256(), TRACE_FORMATS["karat"]

    def lines() -> Iterator[bytes]:
        for _, line in _read_lines(source):
            digest.update(line)
            yield line

    answers, clock = SpanAnswers(lines(), name, None), Clock(name=name)
    packed = [form.encode(trace, clock) for trace in answers]
    if not packed:
        raise InputError("answers no query", source=name)
    foreign = answers.describe()
    for note in (*foreign.notes, *(foreign.assumed if k is None else ())):
        say(note)
    provenance = describe_foreign(foreign, None, source, digest.hexdigest(), answers.longest)
    return set_k(provenance, k, answers.longest, name), (
        decode_trace(line, name, number) for number, line in enumerate(packed, 1)
    )


def _stream_run(source: str | Path) -> Iterator[Trace]:
    """Yield the traces of a run file, one line at a time. An unfinished run is an error, at its end."""
    name, last = str(source), 1
    seen: set[tuple[str, int, int]] = set()
    ended = False
    for number, line in _read_lines(source):
        last = number
        if number == 1:
            require_head(parse_json(decode(line, name), name, 1), name)
            continue
        if ended:
            raise InputError("goes on after its end", source=name, line=number)
        ended = line.rstrip() == _LAST
        if not ended:
            trace = decode_trace(line, name, number)
            key = (trace.query, trace.paraphrase, trace.repeat)
            if key in seen:
                raise InputError(f"query {shorten(trace.query)} is answered twice", source=name, line=number)
            seen.add(key)
            yield trace
    if not ended:
        hint = "run 'karat eval' again to continue it"
        raise InputError("the run was not finished", source=name, line=last, hint=hint)


def _read_lines(source: str | Path) -> Iterator[tuple[int, bytes]]:
    with open_file(source) as file:
        packed = file.read(2) == GZIP
        file.seek(0)
        try:
            with gzip.open(file) if packed else file as lines:
                number, left = 0, max_bytes()
                while line := lines.readline(left + 1):  # a line, too, may unpack to more than there is memory
                    number, left = number + 1, left - len(line)
                    if left < 0:
                        raise too_large(str(source), max_bytes(), unpacked=packed)
                    yield number, line
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"cannot be read: {error}", source=str(source)) from None
