"""The queries as CSV: a row each, for a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from karat.reports._words import plain

_FORMULA = frozenset("=+-@\uff1d\uff0b\uff0d\uff20|%")
"""What makes a spreadsheet compute a cell, also in their wide forms."""
_FIELDS = ("category", "type", "intent")


def render_csv(document: Mapping[str, Any]) -> str:
    """Give a row for each query: what it is, its scores with those of the baseline, what came and what was expected.

    It is as RFC 4180 says. Text is quoted and on one line; text that a spreadsheet would take for a formula begins with
    an apostrophe.
    """
    return "".join(",".join(map(_field, row)) + "\r\n" for row in _rows(document))


def _rows(document: Mapping[str, Any]) -> Iterator[list[str | float | None]]:
    names = [one["name"] for one in document["measures"]]
    columns = [column for name in names for column in (name, f"{name} baseline", f"{name} change")]
    yield [
        cell(name) for name in ("query", "text", *_FIELDS, "error", "found", "ms", *columns, "retrieved", "expected")
    ]
    for query in document["queries"]:
        row: list[str | float | None] = [cell(query[name]) for name in ("id", "text")]
        row += [cell(query.get(field, "")) for field in _FIELDS]
        row += [cell(query["error"]), "no" if query["unfound"] else "yes", query["ms"]]
        for name in names:
            now, was = query["scores"].get(name), query["baseline"].get(name)
            row += [now, was, None if now is None or was is None else now - was]
        yield [*row, _ids(query["hits"]), _ids(query["expected"])]


def _field(value: str | float | None) -> str:
    """Quote text, also none; a number that is not there is an empty field, so that its column is one of numbers."""
    if value is None:
        return ""
    return '"{}"'.format(value.replace('"', '""')) if isinstance(value, str) else str(round(value, 6) + 0.0)


def cell(value: object) -> str:
    """Give text that no spreadsheet computes.

    >>> cell("=1+1"), cell("a = b")
    ("'=1+1", 'a = b')
    """
    text = plain(value)
    return f"'{text}" if text[:1] in _FORMULA else text


def _ids(ones: list[Mapping[str, Any]]) -> str:
    return cell("; ".join(plain(one["document"]) for one in ones))
