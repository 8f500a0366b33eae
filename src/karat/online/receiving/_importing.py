"""``karat online import``: logs and traces of other tools, from files into a store."""

from __future__ import annotations

import os
import secrets
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from karat.core import InputError, UsageError
from karat.files import read_bytes
from karat.online._drafts import EventDraft, QueryDraft, finish
from karat.online._exchange import import_ubi
from karat.online._paths import Paths, find_paths
from karat.online._privacy import Redaction, find_key, note_key, read_key
from karat.online._records import LoggedEvent, LoggedQuery
from karat.online._stored import event_row, query_row
from karat.online.receiving._joining import join_trace
from karat.online.receiving._span_files import KINDS, SpanFile, find_file_kind, read_span_file
from karat.online.receiving._taking import Refused, Row, Taker
from karat.schema import OnlineImport
from karat.store import BufferedSpan, Store, open_store
from karat.store import Row as StoredRow

_UBI = "ubi"


def import_files(
    path: str | os.PathLike[str],
    files: Sequence[str | os.PathLike[str]],
    *,
    kind: str | None = None,
    redact: bool = True,
    keep_ids: bool = False,
    key: str | None = None,
) -> OnlineImport:
    """Read queries and feedback from files of other tools into a store; the same twice changes nothing.

    A file is UBI, or has spans: OTLP as JSON, exports of Phoenix, Langfuse or MLflow. ``kind`` says which, if that
    cannot be told from its first record. The spans of a trace may be in several files. The other settings are those of
    :func:`karat.online.import_ubi`.
    """
    if kind is not None and kind not in KINDS:
        raise UsageError(f"unknown kind {kind!r}; known: {', '.join(KINDS)}")
    kinds = {os.fspath(file): _find_kind(file, kind) for file in files}
    logs = [name for name, detected in kinds.items() if detected == _UBI]
    traces = [read_span_file(read_bytes(name), name) for name, detected in kinds.items() if detected != _UBI]
    done = OnlineImport(queries=0, events=0, repeated=0)
    if traces:
        done = _import_spans(path, traces, redact=redact, keep_ids=keep_ids, key=key)
    if logs:
        more = import_ubi(path, logs, redact=redact, keep_ids=keep_ids, key=key)
        done = OnlineImport(
            queries=done.queries + more.queries,
            events=done.events + more.events,
            repeated=done.repeated + more.repeated,
            ignored=done.ignored,
        )
    return done


def _find_kind(file: str | os.PathLike[str], kind: str | None) -> str:
    if Path(file).is_dir() or kind == _UBI:
        return _UBI
    name = os.fspath(file)
    detected = find_file_kind(read_bytes(file), name)
    if kind is None and not detected:
        known = "UBI, OTLP as JSON, or an export of Phoenix, Langfuse or MLflow"
        raise InputError(f"is not a file that karat imports: {known}", source=name, hint="name its kind with --from")
    if kind is not None and detected not in ("", kind):
        raise InputError(f"is {detected}, and not {kind}", source=name, hint=f"use --from {detected}, or leave it out")
    return kind or detected


def _import_spans(
    path: str | os.PathLike[str], files: Sequence[SpanFile], *, redact: bool, keep_ids: bool, key: str | None
) -> OnlineImport:
    paths = find_paths(path)
    if not keep_ids and key is None and read_key(paths.key) is None:
        _join(files, paths, redact, secrets.token_bytes())  # what is refused leaves no key behind
    hash_key = None if keep_ids else find_key(paths.key, key)
    begin = time.time()
    drafts, ignored = _join(files, paths, redact, hash_key)
    records = [finish(draft) for draft in drafts]
    queries = [query_row(record) for record in records if isinstance(record, LoggedQuery)]
    events = [event_row(record) for record in records if isinstance(record, LoggedEvent)]
    if hash_key is not None:
        note_key(paths.key_checks, hash_key)
    with open_store(path, write=True) as store, store.transaction():
        new_queries = store.add_queries(_list_new(store, "queries", queries, begin))
        new_events = store.add_events(_list_new(store, "events", events, begin))
    repeated = len(records) - new_queries - new_events
    return OnlineImport(
        queries=new_queries, events=new_events, repeated=repeated, ignored=dict(sorted(ignored.items()))
    )


def _list_new(store: Store, table: str, rows: list[StoredRow], begin: float) -> list[StoredRow]:
    """Return rows without those that are there already with the time of an earlier import, as their files have none."""
    known = store.list_known(table, [row[0] for row in rows if row[1] >= begin])
    return [row for row in rows if row[0] not in known] if known else rows


def _join(
    files: Sequence[SpanFile], paths: Paths, redact: bool, key: bytes | None
) -> tuple[list[QueryDraft | EventDraft], Counter[str]]:
    """Return the records of all traces, and how many spans were ignored, by kind."""
    taker = Taker(paths, Redaction() if redact else None, key, otlp=False)
    traces: dict[str, dict[str, Row]] = {}
    homes = {span.id: span.trace for file in files for span in file.spans}
    for file in files:
        for row in _take(file, taker, homes):
            traces.setdefault(row[0], {}).setdefault(row[1], row)  # what is there twice counts once
    drafts: list[QueryDraft | EventDraft] = []
    for trace, rows in traces.items():
        drafts += join_trace(trace, [BufferedSpan(*row[1:], record="") for row in rows.values()], ()).drafts
    if not drafts:
        names = ", ".join(file.name for file in files)
        raise InputError("has no span of a retriever, a reranker or a memory", source=names)
    prefix = "ignored."
    ignored = Counter({name.removeprefix(prefix): n for name, n in taker.counts.items() if name.startswith(prefix)})
    return drafts, ignored


def _take(file: SpanFile, taker: Taker, homes: dict[str, str]) -> list[Row]:
    """Return the rows of a file; ``homes`` has the trace of each span, for scores that name the span alone."""
    rows: list[Row] = []
    try:
        for span in file.spans:
            rows += taker.take(span)
        for number, score in enumerate(file.scores):
            trace = score.trace or homes.get(score.span, "")
            if not trace:
                taker.counts["ignored.scores of unknown spans"] += 1
                continue
            rows += taker.take_evaluation(score.evaluation, trace, score.span, f"score-{score.id or number}")
    except Refused as refusal:
        raise InputError(str(refusal), source=file.name) from None
    return rows
