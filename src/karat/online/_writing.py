"""What becomes of a record before it is in the journal: what must not be written is taken out, and it is encoded."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from msgspec.structs import astuple, replace

from karat.online._asked import SESSION, TEXT, USER, Asked
from karat.online._drafts import Draft, EventDraft, QueryDraft, encode_draft, replace_halves
from karat.online._hit_rows import to_text
from karat.online._journal import Journal
from karat.online._names import Names
from karat.online._plain import Room, TooLarge
from karat.online._privacy import Redaction, make_hasher
from karat.online._segment import LARGEST, OUTCOME
from karat.online._shadow_records import MirroredAnswer, ShadowDraft
from karat.online._types import NoOutcome, WrongType, check_event, check_query

_MOST_BLANKS = 1024
_logger = logging.getLogger("karat.online")


class Writer:
    """Writes records to a journal: texts redacted, with hashes for ids. What cannot be encoded is dropped and counted.

    ``redact`` is None if texts are written as they are, ``key`` if ids are. ``origin`` has the system, the build, the
    index and the normaliser of a query that does not say something else.
    """

    def __init__(
        self, journal: Journal, redact: Redaction | None, key: bytes | None, weight: float, origin: tuple[str, ...]
    ) -> None:
        self._journal, self._redact, self._weight, self._origin = journal, redact, weight, origin
        self._redact_text: Callable[[str], str] = to_text if redact is None else redact.function
        self._hash_session: Callable[[str], str] = to_text if key is None else make_hasher(key, "session")
        self._hash_user: Callable[[str], str] = to_text if key is None else make_hasher(key, "user")
        self._names = Names(redact, key)
        self.blanks: dict[tuple[Any, ...], list[Any]] = {}
        """Records of queries to be filled in, by the intent, the mode and the tool, which are written as they are."""
        self._warned: set[str] = set()

    def make_record(
        self, intent: Any, mode: Any, tool: Any, origin: tuple[Any, ...], rest: dict[str, Any]
    ) -> list[Any]:
        """Return the record of a query to be filled in: the fields of a draft, after its tag."""
        system, build, index, normaliser = (
            own if value is None else value for value, own in zip(origin, self._origin, strict=True)
        )
        names = {"intent": intent, "mode": mode, "tool": tool, "system": system, "build": build}
        draft = QueryDraft("", 0.0, "", index=index, normaliser=normaliser, weight=self._weight, **names, **rest)
        return ["query", *astuple(draft)]

    def write_query(self, query: Asked) -> None:
        """Write the record of a query that is over.

        Nearly all queries have a text, an id of the session, known labels and short ids, and nothing else: they are
        encoded here, with few steps. Any other goes the long way, and so does one with which something is wrong.
        """
        record = query._record
        text, session, user, payload = record[TEXT], record[SESSION], record[USER], None
        if query._usual and query._plain and type(text) is str and len(text) <= LARGEST:
            own = record.copy()  # it may be written again
            try:
                own[TEXT] = self._redact_text(text)
                if session is not None and (name := session if type(session) is str else to_text(session)):
                    own[SESSION] = self._hash_session(name)
                if user is not None and (name := user if type(user) is str else to_text(user)):
                    own[USER] = self._hash_user(name)
                payload = encode_draft(own)
            except Exception:  # half of a surrogate pair, an id that is no text: the long way finds out
                payload = None
        if payload is not None:
            self._journal.append(payload)
            return
        self.write(QueryDraft(*record[1:]), plain=query._plain)
        if not query._usual:
            self._learn_labels(QueryDraft(*record[1:]))

    def _learn_labels(self, draft: QueryDraft) -> None:
        """Make a record to be filled in for the next queries with the same labels, if these are written as they are."""
        origin = draft.system, draft.build, draft.index, draft.normaliser
        key = draft.intent, draft.mode, draft.tool
        try:
            if key not in self.blanks and origin == self._origin and self._names.are_plain(draft):
                if len(self.blanks) >= _MOST_BLANKS:
                    self.blanks.clear()
                self.blanks[key] = self.make_record(*key, origin, {})
        except Exception:  # a label that has no hash, or no text
            return

    def write(self, draft: Draft, *, plain: bool = False) -> None:
        """Write a record of any kind. ``plain`` says that hits and channels have short ids only."""
        try:
            if type(draft) is EventDraft:
                check_event(draft)
            elif type(draft) is QueryDraft:
                for field, error in check_query(draft, plain=plain):
                    self.leave_out(field, error)
            self._hide(draft, plain)
            try:
                payload = encode_draft(draft)
            except UnicodeEncodeError:  # half of a surrogate pair somewhere
                payload = encode_draft(replace_halves(draft))
        except TooLarge:
            self._journal.drop("too_large")
            return
        except NoOutcome as error:
            self._journal.drop(OUTCOME, error)
            return
        except WrongType as error:
            self._journal.drop(error.field, error)
            return
        except Exception as error:
            self._journal.drop("encode", error)
            return
        self._journal.append(payload)

    def leave_out(self, field: str, error: Exception) -> None:
        """Count a field that a record is written without, because it cannot be understood."""
        self._journal.drop(field, error)

    def warn(self, what: str, error: Exception) -> None:
        """Warn once, in the host's log, of something that was recorded and could not be understood."""
        if what not in self._warned:
            self._warned.add(what)
            _logger.warning("%s of a query cannot be recorded: %s", what, error)

    def _hide(self, draft: Draft, plain: bool) -> None:
        """Take out of a draft what must not be written."""
        session, user = draft.session, draft.user
        if session is not None and (name := session if type(session) is str else to_text(session)):
            draft.session = self._hash_session(name)
        if user is not None and (name := user if type(user) is str else to_text(user)):
            draft.user = self._hash_user(name)
        self._names.hide(draft, plain=plain)
        if isinstance(draft, EventDraft):
            if draft.attributes and self._redact is not None:
                draft.attributes = self._redact.clean(draft.attributes, Room(LARGEST))
            return
        text = draft.text
        if type(text) is not str or len(text) > LARGEST or draft.error or draft.attributes or _has_answer(draft):
            self._hide_texts(draft)
        else:
            draft.text = self._redact_text(text)

    def _hide_answer(self, answer: MirroredAnswer | None, room: Room) -> MirroredAnswer | None:
        return None if answer is None else replace(answer, text=_redact(self._redact, answer.text, room))

    def _hide_texts(self, draft: QueryDraft | ShadowDraft) -> None:
        redact, room = self._redact, Room(LARGEST)
        draft.text = _redact(redact, draft.text, room)
        if draft.error:
            draft.error = _redact(redact, draft.error, room)
        if isinstance(draft, ShadowDraft):
            control, treatment = draft.answers
            draft.answers = self._hide_answer(control, room), self._hide_answer(treatment, room)
        elif draft.answer is not None:
            draft.answer = _redact(redact, draft.answer, room)
        if redact is not None and draft.attributes:
            draft.attributes = redact.clean(draft.attributes, room)


def _has_answer(draft: QueryDraft | ShadowDraft) -> bool:
    if isinstance(draft, QueryDraft):
        return draft.answer is not None
    return any(draft.answers)


def _redact(redact: Redaction | None, value: Any, room: Room) -> str:
    text = room.take(to_text(value))
    return text if redact is None else redact(text)
