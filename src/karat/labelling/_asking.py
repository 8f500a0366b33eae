"""Asking people, and saving what they say."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime

from karat.core import GoldenSet, UsageError, shorten
from karat.labelling._book import Pair, Votes, list_labels
from karat.labelling._desk import Desk
from karat.labelling._journal import check_name, fold_name
from karat.labelling._state import QueueState
from karat.schema.labelling import LabelLine, LabelSaved, LabelTask, OtherLabel
from karat.text import canonical, find_quote

WHY = {
    "pool": "a system returned it",
    "decide": "its grade helps to tell which of two systems is better",
    "rows": "it may come into the golden set",
    "uncertain": "judges are not certain of it",
    "disputes": "people disagree on it, and you settle it",
}
"""Why a pair is asked, by the kind of the queue."""
LONGEST_NOTE = 4000
_LONGEST_KEY = 100
_LONGEST_TIME = 86_400.0
_VERDICTS = ("grade", "skip", "cannot_tell")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A person's answer about a pair."""

    query: str
    document: str
    verdict: str = "grade"
    """grade, skip (ask me no more), or cannot_tell (the text does not allow a grade)."""
    grade: int | None = None
    span: tuple[int, int] | None = None
    """The bytes of the document's canonical text that the grade is about."""
    quote: str = ""
    """Words of the document instead of ``span``: where they stand first."""
    note: str = ""
    seconds: float | None = None
    key: str = ""
    """What is saved again with the same key counts once. By default every answer is a new one."""


def next_task(desk: Desk, queue: str, who: str) -> LabelTask | None:
    """Return the next pair that a person is asked, or None if none is left for that person."""
    state = _open(desk, queue, who)
    with desk.lock:
        pair = state.next_pair(who)
        return None if pair is None else _make_task(desk, state, who, pair)


def show_task(desk: Desk, queue: str, who: str, pair: Pair) -> LabelTask:
    """Return a pair of a queue as a person is asked about it, such as one that was labelled before."""
    state = _open(desk, queue, who)
    with desk.lock:
        _require_pair(state, pair)
        state.hold(who, pair)
        return _make_task(desk, state, who, pair)


def _open(desk: Desk, queue: str, who: str) -> QueueState:
    check_name(who)
    state = desk.open_queue(queue)
    desk.book.require(who)
    desk.check_person(who)
    head = state.queue.head
    if head.adjudicator and fold_name(head.adjudicator) != fold_name(who):
        raise UsageError(
            f"the queue {head.name} is for {shorten(head.adjudicator)}, who settles what others disagree on"
        )
    return state


def _require_pair(state: QueueState, pair: Pair) -> None:
    is_asked = bool(list_labels(state.book.votes(pair))) if _settles(state) else state.queue.find(pair) is not None
    if not is_asked:
        raise UsageError(
            f"the queue {state.queue.name} does not ask about {shorten(pair[1])} for the query {shorten(pair[0])}"
        )


def _settles(state: QueueState) -> bool:
    return state.queue.head.kind == "disputes"


def _make_task(desk: Desk, state: QueueState, who: str, pair: Pair) -> LabelTask:
    golden = desk.golden
    query_text, text, passage = _read_texts(golden, state, pair) if not _settles(state) else _find_texts(desk, pair)
    document = golden.document_by_id.get(pair[1])
    votes = state.book.votes(pair)
    return LabelTask(
        queue=state.queue.name,
        query=pair[0],
        query_text=query_text,
        document=pair[1],
        title=document.title if document else "",
        text=text,
        passage=passage,
        why=WHY[state.queue.head.kind],
        grades=golden.grades,
        guideline=desk.guidelines.version,
        left=state.count_left(who),
        others=_list_others(votes) if _settles(state) else (),
    )


def _read_texts(golden: GoldenSet, state: QueueState, pair: Pair) -> tuple[str, str, tuple[int, int] | None]:
    """Return what is asked, what there is to read, and which bytes of it a system returned."""
    number = state.queue.find(pair)
    query, document = golden.query_by_id.get(pair[0]), golden.document_by_id.get(pair[1])
    text = canonical(document.text) if document else ""
    if number is None:
        return (query.text if query else ""), text, None
    row, place = state.queue.locate(number)
    question = query.text if query else row.new.text if row.new else ""
    if text:
        span = row.spans[place] if row.spans else None
        return question, text, span if span and span[1] <= len(text.encode()) else None
    return question, row.texts[place] if row.texts else "", None


def _find_texts(desk: Desk, pair: Pair) -> tuple[str, str, tuple[int, int] | None]:
    """Return the same for a disputed pair, from the queue in which it was labelled."""
    queues = {line.queue for line in desk.book.votes(pair).values()}
    for state in desk.open_queues()[0]:
        if state.queue.name in queues and state.queue.find(pair) is not None:
            return _read_texts(desk.golden, state, pair)
    query, document = desk.golden.query_by_id.get(pair[0]), desk.golden.document_by_id.get(pair[1])
    return (query.text if query else ""), canonical(document.text) if document else "", None


def _list_others(votes: Votes) -> tuple[OtherLabel, ...]:
    """Return what others said, without their names: by grade, so that the order tells nothing either."""
    labels = [OtherLabel(grade=line.grade, note=line.note) for line in list_labels(votes).values()]
    return tuple(sorted(labels, key=lambda own: (own.grade is None, own.grade or 0, own.note)))


