"""The document itself, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice

import msgspec

from karat.schema import DecisionDocument, QueryRow, to_plain

_ROWS = 1_000
"""Queries that are plain data at a time: all at once would take several times as much memory as the document."""
_encode = json.JSONEncoder(allow_nan=False).encode


def render_json(document: DecisionDocument) -> str:
    """Return the document as one line of ASCII; ``karat report --schema`` describes it."""
    plain = to_plain(msgspec.structs.replace(document, queries=()))
    fields = (
        f"{_encode(name)}: {_encode_rows(document.queries) if name == 'queries' else _encode(value)}"
        for name, value in plain.items()
    )
    return f"{{{', '.join(fields)}}}\n"


def _encode_rows(queries: Iterable[QueryRow]) -> str:
    rows = iter(queries)
    pieces = iter(lambda: _encode(to_plain(tuple(islice(rows, _ROWS))))[1:-1], "")
    return f"[{', '.join(pieces)}]"
