"""What becomes of a span: the rows in which it waits for the rest of its trace, with nothing that must not be written.

Texts are redacted and ids hashed by the same log that a host writes to, before anything is on a disk.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from itertools import islice
from typing import Any

from karat.core import shorten
from karat.net import hide_secrets
from karat.online._drafts import EventDraft, QueryDraft
from karat.online._journal import Journal
from karat.online._log import Log, Origin
from karat.online._paths import Paths
from karat.online._privacy import Redaction, hash_id
from karat.online._received import RECEIVED
from karat.online._records import TASK_OUTCOME, VALIDATE_NOT_USEFUL, VALIDATE_USEFUL
from karat.traces.spans import (
    OWN,
    Entry,
    Span,
    SpanEvaluation,
    Step,
    find_content,
    find_document_id,
    find_kind,
    find_score,
    find_session,
    find_top_k,
    find_user,
    list_memory_writes,
    read_answer,
    read_evaluations,
    read_log_evaluation,
    read_output,
    read_step,
)

STEP, RERANK, ANSWER, OUTPUT, EVENT, OTHER = "step", "rerank", "answer", "output", "event", "other"
EVALUATION = "evaluation"
"""The kind of events that say what a program, or nobody knows who, thinks of an answer."""
Row = tuple[str, str, str, str, int, int, str, str, bytes | None]
_ID = re.compile(r"[\w.:/-]{1,128}", re.ASCII)
_ZEROS = re.compile("0+")
_OTLP_TRACE, _OTLP_SPAN = re.compile("[0-9a-f]{32}"), re.compile("[0-9a-f]{16}")
_NO_KEY = b"karat.documents"
_USEFUL = 0.5
_MOST_EVENTS = 10_000  # of a span
_ABOUT = {"data_source": "gen_ai.data_source.id", "memory_store": "gen_ai.memory.store.id"}


class Refused(Exception):
    """A span that cannot be taken; its text says why."""


class _Collected(Journal):
    """A journal that hands back what is written to it."""

    payload: bytes | None = None

    def append(self, payload: bytes) -> bool:
        """Keep a record for whoever has written it."""
        self.payload = payload
        return True


class Taker:
    """Turns spans and log records into rows of the buffer."""

    def __init__(self, paths: Paths, redact: Redaction | None, key: bytes | None, *, otlp: bool = True) -> None:
        self._journal, self._key, self._otlp = _Collected(paths.journal), key, otlp
        self._log = Log(paths, self._journal, redact, key=key, rate=1.0, origin=Origin())
        self.counts: Counter[str] = Counter()
        """What was noticed, by name: ``ignored.KIND`` and ``documents_without_id``."""

    def take(self, span: Span) -> list[Row]:
        """Return the rows of a span; none for one of karat's own, which is no live traffic."""
        self._check_ids(span.trace, span.id, span.parent)
        if span.scope.startswith(OWN) or span.attributes.keys() & {f"{OWN}format", f"{OWN}stage", f"{OWN}run.id"}:
            self.counts["ignored.karat"] += 1
            return []
        try:
            kind, draft = self._read(span)
            events = list(islice(_list_events(span), _MOST_EVENTS + 1))
        except (TypeError, ValueError, OverflowError, RecursionError, AttributeError) as error:
            raise Refused(f"span {span.id} cannot be read: {shorten(str(error))[1:-1]}") from None
        if len(events) > _MOST_EVENTS:
            raise Refused(f"span {span.id} has more than {_MOST_EVENTS:,} evaluations or changes of a memory")
        rows = [self._make_row(span, span.id, span.parent, kind, draft)]
        for number, event in enumerate(events):
            event.id = f"{make_record_id(span.trace, span.id)}-{number}"
            rows.append(self._make_row(span, f"{span.id}-{number}", span.id, EVENT, event))
        if rows[0][3] == OTHER and len(rows) == 1 and not (rows[0][6] or rows[0][7]):
            self.counts[f"ignored.{_name_kind(span)}"] += 1
        return rows

    def take_entry(self, entry: Entry) -> list[Row]:
        """Return the row of a log record that evaluates a span; none for any other, or one of karat's own."""
        if f"{OWN}run.id" in entry.attributes:
            self.counts["ignored.karat"] += 1
            return []
        evaluation = read_log_evaluation(entry)
        if evaluation is None:
            self.counts["ignored.log records"] += 1
            return []
        if not entry.trace:
            raise Refused("an evaluation has no trace id")
        return self.take_evaluation(evaluation, entry.trace, entry.span)

    def take_evaluation(self, evaluation: SpanEvaluation, trace: str, span: str, name: str = "") -> list[Row]:
        """Return the row of an evaluation that came by itself, about a span, or a whole trace if that is empty."""
        self._check_ids(trace, span or "1".zfill(16))
        facts = (span, evaluation.name, evaluation.score, evaluation.label, evaluation.position, evaluation.time)
        own = name or "log-" + blake2b(repr(facts).encode("utf-8", "replace"), digest_size=8).hexdigest()
        around = Span(
            trace=trace, id=own, name=evaluation.name, start=evaluation.time, end=evaluation.time, attributes={}
        )
        draft = _evaluation_draft(make_record_id(trace, own), evaluation)
        return [self._make_row(around, own, span, EVENT, draft)]

    def _check_ids(self, trace: str, span: str, parent: str = "") -> None:
        patterns = (_OTLP_TRACE, _OTLP_SPAN) if self._otlp else (_ID, _ID)
        fits = patterns[0].fullmatch(trace) and patterns[1].fullmatch(span)
        if not fits or _ZEROS.fullmatch(trace) or _ZEROS.fullmatch(span):
            raise Refused(f"the ids of trace {shorten(trace)} and span {shorten(span)} are not valid")
        if parent and not patterns[1].fullmatch(parent):
            raise Refused(f"the id {shorten(parent)} of the span around {span} is not valid")

    def _read(self, span: Span) -> tuple[str, QueryDraft | None]:
        """Return the kind of a span, and what it says, if that may become a part of a record."""
        step = read_step(span)
        if step is not None:
            return RERANK if step.reranks else STEP, self._step_draft(span, step)
        if answer := read_answer(span):
            return ANSWER, self._make_draft(span, answer=answer)
        if not span.parent and find_kind(span.attributes) in ("CHAIN", "AGENT") and (output := read_output(span)):
            return OUTPUT, self._make_draft(span, answer=output)
        return OTHER, None

    def _make_draft(self, span: Span, **fields: Any) -> QueryDraft:
        return QueryDraft(
            make_record_id(span.trace, span.id),
            to_seconds(span.start),
            fields.pop("text", ""),
            find_session(span.attributes),
            find_user(span.attributes),
            tool=_hide_login(span.name),
            trace=span.trace,
            system=str(span.resource.get("service.name") or ""),
            build=str(span.resource.get("service.version") or ""),
            **fields,
        )

    def _step_draft(self, span: Span, step: Step) -> QueryDraft:
        hits = [(self._find_id(record), _find_score(record)) for record in step.records]
        if not all(id_ for id_, _ in hits):
            self.counts["documents_without_id"] += sum(not id_ for id_, _ in hits)
            hits = []  # nobody could tell the documents from each other; their number is known
        about = {name: value for name, key in _ABOUT.items() if (value := span.attributes.get(key))}
        if k := find_top_k(span.attributes):
            about["top_k"] = k
        return self._make_draft(
            span,
            text=step.text,
            hits=hits,
            count=len(step.records) if step.is_known else None,
            error=step.error,
            latency=step.milliseconds if step.end else None,
            attributes=about or None,
        )

    def _find_id(self, record: dict[str, Any]) -> str:
        """Return the id of a document. One that has none gets a hash of its text, which is always the same."""
        if id_ := find_document_id(record):
            return _hide_login(id_)
        if not (content := find_content(record)):
            return ""
        self.counts["documents_by_text"] += 1
        return f"text-{hash_id(self._key or _NO_KEY, 'document', content)}"

    def _make_row(self, span: Span, own: str, parent: str, kind: str, draft: QueryDraft | EventDraft | None) -> Row:
        session, user = find_session(span.attributes), find_user(span.attributes)
        payload = None
        if draft is not None:
            draft.session, draft.user = session, user
            payload = self._hide(draft)
        times = span.start, span.end
        return span.trace, own, parent, kind, *times, self._hash("session", session), self._hash("user", user), payload

    def _hide(self, draft: QueryDraft | EventDraft) -> bytes:
        """Return a draft as it may be written."""
        before = sum(self._journal.dropped.values())
        self._log.write(draft)
        if sum(self._journal.dropped.values()) != before or self._journal.payload is None:
            raise Refused(f"record {draft.id} is larger than a megabyte, or cannot be encoded")
        payload, self._journal.payload = self._journal.payload, None
        return payload

    def _hash(self, kind: str, value: str) -> str:
        if value and self._key is not None:
            return hash_id(self._key, kind, value)
        return value.encode("utf-8", "replace").decode()  # half of a surrogate pair cannot be stored


