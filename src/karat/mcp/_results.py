"""Results that fit into an agent's context: bounded, without secrets, and with outside texts as data."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

import msgspec

from karat.core import count_things
from karat.net import hide_secrets

LARGEST = 60_000
"""Bytes of a document as JSON."""
_LONGEST_TEXT = 20_000
_ITEMS = (50, 20, 10, 5)
"""Items of a list that are kept, fewer and fewer until the document fits."""
_KEYS = 100
"""Keys of a table; no value of a document has so many fields."""
_CHARACTERS = (4_000, 1_000, 300, 100)


def bound_document(data: bytes) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the document of some JSON, made to fit, and how many items or characters are left out, by their path.

    >>> bound_document(b'{"runs": [1, 2]}')
    ({'runs': [1, 2]}, {})
    """
    document = msgspec.json.decode(data)
    for items, characters in zip(_ITEMS, _CHARACTERS, strict=True):
        left_out: Counter[str] = Counter()
        bounded = _bound(document, "", items, characters, left_out)
        if len(msgspec.json.encode(bounded)) <= LARGEST:
            break
    return bounded, dict(left_out)


def _bound(value: Any, path: str, items: int, characters: int, left_out: Counter[str]) -> Any:
    if isinstance(value, str):
        if len(value) > characters:
            left_out[path] += len(value) - characters
        return hide_secrets(value[:characters])
    if isinstance(value, list):
        if len(value) > items:
            left_out[path] += len(value) - items
        return [_bound(item, path, items, characters, left_out) for item in value[:items]]
    if isinstance(value, dict):
        if len(value) > _KEYS:
            left_out[path] += len(value) - _KEYS
        return {
            key: _bound(item, f"{path}.{key}".lstrip("."), items, characters, left_out)
            for key, item in islice(value.items(), _KEYS)
        }
    return value


def bound_text(text: str) -> str:
    """Return a text without secrets that is not too long; it says how much was cut."""
    text = hide_secrets(text)
    if len(text) <= _LONGEST_TEXT:
        return text
    more = count_things(len(text) - _LONGEST_TEXT, "more character", "more characters")
    return f"{text[:_LONGEST_TEXT]}\n... and {more}"
