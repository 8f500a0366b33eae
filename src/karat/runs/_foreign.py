"""Runs that another program made: a trace file, spans of a tracing tool, or a ranking such as a TREC run."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from karat.core import GoldenSet, Hit, InputError, Provenance, Query, Run, Trace, UsageError, count_things, shorten
from karat.files import BOM, decode
from karat.golden import identify
from karat.measures import TRACE_KEYS, name_of, read_run
from karat.runs._parts import Part, Parts
from karat.runs._span_traces import SpanAnswers, read_span_file
from karat.runs._tracefile import ForeignRun, queries_of, read_trace_file
from karat.traces import holds_spans

NOT_IN_RUN = "not in the run"
_SHOWN = 3


def read_foreign_run(
    path: str | Path,
    data: bytes,
    first: Mapping[str, Any],
    golden: GoldenSet | None,
    *,
    k: int | None,
    say: Callable[[str], None] | None,
) -> Run:
    """Return a run on a golden set, or without one all that the file holds; ``first`` is its first record."""
    name, foreign = str(path), _read_file(path, data, first, golden)
    if golden is None and not foreign.traces:
        raise InputError("answers no query", source=name)
    strangers = () if golden is None else _note_strangers(foreign, golden, name)
    for note in (*strangers, *_list_notes(foreign, k)):
        if say is not None:
            say(note)
    return _make_run(foreign, golden, path, data, k)


def _read_file(path: str | Path, data: bytes, first: Mapping[str, Any], golden: GoldenSet | None) -> ForeignRun:
    """Return what a file of another program holds about the questions of a golden set, or about all of them."""
    name, start = str(path), data.removeprefix(BOM).lstrip()
    if holds_spans(first):
        if golden is not None:
            return read_span_file(data, name, golden)
        answers = SpanAnswers(io.BytesIO(data), name, None)
        return answers.describe(tuple(answers))
    if TRACE_KEYS & first.keys() or (not first and start[:1] in (b"{", b"[") and b'"topk"' in start):
        text = decode(data, name)
        _check_lines(text, name)
        return read_trace_file(path, _imply_set(text) if golden is None else golden)
    return _read_ranking(path, golden)


def _imply_set(text: str) -> GoldenSet:
    """Return a golden set with the questions of a log and nothing else. Its reader says what is wrong with a line."""
    queries: dict[str, Query] = {}
    for line in text.split("\n"):
        try:
            row = json.loads(line)
            if isinstance(row, dict) and isinstance(row.get("qid"), str | int):
                id_, wording = str(row["qid"]), row.get("query")
                if id_ not in queries or not row.get("paraphrase"):
                    queries[id_] = Query(id=id_, text=wording if isinstance(wording, str) else "")
        except (ValueError, RecursionError):
            continue
    return GoldenSet(queries=tuple(queries.values()))


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


def _read_ranking(path: str | Path, golden: GoldenSet | None) -> ForeignRun:
    """Read a run as ``karat score`` does, with the same order of ties."""
    run = read_run(path).table()
    if golden is None:
        golden = GoldenSet(queries=tuple(Query(id=query, text="") for query in run))
    queries, parts = queries_of(golden), Parts(golden)
    traces: list[Trace] = []
    for query in queries:
        if query in run:
            # By score, then by id, both descending: the order of trec_eval, which scoring uses as well.
            ranked = sorted(run[query].items(), key=lambda pair: (pair[1], pair[0]), reverse=True)
            try:
                hits = tuple(_hit(name, score, parts.of(name, query)) for name, score in ranked)
            except InputError as error:
                raise InputError(f"query {shorten(query)}: {error.what}", source=str(path), hint=error.hint) from None
            traces.append(Trace(query=query, text=_text(golden, query), hits=hits))
    strangers = tuple(query for query in run if query not in queries)
    return ForeignRun(traces=tuple(traces), strangers=strangers, notes=(*_note_merged(traces, parts, str(path)),))


def _note_merged(traces: Sequence[Trace], parts: Parts, source: str) -> Iterator[str]:
    """Yield a note if hits count as one document by their ids alone: the golden set has no such document."""
    merged, example = 0, ""
    for trace in traces:
        unknown = [hit for hit in trace.hits if hit.document != hit.id and hit.document not in parts.documents]
        several = len(unknown) - len({hit.document for hit in unknown})
        merged, example = merged + several, example or (unknown[0].id if several else "")
    if merged:
        yield (
            f"{source}: {count_things(merged, 'hit')} more of the same document, by ids such as {shorten(example)}, of "
            "which the golden set knows no document; if these are whole documents, --ids opaque keeps them apart"
        )


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


def _list_notes(foreign: ForeignRun, k: int | None) -> tuple[str, ...]:
    """Return what reading noticed; what it assumed about k is no news if the user says it."""
    return foreign.notes if k is not None else (*foreign.notes, *foreign.assumed)


def set_k(provenance: Provenance, k: int | None, longest: int, source: str) -> Provenance:
    """Return where a run comes from, with the k that the user says, if any."""
    if k is None:
        return provenance
    if k < max(1, longest):
        raise UsageError(f"{source}: k is {k}, and a list has {longest:,} hits")
    return replace(provenance, settings={**provenance.settings, "k": k})


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


def _make_run(foreign: ForeignRun, golden: GoldenSet | None, path: str | Path, data: bytes, k: int | None) -> Run:
    """Return the run, with a failed trace for every query of the golden set that the file does not answer."""
    missing = () if golden is None else tuple(_make_missing(foreign.traces, golden))
    longest = max(len(trace.listed) for trace in foreign.traces)
    provenance = describe_foreign(foreign, golden, path, hashlib.sha256(data).hexdigest(), longest)
    return Run(provenance=set_k(provenance, k, longest, str(path)), traces=(*foreign.traces, *missing))


def describe_foreign(
    foreign: ForeignRun, golden: GoldenSet | None, path: str | Path, digest: str, longest: int
) -> Provenance:
    """Return where a run of another program comes from; ``digest`` is that of its file."""
    # The normaliser belongs to the text, and does not identify the system that searches it.
    system = (
        dict(foreign.system)
        if foreign.system.keys() - {"normaliser"}
        else {**foreign.system, "answers": f"sha256:{digest}"}
    )
    description = json.dumps(system, sort_keys=True)
    return Provenance(
        name=name_of(path),
        golden={} if golden is None else identify(golden),
        system=system,
        fingerprint=f"sha256:{hashlib.sha256(description.encode()).hexdigest()}",
        settings={
            "k": max(1, longest),
            **foreign.settings,
            **({"not_in_golden": len(foreign.strangers)} if foreign.strangers else {}),
        },
    )