def make_record_id(trace: str, span: str) -> str:
    """Return the id of the record of a span: the same whenever it is seen.

    >>> make_record_id("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
    'otel-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331'
    """
    return f"{RECEIVED}{trace}-{span}"


def _hide_login(text: str) -> str:
    """Return a name without what is secret in it, if it is an address: one may have a password, or be signed."""
    return hide_secrets(text) if "://" in text and ("@" in text or "?" in text) else text


def _find_score(record: dict[str, Any]) -> float | None:
    score = find_score(record)
    return score if score is not None and score - score == 0 else None


def _name_kind(span: Span) -> str:
    """Return what kind of span is ignored, in few words: there may be any number of names."""
    kind = find_kind(span.attributes) or str(span.attributes.get("gen_ai.operation.name") or "")
    return kind.lower() if re.fullmatch(r"[A-Za-z_]{1,24}", kind) else "other spans"


def _list_events(span: Span) -> Iterator[EventDraft]:
    at = to_seconds(span.end or span.start)
    for operation, record in list_memory_writes(span):
        yield EventDraft("", at, operation, document=record)
    for evaluation in read_evaluations(span):
        yield _evaluation_draft("", evaluation)


def to_seconds(nanoseconds: int) -> float:
    """Return a time in seconds since 1970; now, if it is not known."""
    return nanoseconds / 1e9 if nanoseconds > 0 else time.time()


def _evaluation_draft(name: str, evaluation: SpanEvaluation) -> EventDraft:
    """Return an evaluation as feedback if a person gave it, else as an action that is only kept."""
    facts = {"name": evaluation.name, "label": evaluation.label, "explanation": evaluation.explanation}
    facts["annotator"] = evaluation.annotator
    rank = None if evaluation.position is None else evaluation.position + 1
    kind, value = EVALUATION, evaluation.score
    if evaluation.is_by_people and evaluation.value is not None:
        value = evaluation.value
        kind = TASK_OUTCOME
        if evaluation.document or rank is not None:
            kind = VALIDATE_USEFUL if value >= _USEFUL else VALIDATE_NOT_USEFUL
    return EventDraft(
        name,
        to_seconds(evaluation.time),
        kind,
        document=evaluation.document,
        rank=rank,
        value=value,
        attributes={key: text for key, text in facts.items() if text},
    )
