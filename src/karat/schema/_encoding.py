"""Documents as JSON text."""

from __future__ import annotations

import json
from typing import Any

from karat.schema._read import to_plain


def to_json(document: Any, *, indent: int | None = None) -> str:
    """Return a document as JSON on one line, or indented; NaN and infinity raise ValueError.

    >>> from karat.schema import SystemChange
    >>> to_json(SystemChange(key="chunk.size", now=384, was=512))
    '{"key": "chunk.size", "now": 384, "was": 512}'
    """
    return json.dumps(to_plain(document), allow_nan=False, indent=indent)
