"""What a golden set holds, as one short text that changes when the content does."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

from karat.core import GoldenSet

_DESCRIPTION = frozenset({"name", "version", "description", "created", "notes", "gate"})
"""What says something about a set without being part of it."""
_LISTS = ("documents", "queries", "judgments")


def fingerprint(golden: GoldenSet) -> str:
    """Give ``sha256:`` and 64 digits over the content: the same for rows in another order, and wherever texts lie.

    >>> one = fingerprint(GoldenSet(name="a"))
    >>> one == fingerprint(GoldenSet(name="b")), one == fingerprint(GoldenSet(relevant=1))
    (True, False)
    """
    return _digest(_parts(golden))


def identify(golden: GoldenSet) -> dict[str, str]:
    """Give what a run keeps of a golden set: name, version, its fingerprint, and that of all but the documents.

    >>> from karat.core import Document
    >>> one, other = (identify(GoldenSet(documents=(Document(id="d", text=text),))) for text in "ab")
    >>> one["fingerprint"] == other["fingerprint"], one["questions"] == other["questions"]
    (False, True)
    """
    parts = dict(_parts(golden))
    questions = _digest((name, part) for name, part in parts.items() if name != "documents")
    version = {"name": golden.name, "version": golden.version}
    return {**version, "fingerprint": _digest(parts.items()), "questions": questions}


def _digest(parts: Iterable[tuple[str, bytes]]) -> str:
    digest = hashlib.sha256()
    for _, part in parts:
        digest.update(part)
    return f"sha256:{digest.hexdigest()}"


def _parts(golden: GoldenSet) -> Iterator[tuple[str, bytes]]:
    """Give each field of the content with its digests."""
    for field in fields(golden):
        if field.name in _LISTS:
            rows: Iterable[Any] = (_plain(row) for row in getattr(golden, field.name))
        elif field.name not in _DESCRIPTION:
            rows = [_plain(getattr(golden, field.name))]
        else:
            continue
        # Each row by a digest of its own: sorting a million short digests needs no room for a million texts.
        found = sorted(hashlib.sha256(json.dumps(row, sort_keys=True).encode()).digest() for row in rows)
        yield field.name, f"{field.name} {len(found)}\n".encode() + b"".join(found)


def _plain(value: Any) -> Any:
    """Give a value as JSON has it, without what is empty, so that a new field of the model changes nothing."""
    if hasattr(value, "__slots__"):
        plain = {name: _plain(getattr(value, name)) for name in value.__slots__ if name != "path"}
        return {name: part for name, part in plain.items() if part not in ("", None, [], {})}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, dict) else value
