"""Answers that were given elsewhere, as a run: trace files, TREC runs, and the runs of karat itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from karat.core import GoldenSet, Hit, InputError, Provenance, Run, Trace, shorten
from karat.files import BOM, decode, read_bytes
from karat.golden import identify
from karat.measures import name_of, read_run
from karat.runs._parts import Part, Parts
from karat.runs._runfile import read_run_file
from karat.runs._tracefile import KEYS, Answers, queries_of, read_trace_file

NOT_IN_RUN = "not in the run"
_SHOWN = 3


def read_answers(path: str | Path, golden: GoldenSet, *, say: Callable[[str], None] | None = None) -> Run:
    r"""Read answers to the queries of a golden set: a run of karat, a trace file, or a run as ``karat score`` reads it.

    Of a run of karat everything is as it was written. Any other file does not tell on which golden set it was made, so
    the run has the fingerprint of the one that is given: that it is the right one is the caller's word. Of the system
    the run has what the traces say (``index_hash``, ``reranker``, ``normaliser`` ...), and where they name none the
    hash of the file; its fingerprint is made from that. ``settings`` has as k the length of the longest list.

    A query that the file does not answer has a trace with the error ``not in the run``, which counts as 0 and is
    listed. Queries that the golden set does not have are left out, and ``settings["not_in_golden"]`` counts them; when
    there are no others, the file is refused. ``say`` is told what was noticed.

    >>> import tempfile
    >>> from karat.core import Judgment, Query, Target
    >>> made = GoldenSet(queries=(Query(id="q1", text="When?"), Query(id="q2", text="Where?")),
    ...                  judgments=(Judgment(query="q1", target=Target(document="pool"), grade=3),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "run.txt")
    ...     _ = file.write_text("q1 Q0 wifi 1 2.5 mine\nq1 Q0 pool 2 1.5 mine\n")
    ...     run = read_answers(file, made)
    >>> [(trace.query, [hit.document for hit in trace.hits], trace.error) for trace in run.traces]
    [('q1', ['wifi', 'pool'], ''), ('q2', [], 'not in the run')]
    """
    name = str(path)
    if name == "-" or Path(path).is_fifo():
        raise InputError("is a stream, and has to be read twice", source=name, hint="save the answers as a file first")
    data = read_bytes(path)
    start = data.removeprefix(BOM).lstrip()
    if not start:
        raise InputError("the file holds only blanks" if data else "the file is empty", source=name)
    first = _first_record(start)
    if first.get("karat") == "run":
        return read_run_file(path, data)
    if first.get("karat") == "report":
        raise InputError("is a decision, and no run", source=name, hint="'karat report' renders it")
    if KEYS & first.keys() or (not first and start[:1] in (b"{", b"[") and b'"topk"' in start):
        _check_lines(decode(data, name), name)
        found = read_trace_file(path, golden)
    else:
        found = _ranking(path, golden)
    for note in (*_strangers(found, golden, name), *found.notes):
        if say is not None:
            say(note)
    return _run(found, golden, name=name_of(path), digest=f"sha256:{hashlib.sha256(data).hexdigest()}")


def _first_record(start: bytes) -> dict[str, Any]:
    """Give the object on the first line, or nothing where there is none."""
    try:
        found = json.loads(start.split(b"\n", 1)[0])
    except (ValueError, RecursionError):  # whoever reads the file then says what is wrong
        return {}
    return found if isinstance(found, dict) else {}


def _check_lines(text: str, source: str) -> None:
    """Refuse traces over several lines, and a file that ends within one."""
    lines = text.split("\n")
    if text.lstrip()[0] == "[" or next(line for line in lines if line.strip()).strip() == "{":
        raise InputError("is not JSONL", source=source, hint="write each trace on a line of its own, as jq -c does")
    try:
        if lines[-1].strip():
            json.loads(lines[-1])
    except (ValueError, RecursionError):
        what, hint = "the file is cut off in its last line", "get it again, or remove the line"
        raise InputError(what, source=source, line=len(lines), hint=hint) from None


def _ranking(path: str | Path, golden: GoldenSet) -> Answers:
    """Read a run as ``karat score`` does, ties and all."""
    queries, parts = queries_of(golden), Parts(golden)
    run = read_run(path).table()
    traces = []
    for query in queries:
        if query in run:
            # Score, then id, both descending: trec_eval's order, which scoring keeps.
            ranked = sorted(run[query].items(), key=lambda pair: (pair[1], pair[0]), reverse=True)
            try:
                hits = tuple(_hit(name, score, parts.of(name, query)) for name, score in ranked)
            except InputError as error:
                raise InputError(f"query {shorten(query)}: {error.what}", source=str(path), hint=error.hint) from None
            traces.append(Trace(query=query, text=_text(golden, query), hits=hits))
    return Answers(traces=tuple(traces), strangers=tuple(query for query in run if query not in queries))


def _hit(name: str, score: float, part: Part) -> Hit:
    return Hit(name, float(score), part.document, section=part.section, block=part.block)


def _text(golden: GoldenSet, query: str) -> str:
    found = golden.query_by_id.get(query)
    return found.text if found else ""


def _strangers(found: Answers, golden: GoldenSet, source: str) -> Iterator[str]:
    """Note the queries that the golden set does not have; refuse a file that has no others."""
    theirs = ", ".join(map(shorten, found.strangers[:_SHOWN])) or "none"
    if not found.traces:
        ours = ", ".join(map(shorten, islice(queries_of(golden), _SHOWN))) or "none"
        what = f"no query in common with golden set {shorten(golden.name)}"
        raise InputError(what, source=source, hint=f"the file has {theirs}; the golden set has {ours}")
    if found.strangers:
        total = len(found.strangers) + len({trace.query for trace in found.traces})
        yield (
            f"{source}: {len(found.strangers):,} of {total:,} queries are not in golden set {shorten(golden.name)} and "
            f"are left out, such as {theirs}"
        )


def _run(found: Answers, golden: GoldenSet, *, name: str, digest: str) -> Run:
    """Put the run together, with traces for every query that has no answer."""
    answered = {trace.query for trace in found.traces}
    # Missing in every repeat, and there among others: alone in a variant of their own they would look like noise.
    first = {trace.repeat: trace.paraphrase for trace in sorted(found.traces, key=lambda trace: -trace.paraphrase)}
    missing = tuple(
        Trace(query=query, text=_text(golden, query), error=NOT_IN_RUN, paraphrase=first[repeat], repeat=repeat)
        for repeat in sorted(first)
        for query in queries_of(golden)
        if query not in answered
    )
    # The rules of the text say nothing of what searches it.
    system = dict(found.system) if found.system.keys() - {"normaliser"} else {**found.system, "answers": digest}
    described = json.dumps(system, sort_keys=True)
    provenance = Provenance(
        name=name,
        golden=identify(golden),
        system=system,
        fingerprint=f"sha256:{hashlib.sha256(described.encode()).hexdigest()}",
        settings={
            "k": max(len(trace.hits) for trace in found.traces),
            **found.settings,
            **({"not_in_golden": len(found.strangers)} if found.strangers else {}),
        },
    )
    return Run(
        provenance=provenance,
        traces=(*found.traces, *missing),
    )
