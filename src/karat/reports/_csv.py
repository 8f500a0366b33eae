"""The queries as CSV: a row each, for a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from karat.reports._words import clean
from karat.schema import DecisionDocument, ExpectedRow, HitRow

_FORMULA = frozenset("=+-@\uff1d\uff0b\uff0d\uff20|%")
"""Characters that make a spreadsheet compute a cell, also in their wide forms."""
_FIELDS = ("category", "type", "intent")


def render_csv(document: DecisionDocument) -> str:
    """Return a row for each query: fields, scores, the scores of the baseline, hits and expected documents.

    The format is that of RFC 4180. Text is quoted and on one line; text that a spreadsheet would take for a formula
    begins with an apostrophe.
    """
    return "".join(",".join(map(_quote, row)) + "\r\n" for row in _rows(document))


def _rows(document: DecisionDocument) -> Iterator[list[str | float | None]]:
    names = [measure.name for measure in document.measures]
    columns = [column for name in names for column in (name, f"{name} baseline", f"{name} change")]
    heads = ("query", "text", *_FIELDS, "error", "found", "ms", *columns, "retrieved", "expected")
    yield [disarm(name) for name in heads]
    for query in document.queries:
        fields = query.fields
        row: list[str | float | None] = [disarm(query.id), disarm(query.text)]
        row += [disarm(fields.get(name, "")) for name in _FIELDS]
        row += [disarm(query.error), "no" if query.unfound or query.false_answer else "yes", query.ms]
        for name in names:
            now, was = query.scores.get(name), query.baseline.get(name)
            row += [now, was, None if now is None or was is None else now - was]
        yield [*row, _join_documents(query.hits), _join_documents(query.expected)]


def _quote(value: str | float | None) -> str:
    """Return a field: text in quotes, and a missing number as nothing, so that its column stays one of numbers."""
    if value is None:
        return ""
    return '"{}"'.format(value.replace('"', '""')) if isinstance(value, str) else str(round(value, 6) + 0.0)


def disarm(value: object) -> str:
    """Return text that no spreadsheet computes.

    >>> disarm("=1+1"), disarm("a = b")
    ("'=1+1", 'a = b')
    """
    text = clean(value)
    return f"'{text}" if text[:1] in _FORMULA else text


def _join_documents(rows: Iterable[HitRow | ExpectedRow]) -> str:
    return disarm("; ".join(clean(row.document) for row in rows))
