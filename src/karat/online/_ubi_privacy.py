"""Rows of UBI without what must not be stored: what a log hides when it writes, an import hides when it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from karat.online._names import Names
from karat.online._privacy import Redaction, hash_id
from karat.online._ubi import OWN, Row

_KINDS = {"session_id": "session", "session": "session", "user_id": "user", "user": "user", "client_id": "client"}
"""The ids of people, at the top of a row and in karat's own part, with what they are hashed as."""
_LABELS = ("application", "action_name", "message_type", "object_id_field", "intent", "mode", "tool", "system", "kind")
_IDS = ("query_id", "query_response_id", "query_response_hit_ids", "id", "query", "document", "citations", "channels")
_AS_THEY_ARE = ("timestamp", "time", "rank", "count", "latency", "quality", "value", "weight", "weights", "stages")


class RowPrivacy:
    """What is hidden in rows: texts unless ``redact`` is None, ids of people unless ``key`` is.

    >>> RowPrivacy(Redaction(), None).hide({"user_query": "ann@example.org", "session_id": "s1"})
    {'user_query': '[e-mail]', 'session_id': 's1'}
    """

    def __init__(self, redact: Redaction | None, key: bytes | None) -> None:
        self._redact, self._key, self._names = redact, key, Names(redact, key)

    def hide(self, row: Mapping[str, Any]) -> Row:
        """Return a row as it may be stored. What has a wrong type is left to the reader, who refuses it."""
        return {name: self._find_way(name)(value) for name, value in row.items()}

    def _find_way(self, name: str) -> Callable[[Any], Any]:
        if name in _KINDS:
            return lambda value: self._hide_person(_KINDS[name], value)
        if name in _LABELS:
            return lambda value: self._names.hide_label(value) if isinstance(value, str) else value
        if name in _IDS:
            return self._hide_ids
        if name in _AS_THEY_ARE:
            return lambda value: value
        ways = {OWN: self._hide_own, "event_attributes": self._hide_attributes}
        versions = dict.fromkeys(("trace", "build", "index", "normaliser"), self._names.hide_trace)
        return {**ways, **versions, "hits": self._hide_hits}.get(name, self._clean)

    def _hide_person(self, kind: str, value: Any) -> Any:
        if not isinstance(value, str) or not value or self._key is None:
            return value
        return hash_id(self._key, kind, value)

    def _hide_ids(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._names.hide_id(value)
        if isinstance(value, list):
            return [self._hide_ids(inner) for inner in value]
        if isinstance(value, dict):
            return {name: self._hide_ids(inner) for name, inner in value.items()}
        return value

    def _hide_hits(self, value: Any) -> Any:
        return self._names.hide_hits(value) if isinstance(value, list) else value

    def _hide_own(self, value: Any) -> Any:
        return self.hide(value) if isinstance(value, dict) else value

    def _hide_attributes(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {
            name: self._hide_object(inner) if name == "object" else self._clean(inner) for name, inner in value.items()
        }

    def _hide_object(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return self._clean(value)
        ids = ("object_id", "internal_id")
        return {name: self._hide_ids(inner) if name in ids else self._clean(inner) for name, inner in value.items()}

    def _clean(self, value: Any) -> Any:
        return value if self._redact is None else self._redact.clean(value)
