"""Sessions rebuilt from the records of a log, one after the other, as they end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import merge
from typing import Any

from karat.feedback._detectors import Similarity, compare_words, find_passed, find_repeats, find_reused
from karat.feedback._matching import AskedQueries, find_task_value, has_failed, name_document
from karat.feedback._sessions import AskedQuery, Oddities, Session
from karat.online import (
    EVENT_KINDS,
    IDLE_SECONDS,
    IMPRESSION,
    RE_SEARCH,
    READ_AFTER_SEARCH,
    REFERENCE,
    SCROLL_PAST,
    TASK_OUTCOME,
    VALIDATE_NOT_USEFUL,
    VALIDATE_USEFUL,
    LoggedEvent,
    LoggedQuery,
    Reader,
    Record,
    is_outcome,
    name_session,
)

_Home = dict[str, tuple[str, float]]
"""The key of the session of each query, as long as that is open, and when it was asked."""


@dataclass(slots=True)
class _Open:
    """A session that has not ended yet."""

    id: str
    latest: float
    queries: dict[str, LoggedQuery] = field(default_factory=dict)
    events: dict[str, LoggedEvent] = field(default_factory=dict)


def rebuild_sessions(
    queries: Iterable[LoggedQuery],
    events: Iterable[LoggedEvent],
    *,
    oddities: Oddities | None = None,
    texts: Mapping[str, str] | None = None,
    similarity: Similarity = compare_words,
    idle: float = IDLE_SECONDS,
) -> Iterator[Session]:
    """Yield sessions as they end, from records in the order of time; only those that are open are held.

    An event belongs to the query that it names, or to the latest query of its session that had shown its document; one
    without a document belongs to the latest. It may name a query of another session, if that was asked at most ``idle``
    seconds before it. With the ``texts`` of documents the answers are searched for their words. What is odd about the
    records is counted in ``oddities``.

    >>> from karat.online import LoggedHit
    >>> asked = LoggedQuery("1", 10.0, "wifi?", session="s", hits=(LoggedHit("pool", 1), LoggedHit("wifi", 2)), count=2)
    >>> read = LoggedEvent("2", 12.0, READ_AFTER_SEARCH, session="s", document="wifi")
    >>> [session] = rebuild_sessions([asked], [read])
    >>> dict(session.queries[0].read), session.queries[0].passed
    ({'wifi': 2}, ('pool',))
    """
    odd = Oddities() if oddities is None else oddities
    open_: dict[str, _Open] = {}
    home: _Home = {}
    now = -float("inf")
    records: Iterator[Record] = merge(queries, events, key=_get_time)
    for record in records:
        now = max(now, record.time)
        while open_:  # in the order of their latest record, so that the first one is the first to end
            key = next(iter(open_))
            if open_[key].latest >= now - idle:
                break
            session = open_.pop(key)
            for query in session.queries.values():
                if home.get(query.id, ("", 0.0))[0] == key:
                    del home[query.id]
            yield _close(session, odd, texts, similarity)
        _add(record, open_, home, odd, idle)
    for session in open_.values():
        yield _close(session, odd, texts, similarity)


def read_sessions(
    reader: Reader, since: float | None = None, until: float | None = None, **options: Any
) -> Iterator[Session]:
    """Yield the sessions of a log in a span of time; the options are those of :func:`rebuild_sessions`."""
    return rebuild_sessions(reader.queries(since, until), reader.events(since, until), **options)


def _get_time(record: Record) -> float:
    return record.time


def _add(record: Record, open_: dict[str, _Open], home: _Home, odd: Oddities, idle: float) -> None:
    """Put a record into its session, which moves to the end of those that are open."""
    is_query = isinstance(record, LoggedQuery)
    key = name_session(record) if is_query else _find_home(record, open_, home, odd, idle)  # type: ignore[arg-type]
    if key is None:
        return
    session = open_.pop(key, None) or _Open(record.session, record.time)
    open_[key] = session
    if is_query:
        home[record.id] = key, record.time
    held = session.queries if is_query else session.events
    is_known = record.id in held
    odd.duplicates += is_known
    odd.backwards += record.time < session.latest and not is_known
    session.latest = max(session.latest, record.time)
    if not is_known:
        held[record.id] = record  # type: ignore[assignment]


def _find_home(event: LoggedEvent, open_: Mapping[str, _Open], home: _Home, odd: Oddities, idle: float) -> str | None:
    """Return the key of an event's session: that of its query, or its own; None if it has neither."""
    own = name_session(event)
    key, time = home.get(event.query, ("", 0.0))
    # What else happens in another session must not decide where an event belongs: only when its query was asked does.
    if key and (key == own or time >= event.time - idle):
        return key
    odd.unknown_query += bool(event.query)
    if not event.session:
        odd.without_session += 1
        return None
    if own not in open_:
        odd.before_any_query += 1
    return own


