"""User Behavior Insights (UBI) 1.3.0: records as its queries and events, and back, without loss.

A row has what UBI has fields for, so that other tools understand it. What is left of a record goes into ``karat`` at
the top of the row, where the schema allows anything. A row of somebody else that would not come back as it was is kept
whole as the attribute ``ubi`` of its record.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from karat.core import InputError, shorten
from karat.online._hit_rows import NotHits, to_hits
from karat.online._records import READ_AFTER_SEARCH, LoggedEvent, LoggedQuery, Record
from karat.online._times import format_time

Row = dict[str, Any]
R = TypeVar("R", LoggedQuery, LoggedEvent)

_CLICK = "click"
OWN, _WHOLE = "karat", "ubi"
_LIMITS = {
    **dict.fromkeys(
        ("application", "action_name", "query_id", "session_id", "client_id", "user_id", "message_type"), 100
    ),
    "object_id_field": 100,
    "message": 1024,
}
"""The most characters of texts at the top of a row."""
_OBJECT_LIMITS = {"object_id": 256, "internal_id": 256, "object_id_type": 100, "object_id_field": 100}
"""The most characters of texts about the object of an event."""


def query_to_ubi(query: LoggedQuery) -> Row:
    """Return a query as UBI has it.

    >>> row = query_to_ubi(LoggedQuery("q1", 1.5, "wifi?", hits=to_hits(["wifi"]), count=1))
    >>> row["user_query"], row["query_response_hit_ids"], row["timestamp"]
    ('wifi?', ['wifi'], '1970-01-01T00:00:01.500000Z')
    """
    row = dict(query.attributes[_WHOLE]) if _WHOLE in query.attributes else _make_query_row(query)
    return _add_rest(row, query, ubi_to_query(row))


def event_to_ubi(event: LoggedEvent) -> Row:
    """Return an event as UBI has it; reading after a search is a click.

    >>> event_to_ubi(LoggedEvent("e1", 1.5, "read_after_search", document="wifi", rank=2))["event_attributes"]
    {'object': {'object_id': 'wifi'}, 'position': {'ordinal': 2}}
    """
    row = dict(event.attributes[_WHOLE]) if _WHOLE in event.attributes else _make_event_row(event)
    return _add_rest(row, event, ubi_to_event(row))


def ubi_to_query(row: Mapping[str, Any], source: str = "UBI", line: int | None = None) -> LoggedQuery:
    """Return the query that a row stands for; one without a time is refused."""
    plain, own = _open(row, ("user_query", "timestamp"), source, line)
    listed = plain.get("query_response_hit_ids")
    try:
        hits = to_hits([] if listed is None else listed)
    except NotHits as error:
        raise InputError(f"query_response_hit_ids: {error}", source=source, line=line) from None
    query = LoggedQuery(
        plain.get("query_id") or _digest(plain),
        _parse_time(plain["timestamp"], source, line),
        plain["user_query"],
        plain.get("session_id") or "",
        plain.get("user_id") or "",
        hits=hits,
        attributes=dict(plain.get("query_attributes") or {}),
        count=None if listed is None else len(listed),
    )
    return _finish(query, plain, _make_query_row(query), own, f"{source}, line {line}")


def ubi_to_event(row: Mapping[str, Any], source: str = "UBI", line: int | None = None) -> LoggedEvent:
    """Return the event that a row stands for. Its id is a digest of it, as UBI has none."""
    plain, own = _open(row, ("action_name", "timestamp"), source, line)
    attributes = dict(plain.get("event_attributes") or {})
    position, thing = attributes.pop("position", None), attributes.pop("object", None)
    ordinal = position.get("ordinal") if isinstance(position, Mapping) else None
    name = thing.get("object_id") if isinstance(thing, Mapping) else None
    event = LoggedEvent(
        _digest(plain),
        _parse_time(plain["timestamp"], source, line),
        READ_AFTER_SEARCH if plain["action_name"] == _CLICK else plain["action_name"],
        plain.get("session_id") or "",
        plain.get("user_id") or "",
        plain.get("query_id") or "",
        "" if name is None else str(name),
        ordinal if type(ordinal) is int and 1 <= ordinal < 2**63 else None,
        attributes=attributes,
    )
    return _finish(event, plain, _make_event_row(event), own, f"{source}, line {line}")


def find_violations(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield which texts of a row are longer than UBI's schemas allow."""
    attributes = row.get("event_attributes")
    thing = attributes.get("object") if isinstance(attributes, Mapping) else None
    for part, limits in ((row, _LIMITS), (thing if isinstance(thing, Mapping) else {}, _OBJECT_LIMITS)):
        for name, limit in limits.items():
            if isinstance(text := part.get(name), str) and len(text) > limit:
                yield f"{name} has more than {limit} characters"


