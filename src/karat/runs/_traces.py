"""Reading a run of any kind: a run file of karat, a trace file, or a ranking such as a TREC run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from karat.core import GoldenSet, Hit, InputError, Provenance, Run, Trace, shorten
from karat.files import BOM, decode, read_bytes
from karat.golden import identify
from karat.measures import TRACE_KEYS, name_of, read_run
from karat.runs._opinions import attach_opinions
from karat.runs._parts import Part, Parts
from karat.runs._runfile import read_run_file
from karat.runs._span_traces import read_span_file
from karat.runs._spans import holds_spans
from karat.runs._tracefile import ForeignRun, queries_of, read_trace_file

NOT_IN_RUN = "not in the run"
_SHOWN = 3
_WHOLE = 100_000_000  # bytes of a file that is one JSON value


def read_any_run(path: str | Path, golden: GoldenSet, *, say: Callable[[str], None] | None = None) -> Run:
    r"""Return the run of a file on a golden set: a run of karat, a trace file, or a run that ``karat score`` reads.

    A run of karat is returned as it was written. Other files do not name their golden set, so their run gets the
    fingerprint of ``golden``; the caller has to know that it is the right one. They may name parts of the system
    (``index_hash``, ``reranker``, ``normaliser`` ...); if they do not, the hash of the file stands for the system. The
    k of their settings is the length of the longest list.

    A query that such a file does not answer gets a trace with the error ``not in the run``, and counts as 0; answers to
    paraphrases alone do not count as answers to the query. Queries
    that the golden set does not have are left out, and counted in ``settings["not_in_golden"]``; a file without any
    other query is refused. ``say`` is called with each note about the file.

    >>> import tempfile
    >>> from karat.core import Judgment, Query, Target
    >>> golden = GoldenSet(queries=(Query(id="q1", text="When?"), Query(id="q2", text="Where?")),
    ...                    judgments=(Judgment(query="q1", target=Target(document="pool"), grade=3),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "run.txt")
    ...     _ = file.write_text("q1 Q0 wifi 1 2.5 mine\nq1 Q0 pool 2 1.5 mine\n")
    ...     run = read_any_run(file, golden)
    >>> [(trace.query, [hit.document for hit in trace.hits], trace.error) for trace in run.traces]
    [('q1', ['wifi', 'pool'], ''), ('q2', [], 'not in the run')]
    """
    name = str(path)
    if name == "-" or Path(path).is_fifo():
        raise InputError("is a stream, which cannot be read twice", source=name, hint="save the run as a file first")
    data = read_bytes(path)
    start = data.removeprefix(BOM).lstrip()
    if not start:
        raise InputError("the file holds only blanks" if data else "the file is empty", source=name)
    first = _read_first_record(start)
    if first.get("karat") == "run":
        return attach_opinions(read_run_file(path, data), path, data, say)
    if first.get("karat") == "opinions":
        raise InputError("has opinions of judges, not a run", source=name, hint="name the run that they are about")
    if first.get("karat") == "report":
        raise InputError("is a decision, not a run", source=name, hint="'karat report' renders it")
    if holds_spans(first):
        foreign = read_span_file(data, name, golden)
    elif TRACE_KEYS & first.keys() or (not first and start[:1] in (b"{", b"[") and b'"topk"' in start):
        _check_lines(decode(data, name), name)
        foreign = read_trace_file(path, golden)
    else:
        foreign = _read_ranking(path, golden)
    for note in (*_note_strangers(foreign, golden, name), *foreign.notes):
        if say is not None:
            say(note)
    return _make_run(foreign, golden, name=name_of(path), digest=f"sha256:{hashlib.sha256(data).hexdigest()}")


def _read_first_record(start: bytes) -> dict[str, Any]:
    """Return the object on the first line, or {} if there is none."""
    for text in (start.split(b"\n", 1)[0], start if start[:1] in (b"{", b"[") and len(start) < _WHOLE else b""):
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):  # over several lines, or the reader of the whole file reports the error
            continue
        record = (
            record[0]
            if isinstance(record, list) and record and isinstance(record[0], dict) and holds_spans(record[0])
            else record
        )
        return record if isinstance(record, dict) else {}
    return {}


def _check_lines(text: str, source: str) -> None:
    """Refuse traces that take several lines, and a file that ends in the middle of a trace."""
    lines = text.split("\n")
    if text.lstrip()[0] == "[" or next(line for line in lines if line.strip()).strip() == "{":
        raise InputError("is not JSONL", source=source, hint="write each trace on a line of its own, as jq -c does")
    try:
        if lines[-1].strip():
            json.loads(lines[-1])
    except (ValueError, RecursionError):
        message, hint = "the last line is incomplete", "get the file again, or remove the line"
        raise InputError(message, source=source, line=len(lines), hint=hint) from None


def _read_ranking(path: str | Path, golden: GoldenSet) -> ForeignRun:
    """Read a run as ``karat score`` does, with the same order of ties."""
    queries, parts = queries_of(golden), Parts(golden)
    run = read_run(path).table()
    traces = []
    for query in queries:
        if query in run:
            # By score, then by id, both descending: the order of trec_eval, which scoring uses as well.
            ranked = sorted(run[query].items(), key=lambda pair: (pair[1], pair[0]), reverse=True)
            try:
                hits = tuple(_hit(name, score, parts.of(name, query)) for name, score in ranked)
            except InputError as error:
                raise InputError(f"query {shorten(query)}: {error.what}", source=str(path), hint=error.hint) from None
            traces.append(Trace(query=query, text=_text(golden, query), hits=hits))
    return ForeignRun(traces=tuple(traces), strangers=tuple(query for query in run if query not in queries))


def _hit(name: str, score: float, part: Part) -> Hit:
    return Hit(name, float(score), part.document, section=part.section, block=part.block)


def _text(golden: GoldenSet, query: str) -> str:
    match = golden.query_by_id.get(query)
    return match.text if match else ""


def _note_strangers(foreign: ForeignRun, golden: GoldenSet, source: str) -> Iterator[str]:
    """Yield a note about queries that the golden set does not have; refuse a file that has only such queries."""
    strangers = ", ".join(map(shorten, foreign.strangers[:_SHOWN])) or "none"
    if not foreign.traces:
        queries = ", ".join(map(shorten, islice(queries_of(golden), _SHOWN))) or "none"
        message = f"no query in common with golden set {shorten(golden.name)}"
        raise InputError(message, source=source, hint=f"the file has {strangers}; the golden set has {queries}")
    if foreign.strangers:
        total = len(foreign.strangers) + len({trace.query for trace in foreign.traces})
        yield (
            f"{source}: {len(foreign.strangers):,} of {total:,} queries are not in golden set {shorten(golden.name)} "
            f"and are left out, such as {strangers}"
        )


def _make_missing(traces: Sequence[Trace], golden: GoldenSet) -> Iterator[Trace]:
    """Yield a failed trace for every query that is not answered as it stands, whatever its paraphrases got.

    A query without any answer is missing in every repeat, in a wording that other queries have: as the only query of a
    variant it would look like noise.
    """
    answered = {trace.query for trace in traces}
    originals = {trace.query for trace in traces if not trace.paraphrase}
    first = {trace.repeat: trace.paraphrase for trace in sorted(traces, key=lambda trace: -trace.paraphrase)}
    if not originals:
        first = dict.fromkeys(first, 0)
    for repeat in sorted(first):
        for query in queries_of(golden):
            if query not in answered or (query not in originals and not first[repeat]):
                yield Trace(
                    query=query, text=_text(golden, query), error=NOT_IN_RUN, paraphrase=first[repeat], repeat=repeat
                )


def _make_run(foreign: ForeignRun, golden: GoldenSet, *, name: str, digest: str) -> Run:
    """Return the run, with a failed trace for every query that the file does not answer."""
    missing = tuple(_make_missing(foreign.traces, golden))
    # The normaliser belongs to the text, and does not identify the system that searches it.
    system = dict(foreign.system) if foreign.system.keys() - {"normaliser"} else {**foreign.system, "answers": digest}
    description = json.dumps(system, sort_keys=True)
    provenance = Provenance(
        name=name,
        golden=identify(golden),
        system=system,
        fingerprint=f"sha256:{hashlib.sha256(description.encode()).hexdigest()}",
        settings={
            "k": max(len(trace.hits) for trace in foreign.traces),
            **foreign.settings,
            **({"not_in_golden": len(foreign.strangers)} if foreign.strangers else {}),
        },
    )
    return Run(provenance=provenance, traces=(*foreign.traces, *missing))
