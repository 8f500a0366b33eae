"""How many parts a request has, counted before it is decoded: a part takes two bytes to send and hundreds to hold."""

from __future__ import annotations

from functools import cache
from typing import Any

from karat.traces.spans import TooMany

_MOST = 1_000_000
"""Messages, objects and arrays of a request: 16 MB of spans with texts in them have a tenth of that."""
_SMALL = 1 << 20  # bytes of which even the smallest parts take little memory
_DEEPEST = 100  # what protobuf itself refuses
_VARINT, _EIGHT, _SIZED, _FOUR = 0, 1, 2, 5  # kinds of fields on the wire

Kinds = dict[int, Any]


def check_density(body: bytes, message: Any | None) -> None:
    """Refuse a body with too many parts: of a type of protobuf, or JSON if there is none."""
    if len(body) <= _SMALL:
        return
    parts = body.count(b"{") + body.count(b"[") if message is None else count_messages(body, message.DESCRIPTOR)
    if parts > _MOST:
        raise TooMany(f"a request may have {_MOST:,} values within values; send smaller batches")


def count_messages(body: bytes, descriptor: Any) -> int:
    """Return how many messages are in one that is encoded, or how many were counted when there were too many.

    What is malformed ends the count: the decoder says what is wrong.
    """
    count, at, end = 0, 0, len(body)
    kinds, above = _list_kinds(descriptor), list[tuple[int, int, Kinds]]()
    try:
        while count <= _MOST:
            while at >= end and above:
                at, end, kinds = above.pop()
            if at >= end:
                break
            tag, at = _read_varint(body, at)
            kind = tag & 7
            if kind == _SIZED:
                size, at = _read_varint(body, at)
                inner = kinds.get(tag >> 3)
                if inner is not None:
                    count += 1
                    if size and len(above) < _DEEPEST:
                        above.append((at + size, end, kinds))
                        end, kinds = min(at + size, end), _list_kinds(inner)
                        continue
                at += size
            elif kind == _VARINT:
                _, at = _read_varint(body, at)
            elif kind in (_EIGHT, _FOUR):
                at += 8 if kind == _EIGHT else 4
            else:
                break
    except IndexError:  # it is cut off
        pass
    return count


@cache
def _list_kinds(descriptor: Any) -> Kinds:
    """Return the fields of a message that are messages, by their numbers."""
    return {field.number: field.message_type for field in descriptor.fields if field.message_type is not None}


def _read_varint(body: bytes, at: int) -> tuple[int, int]:
    """Return a number and where it ends."""
    value = body[at]
    at += 1
    if value < 0x80:
        return value, at
    value, shift = value & 0x7F, 7
    while True:
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80 or shift > 63:
            return value, at
        shift += 7