def _fit(text: str, limit: int = 100) -> str:
    """Return a text that UBI has room for: a digest of one that is too long, which then goes to karat's own part."""
    return text if len(text) <= limit else _digest({"text": text})


def _make_query_row(query: LoggedQuery) -> Row:
    row: Row = {"query_id": _fit(query.id), "user_query": query.text, "timestamp": format_time(query.time)}
    row |= {name: _fit(value) for name, value in (("session_id", query.session), ("user_id", query.user)) if value}
    if query.count is not None:
        row["query_response_hit_ids"] = [hit.id for hit in query.hits]
    if query.attributes:
        row["query_attributes"] = query.attributes
    return row


def _make_event_row(event: LoggedEvent) -> Row:
    action = _CLICK if event.kind == READ_AFTER_SEARCH else event.kind
    row: Row = {"action_name": _fit(action), "timestamp": format_time(event.time)}
    pairs = (("query_id", event.query), ("session_id", event.session), ("user_id", event.user))
    row |= {name: _fit(value) for name, value in pairs if value}
    if event.rank is not None:  # the schema asks for a position wherever there is anything else
        name = _fit(event.document, _OBJECT_LIMITS["object_id"])
        thing = {"object": {"object_id": name}} if event.document else {}
        row["event_attributes"] = {**thing, "position": {"ordinal": event.rank}, **event.attributes}
    return row


def _add_rest(row: Row, record: R, back: R) -> Row:
    """Return a row with what would not come back from it."""
    fields = [name for name in record.__struct_fields__ if getattr(record, name) != getattr(back, name)]
    if not fields:
        return row
    return {**row, OWN: {name: msgspec.to_builtins(getattr(record, name)) for name in fields}}


def _finish(record: R, row: Row, again: Row, own: Mapping[str, Any], source: str) -> R:
    """Return a record with what karat added to the row, and with the row if it could not be made again."""
    fields: Row = {name: getattr(record, name) for name in record.__struct_fields__}
    if again != row:
        fields["attributes"] = {**record.attributes, _WHOLE: row}
    names = {name: value for name, value in own.items() if name in fields}
    kind: type[R] = type(record)
    plain: Row = {name: msgspec.to_builtins(value) for name, value in fields.items()} | names
    try:
        return msgspec.convert([kind.__struct_config__.tag, *(plain[name] for name in record.__struct_fields__)], kind)
    except msgspec.ValidationError as error:
        raise InputError(f"karat has not what karat wrote: {error}", source=source) from None


def _open(
    row: Mapping[str, Any], needed: tuple[str, ...], source: str, line: int | None
) -> tuple[Row, Mapping[str, Any]]:
    """Return a row without karat's own part, and that part. What karat reads has the types of the schema."""
    plain = dict(row)
    own = plain.pop(OWN, {})
    for name in needed:
        if not isinstance(plain.get(name), str):
            raise InputError(f"{name} is missing, or not a text", source=source, line=line)
    for name in _LIMITS:
        if not isinstance(plain.get(name, ""), str):
            raise InputError(f"{name} {shorten(plain[name])} is not a text", source=source, line=line)
    for name, kind in (
        ("query_attributes", dict),
        ("event_attributes", dict),
        ("query_response_hit_ids", list),
        (OWN, dict),
    ):
        if not isinstance(row.get(name, kind()), kind):
            raise InputError(f"{name} is not {'a list' if kind is list else 'an object'}", source=source, line=line)
    return plain, own


def _parse_time(text: str, source: str, line: int | None) -> float:
    """Return a time in seconds; one without a zone is in UTC."""
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise InputError(f"timestamp {shorten(text)} is not a time", source=source, line=line) from None


def _digest(row: Mapping[str, Any]) -> str:
    data = json.dumps(row, sort_keys=True).encode("utf-8", "surrogatepass")
    return "ubi-" + hashlib.blake2b(data, digest_size=16).hexdigest()


def is_event(row: Mapping[str, Any]) -> bool:
    """Return whether a row of UBI is an event, and not a query."""
    return "action_name" in row


def read_row(value: object, source: str, line: int, hide: Callable[[Row], Row] = dict, *, own: bool = False) -> Record:
    """Return the record of one line of UBI, after ``hide`` has taken out what must not be stored.

    ``own`` is for lines that karat wrote: they may hold texts that are too long, which somebody else gave it.
    """
    if not isinstance(value, dict):
        raise InputError("is not an object", source=source, line=line, hint="a line has a query or an event of UBI")
    if not own and (problem := next(find_violations(value), "")):
        raise InputError(problem, source=source, line=line, hint="UBI 1.3.0 allows no more")
    value = hide(value)
    return ubi_to_event(value, source, line) if is_event(value) else ubi_to_query(value, source, line)
