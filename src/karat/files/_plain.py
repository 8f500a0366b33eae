"""The short way to read a large JSONL file of plain rows: one compiled decoder checks and reads all of them."""

from __future__ import annotations

import io
from collections.abc import Callable
from itertools import islice
from typing import TypeVar

import msgspec

from karat.files._text import BOM

S = TypeVar("S", bound=msgspec.Struct)
T = TypeVar("T")

_AT_ONCE = 10_000  # rows


def decode_plain(data: bytes, kind: type[S], build: Callable[[S], T]) -> tuple[T, ...] | None:
    """Return what is built from the rows of JSONL data if each has the fields of ``kind`` and no others, or None.

    None means that a row is wrong, or has something that only the long way can tell; that says what, and where.
    ``kind`` forbids unknown fields, and its optional ones are UNSET by default. A row lives no longer than it takes to
    build a value from it, so that a million of them need no memory.

    >>> class Vote(msgspec.Struct, forbid_unknown_fields=True):
    ...     document: str
    ...     grade: int
    >>> decode_plain(b'{"document": "wifi", "grade": 3}', Vote, lambda vote: vote.grade)
    (3,)
    >>> decode_plain(b'{"document": "wifi", "grade": 3, "grade": 0}', Vote, lambda vote: vote.grade) is None
    True
    """
    values: list[T] = []
    return tuple(values) if take_plain(data, kind, lambda rows: values.extend(map(build, rows))) else None


def take_plain(data: bytes, kind: type[S], take: Callable[[list[S]], None]) -> bool:
    """Call ``take`` with the rows of JSONL data, some thousands at a time, as :func:`decode_plain` reads them.

    Return whether all rows are plain. If not, what was taken is not to be used.
    """
    if b"\\u" in data:  # half of a surrogate pair, or a colon in disguise
        return False
    decode, encode = msgspec.json.Decoder(kind).decode, msgspec.json.Encoder().encode_lines
    lines, colons = io.BytesIO(data.removeprefix(BOM)), 0
    try:
        while rows := list(map(decode, islice(lines, _AT_ONCE))):
            take(rows)
            colons += encode(rows).count(b":")
    except (msgspec.MsgspecError, UnicodeDecodeError, OverflowError, RecursionError):
        return False
    # The decoder keeps the last of two equal keys; where one was lost, so was its colon.
    return colons == data.count(b":")
