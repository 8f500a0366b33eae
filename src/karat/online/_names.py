"""Names that a host gives in a record: labels, such as an intent, and ids of documents. Texts must not slip through.

A label is redacted as a text. An id of a document has to be that of the index and of golden sets, so that it stays as
it is; but one that is too long to be an id is a text, and only its hash is written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from karat.online._drafts import Draft, EventDraft, QueryDraft
from karat.online._hit_rows import LONGEST_ID, are_ids, are_plain, to_text
from karat.online._privacy import Redaction, hash_id
from karat.online._records import LoggedHit
from karat.online._shadow_records import MirroredAnswer, ShadowDraft

LONGEST_LABEL = 100
_HIT_KEYS = ("id", "chunk", "document", "score", "channels", "span", "section")
"""What is read of a hit that is a mapping: its text, for one, is not written."""
_ID_KEYS = ("id", "chunk", "document")
_TEXTS = frozenset((str,))
_TRACE = re.compile(r"[\w.:/-]{1,128}")


class Names:
    """What becomes of the names in records: ``redact`` is None if labels are kept, ``key`` if ids are.

    >>> names = Names(Redaction(), bytes(32))
    >>> names.hide_label("fix for ann@example.org"), names.hide_id("wifi"), len(names.hide_id("a text " * 40))
    ('fix for [e-mail]', 'wifi', 37)
    """

    def __init__(self, redact: Redaction | None, key: bytes | None) -> None:
        self._redact, self._key = redact, key
        self._hide_known = lru_cache(1024)(self._hide_text)  # a host has few labels

    def hide(self, draft: Draft, *, plain: bool = False) -> None:
        """Hide the names of a draft, which is changed. ``plain`` says that hits and channels have short ids only."""
        if type(draft) is EventDraft:
            draft.kind = self.hide_label(draft.kind)
            draft.query, draft.document = self.hide_id(draft.query), self.hide_id(draft.document)
            return
        if type(draft) is ShadowDraft:
            self._hide_shadow(draft)
            return
        assert type(draft) is QueryDraft
        self._hide_labels(draft, _list_labels(draft))
        if draft.trace:
            draft.trace = self.hide_trace(draft.trace)
        if draft.flags:
            pairs = dict(draft.flags).items()
            draft.flags = {self.hide_trace(to_text(key)): self.hide_trace(to_text(value)) for key, value in pairs}
        if draft.hits and not plain:
            draft.hits = self.hide_hits(draft.hits)
        if draft.channels and not plain:
            draft.channels = {to_text(name): self.hide_ids(ids) for name, ids in draft.channels.items()}
        if draft.citations:
            draft.citations = self.hide_ids(draft.citations)

    def _hide_shadow(self, draft: ShadowDraft) -> None:
        """Hide the names of a shadow run; those that it does not have cost its caller nothing."""
        if draft.query:
            draft.query = self.hide_id(draft.query)
        if not are_ids(draft.control):
            draft.control = tuple(self.hide_ids(draft.control))
        if not are_ids(draft.treatment):
            draft.treatment = tuple(self.hide_ids(draft.treatment))
        control, treatment = draft.answers
        if control is not None or treatment is not None:
            draft.answers = self._hide_parts(control), self._hide_parts(treatment)

    def _hide_labels(self, draft: QueryDraft, labels: tuple[Any, ...]) -> None:
        hidden = (*map(self.hide_label, labels[:4]), *map(self._hide_version, labels[4:]))
        draft.intent, draft.mode, draft.tool, draft.system, draft.build, draft.index, draft.normaliser = hidden

    def are_plain(self, draft: QueryDraft) -> bool:
        """Return whether the labels of a query are texts that are written as they are. The draft is changed."""
        labels = _list_labels(draft)
        self._hide_labels(draft, labels)
        return _list_labels(draft) == labels and _TEXTS.issuperset(map(type, labels))

    def _hide_parts(self, answer: MirroredAnswer | None) -> MirroredAnswer | None:
        """Return an answer with the ids of its parts as they may be written; its text is left to the log."""
        if answer is None:
            return None
        citations, hits = (
            tuple(
                replace(
                    part,
                    id=self.hide_id(part.id),
                    document=self.hide_id(part.document),
                    section=part.section[:LONGEST_ID],
                    block=part.block[:LONGEST_ID],
                )
                for part in parts
            )
            for parts in (answer.citations, answer.hits)
        )
        return replace(answer, citations=citations, hits=hits)

    def hide_label(self, value: Any) -> Any:
        """Return a label, redacted and no longer than labels are."""
        if value == "" or value is None or self._redact is None:
            return value
        text = value if type(value) is str else to_text(value)
        return self._hide_known(text[: 10 * LONGEST_LABEL])

    def _hide_text(self, text: str) -> str:
        assert self._redact is not None
        return self._redact(text)[:LONGEST_LABEL]

    def _hide_version(self, value: Any) -> Any:
        """Return the name of a build, an index or a normaliser: a hash stays, though it looks like a key."""
        return self.hide_trace(value) if type(value) is str else self.hide_trace(to_text(value))

    def hide_trace(self, value: Any) -> Any:
        """Return the id of a trace: letters, digits and few signs stay, though they look like a key."""
        if value == "" or value is None or (type(value) is str and _TRACE.fullmatch(value)):
            return value
        return self.hide_label(value)

    def hide_id(self, value: Any) -> Any:
        """Return the id of a document, or the hash of a text that is too long to be one."""
        if value is None or self._key is None:
            return value
        text = to_text(value)
        return text if len(text) <= LONGEST_ID else f"text-{hash_id(self._key, 'document', text)}"

    def hide_ids(self, values: Sequence[Any]) -> Sequence[Any]:
        """Return the ids of documents."""
        return values if are_ids(values) else [self.hide_id(value) for value in values]

    def hide_hits(self, hits: Any) -> Any:
        """Return hits as :func:`karat.online._drafts.take_hits` gives them, with ids as they may be written."""
        if type(hits) is dict:
            return {self.hide_id(name): score for name, score in hits.items()}
        return hits if are_plain(hits) else tuple(map(self._hide_hit, hits))

    def _hide_hit(self, hit: Any) -> Any:
        kind = type(hit)
        if kind is tuple or kind is list:
            return [self.hide_id(hit[0]), *hit[1:]] if hit else hit
        if kind is dict:
            hit = {name: hit[name] for name in _HIT_KEYS if name in hit}
            return hit | {name: self.hide_id(hit[name]) for name in _ID_KEYS if name in hit}
        if isinstance(hit, LoggedHit):
            ids = self.hide_id(hit.document), self.hide_id(hit.chunk)
            return LoggedHit(ids[0], hit.rank, hit.score, hit.channels, hit.span, hit.section, ids[1])
        return self.hide_id(hit) if kind is str else hit


def _list_labels(draft: QueryDraft) -> tuple[Any, ...]:
    return draft.intent, draft.mode, draft.tool, draft.system, draft.build, draft.index, draft.normaliser