def save_label(desk: Desk, queue: str, who: str, answer: Answer) -> LabelSaved:
    """Save a person's label of a pair. When it returns, it is on the disk.

    Whatever is wrong with the answer is an error, and nothing is saved.
    """
    state = _open(desk, queue, who)
    pair = (answer.query, answer.document)
    with desk.lock:
        _require_pair(state, pair)
        _check_answer(desk.golden, answer)
        span = _find_span(desk, answer)
        line = LabelLine(
            key=answer.key or secrets.token_hex(12),
            at=_now(),
            verdict=answer.verdict,  # type: ignore[arg-type] # checked before
            query=answer.query,
            document=answer.document,
            grade=answer.grade,
            span=span,
            quote=read_words(desk.golden, answer.document, span),
            note=answer.note.strip(),
            seconds=_read_time(answer.seconds),
            queue=queue,
            guideline=desk.guidelines.version,
            settles=_settles(state),
        )
        desk.prepare()
        return _save(desk, who, line)


def undo_label(desk: Desk, who: str, *, key: str = "") -> LabelSaved | None:
    """Take back a person's last label, and return it, or None if there is none.

    It stays in the file, and a new line says that it does not count.
    """
    check_name(who)
    with desk.lock:
        desk.book.refresh()
        desk.book.require(who)
        known = desk.book.find_journal(who).keys.get(key) if key else None
        last = desk.book.last(who) if known is None else desk.book.find_journal(who).keys.get(known.undoes)
        if last is None:
            return None
        kept = _has_judged(desk.golden, who, last)
        line = LabelLine(key=key or secrets.token_hex(12), at=_now(), verdict="undo", undoes=last.key, queue=last.queue)
        saved, repeated, notes = desk.book.append(who, line)
        if kept:
            notes = (*notes, f"the golden set keeps the grade of {who}; label the pair again, and propose that")
        return LabelSaved(
            key=saved.key, who=who, queue=last.queue, verdict="undo", query=last.query, document=last.document,
            grade=last.grade, span=last.span, repeated=repeated, notes=notes,
        )  # fmt: skip


def _has_judged(golden: GoldenSet, who: str, line: LabelLine) -> bool:
    """Return whether a golden set has a person's judgment of the pair of a label."""
    pair = line.query, line.document
    return any(own.annotator == who and (own.query, own.target.document) == pair for own in golden.judgments)


def find_last(desk: Desk, who: str) -> LabelLine | None:
    """Return a person's last label that was not taken back, or None."""
    with desk.lock:
        desk.book.refresh()
        return desk.book.last(who)


def _save(desk: Desk, who: str, line: LabelLine) -> LabelSaved:
    saved, repeated, notes = desk.book.append(who, line)
    if repeated and _content(saved) != _content(line):
        raise UsageError(f"the key {shorten(line.key)} belongs to another label; load the page again, or use a new key")
    return LabelSaved(
        key=saved.key, who=who, queue=saved.queue, verdict=saved.verdict, query=saved.query, document=saved.document,
        grade=saved.grade, span=saved.span, repeated=repeated, notes=notes,
    )  # fmt: skip


def _content(line: LabelLine) -> tuple[object, ...]:
    """Return what a person said, without when and how long it took: two sendings of one answer have it in common."""
    return line.query, line.document, line.verdict, line.grade, line.span, line.note


def _check_answer(golden: GoldenSet, answer: Answer) -> None:
    if answer.verdict not in _VERDICTS:
        raise UsageError(f"verdict {shorten(answer.verdict)}; choose {', '.join(_VERDICTS)}")
    top = len(golden.grades) - 1
    if answer.verdict == "grade" and (answer.grade is None or not 0 <= answer.grade <= top):
        raise UsageError(f"grade {answer.grade} is not on the set's scale, 0 to {top}")
    if answer.verdict != "grade" and (answer.grade is not None or answer.span or answer.quote):
        raise UsageError("only a grade has a number and a span")
    if len(answer.note) > LONGEST_NOTE:
        raise UsageError(f"the note has {len(answer.note):,} characters; {LONGEST_NOTE:,} are the most")
    if len(answer.key) > _LONGEST_KEY or not answer.key.isascii() or not (answer.key.isprintable()):
        raise UsageError(f"the key is not up to {_LONGEST_KEY} characters of ASCII")
    for text in (answer.note, answer.quote):
        try:
            text.encode()
        except UnicodeEncodeError:
            raise UsageError("a text holds half of a surrogate pair, which is not a character") from None


def _find_span(desk: Desk, answer: Answer) -> tuple[int, int] | None:
    """Return the bytes that an answer is about, which begin and end with a character."""
    if answer.span is None and not answer.quote.strip():
        return None
    document = desk.golden.document_by_id.get(answer.document)
    if document is None or not document.text:
        raise UsageError(f"the golden set has no text of {shorten(answer.document)}, in which a span could be")
    text = canonical(document.text)
    if answer.span is None:
        return find_quote(text, answer.quote)
    data = text.encode()
    start, end = answer.span
    if not 0 <= start < end <= len(data) or any(
        data[i : i + 1] >= b"\x80" and data[i] < 0xC0 for i in (start, end) if i < len(data)
    ):
        raise UsageError(f"span [{start}, {end}] is not inside document {shorten(answer.document)}")
    return start, end


def read_words(golden: GoldenSet, document: str, span: tuple[int, int] | None) -> str:
    """Return the words of a span of a document, which tell later whether it was edited; nothing without a span."""
    if span is None or document not in golden.document_by_id:
        return ""
    return canonical(golden.document_by_id[document].text).encode()[slice(*span)].decode(errors="ignore")


def _read_time(seconds: float | None) -> float | None:
    """Return how long somebody took, to the tenth of a second; None if that cannot be."""
    if seconds is None or not math.isfinite(seconds) or not 0 <= seconds <= _LONGEST_TIME:
        return None
    return round(seconds, 1)


def _now() -> str:
    return f"{datetime.now(tz=UTC):%Y-%m-%dT%H:%M:%SZ}"
