"""The document itself, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import msgspec

from karat.schema import DecisionDocument, MoverRow, QueryRow, pack_json, to_plain

_ROWS = 1_000
"""Queries that are encoded at a time: all at once would take several times as much memory as the document."""
_encode = json.JSONEncoder(allow_nan=False).encode


def render_json(document: DecisionDocument) -> str:
    """Return the document as one line of ASCII; ``karat report --schema`` describes it."""
    return "".join(iterate_json(document))


def iterate_json(document: DecisionDocument) -> Iterator[str]:
    """Yield what :func:`render_json` returns, in pieces: of very many queries it takes hundreds of megabytes."""
    plain = to_plain(msgspec.structs.replace(document, queries=(), movers=()))
    for place, (name, value) in enumerate(plain.items()):
        yield f"{', ' if place else '{'}{_encode(name)}: "
        if name == "queries":
            yield from _encode_rows(document.queries)
        elif name == "movers":
            yield from _encode_rows(document.movers)
        else:
            yield _encode(value)
    yield "}\n"


def _encode_rows(items: Iterable[QueryRow | MoverRow]) -> Iterator[str]:
    rows, separator = iter(items), ""
    yield "["
    while some := tuple(islice(rows, _ROWS)):
        yield separator + _encode_some(some)[1:-1]
        separator = ", "
    yield "]"


def _encode_some(rows: Sequence[QueryRow | MoverRow]) -> str:
    """Return some rows as :mod:`json` encodes them, in a tenth of the time."""
    packed = pack_json(rows, _list_numbers(rows))
    return _encode(to_plain(rows)) if packed is None else packed.decode()


def _list_numbers(rows: Iterable[QueryRow | MoverRow]) -> list[float]:
    """Return the floats of some rows."""
    numbers: list[float] = []
    for row in rows:
        if isinstance(row, MoverRow):
            numbers += row.baseline, row.candidate
        else:
            numbers += [hit.score for hit in row.hits]
            numbers += *row.scores.values(), *row.baseline.values(), row.ms or 0.0
    return numbers
