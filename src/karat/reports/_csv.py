"""The queries as CSV: a row each, for a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from karat.reports._words import plain

_FORMULA = frozenset("=+-@\uff1d\uff0b\uff0d\uff20|%")
"""What makes a spreadsheet compute a cell, also in their wide forms."""
_FIELDS = ("category", "type", "intent")


def render_csv(document: Mapping[str, Any]) -> str:
    """Give a row for each query: what it is, its scores with those of the baseline, what came and what was expected.

    Text is quoted and on one line; text that a spreadsheet would take for a formula begins with an apostrophe.
    """
    names = [one["name"] for one in document["measures"]]
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    columns = [column for name in names for column in (name, f"{name} baseline", f"{name} change")]
    head = ["query", "text", *_FIELDS, "error", "found", "ms", *columns, "retrieved", "expected"]
    writer.writerow([cell(name) for name in head])
    for query in document["queries"]:
        row: list[Any] = [cell(query["id"]), cell(query["text"]), *(cell(query.get(field, "")) for field in _FIELDS)]
        row += [cell(query["error"]), "no" if query["unfound"] else "yes", _number(query["ms"])]
        for name in names:
            now, was = query["scores"].get(name), query["baseline"].get(name)
            row += [_number(now), _number(was), _number(None if now is None or was is None else now - was)]
        row += [_ids(query["hits"]), _ids(query["expected"])]
        writer.writerow(row)
    return out.getvalue()


def cell(value: object) -> str:
    """Give text that no spreadsheet computes.

    >>> cell("=1+1"), cell("a = b")
    ("'=1+1", 'a = b')
    """
    text = plain(value)
    return f"'{text}" if text[:1] in _FORMULA else text


def _ids(ones: list[Mapping[str, Any]]) -> str:
    return cell("; ".join(plain(one["document"]) for one in ones))


def _number(value: float | None) -> float | str:
    return "" if value is None else round(value, 6) + 0.0
