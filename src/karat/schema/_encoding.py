"""Documents as JSON text."""

from __future__ import annotations

import json
from typing import Any

import msgspec


def to_json(document: Any, *, indent: int | None = None) -> str:
    """Return a document as JSON on one line, or indented; NaN and infinity raise ValueError.

    >>> from karat.schema import SystemChange
    >>> to_json(SystemChange(key="chunk.size", now=384, was=512))
    '{"key": "chunk.size", "now": 384, "was": 512}'
    """
    return json.dumps(to_plain(document), allow_nan=False, indent=indent)


def to_plain(document: Any) -> Any:
    """Return a document as dicts, lists and the other types that JSON has."""
    return msgspec.to_builtins(document, enc_hook=_builtin)


def _builtin(value: Any) -> Any:
    """Return a subclass of a JSON type, such as NumPy's float64, as that type."""
    for kind in (float, int, str):
        if isinstance(value, kind):
            return kind(value)
    raise NotImplementedError(f"{type(value).__name__} has no place in JSON")