def _close(session: _Open, odd: Oddities, texts: Mapping[str, str] | None, similarity: Similarity) -> Session:
    """Return a session that has ended: every event with its query, and what can be seen besides."""
    queries = sorted(session.queries.values(), key=lambda query: (query.time, query.id))
    drafts = {query.id: _Draft(query) for query in queries}
    matches = AskedQueries(queries)
    unmatched, outcomes, actions = [], [], 0
    for event in sorted(session.events.values(), key=lambda event: (event.time, event.id)):
        if event.kind == TASK_OUTCOME:
            outcomes.append(event)
            odd.odd_outcomes += event.value is not None and not is_outcome(event.value)
        elif event.kind not in EVENT_KINDS:
            actions += 1
        elif (query := matches.find(event)) is not None:
            odd.says_nothing += not drafts[query.id].add(event)
        else:
            odd.not_shown += bool(event.document)
            odd.says_nothing += not event.document and not event.query
            unmatched.append(event)
    for place, before in enumerate(find_repeats([(q.text, q.time) for q in queries], similarity=similarity)):
        if before is not None:
            drafts[queries[place].id].repeats = queries[before].id
            drafts[queries[before].id].worded = True
    failed = has_failed(find_task_value(outcomes))
    return Session(
        id=session.id,
        queries=tuple(draft.finish(texts, task_failed=failed) for draft in drafts.values()),
        unmatched=tuple(unmatched),
        outcomes=tuple(outcomes),
        actions=actions,
        events=len(session.events),
        span=(min(times), max(times)) if (times := [event.time for event in session.events.values()]) else None,
    )


class _Draft:
    """A query while its events are put together."""

    __slots__ = ("not_useful", "passed", "query", "read", "repeats", "reused", "times", "useful", "verdict", "worded")

    def __init__(self, query: LoggedQuery) -> None:
        self.query, self.repeats, self.worded = query, "", False
        self.times: list[float] = []
        self.verdict: bool | None = None
        self.read: dict[str, int | None] = {}
        self.useful: dict[str, None] = {}
        self.not_useful: dict[str, None] = {}
        self.passed: dict[str, None] = {}
        self.reused: dict[str, None] = {}

    def add(self, event: LoggedEvent) -> bool:
        """Add what an event says; return whether it says anything. An impression says what the hits do."""
        if event.kind == RE_SEARCH:
            self.times.append(event.time)
            return True
        name = name_document(event, self.query)
        if event.kind in (VALIDATE_USEFUL, VALIDATE_NOT_USEFUL):
            return self._validate(name, event)
        if not name:
            return event.kind == IMPRESSION
        if event.kind == READ_AFTER_SEARCH:
            self.read.setdefault(name, event.rank or self.query.rank_of(name))
        elif event.kind != IMPRESSION:
            {SCROLL_PAST: self.passed, REFERENCE: self.reused}[event.kind][name] = None
        return True

    def _validate(self, name: str, event: LoggedEvent) -> bool:
        """Add what somebody says of a document, or of all that was found. Whoever changes their mind means the last."""
        is_useful = event.kind == VALIDATE_USEFUL
        if name:
            yes, no = (self.useful, self.not_useful) if is_useful else (self.not_useful, self.useful)
            yes[name] = None
            no.pop(name, None)
            return True
        if event.rank and event.query in ("", self.query.id):  # of a document that nobody knows
            return False
        self.verdict = is_useful
        return True

    def finish(self, texts: Mapping[str, str] | None, *, task_failed: bool) -> AskedQuery:
        """Return the query with what can be seen besides: what was cited, reused and passed over."""
        query = self.query
        cited: list[str] = []
        if query.citations:
            by_id = {hit.id: hit.document for hit in query.hits}
            cited = [by_id.get(name, name) for name in query.citations]
        if texts and query.answer:
            own = {document: texts[document] for document in dict.fromkeys(query.documents) if document in texts}
            cited += find_reused(query.answer, own)
        reused = tuple(dict.fromkeys((*self.reused, *cited)))
        chosen = {*self.read, *self.useful, *self.not_useful, *reused}
        passed = dict.fromkeys((*self.passed, *(find_passed(query.documents, chosen) if chosen else ())))
        return AskedQuery(
            query=query,
            read=self.read,
            useful=tuple(self.useful),
            not_useful=tuple(self.not_useful),
            passed=tuple(name for name in passed if name not in chosen),
            reused=reused,
            repeats=self.repeats,
            repeated=self.worded or bool(self.times),
            told=tuple(self.times),
            verdict=self.verdict,
            task_failed=task_failed,
        )
