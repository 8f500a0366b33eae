"""Files that tracing tools export: spans, and what people said of them, from JSON, CSV and Parquet."""

from __future__ import annotations

import ast
import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from karat.core import InputError, shorten
from karat.files import decode
from karat.traces.spans import (
    Span,
    SpanEvaluation,
    holds_spans,
    parse_text,
    read_iso,
    read_score_row,
    read_value,
    read_values,
)

KINDS = ("ubi", "otlp", "phoenix", "langfuse", "mlflow")
_PARQUET, _JSON = b"PAR1", (b"{", b"[")
_TRACE = "context.trace_id"
_LONGEST = 1 << 24  # characters of a cell
_Values = Iterable[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """An evaluation, with what it is about."""

    id: str
    trace: str
    """Empty if the file names the span alone."""
    span: str
    evaluation: SpanEvaluation


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanFile:
    """What a file holds."""

    name: str
    kind: str
    spans: tuple[Span, ...]
    scores: tuple[Score, ...]


def find_file_kind(data: bytes, name: str) -> str:
    """Return which of ``KINDS`` a file is by its first record; empty if that is none of them."""
    return _find_kind(next(_read_rows(data, name), {}))


def _find_kind(row: Mapping[str, Any]) -> str:
    data = row.get("data")
    inside = data[0] if isinstance(data, list) and data and isinstance(data[0], dict) else row
    if row.keys() & {"resourceSpans", "resource_spans"}:
        return "otlp"
    if "info" in row and isinstance(data, dict):
        return "mlflow"
    if _TRACE in inside or isinstance(inside.get("context"), dict) or _is_annotation(inside):
        return "phoenix"
    if "observations" in row or "traceId" in inside:
        return "langfuse"
    return "ubi" if row.keys() & {"user_query", "action_name"} else ""


def read_span_file(data: bytes, name: str) -> SpanFile:
    """Return the spans and scores of a file."""
    spans: list[Span] = []
    scores: list[Score] = []
    kind = ""
    for row in _read_rows(data, name):
        kind = kind or _find_kind(row)
        scores += _list_scores(row, name)
        if holds_spans(row):
            spans += read_value(row, name)
        elif not _is_score(row):
            known = ", ".join(sorted(map(str, row))[:8])
            raise InputError(f"holds a record that is neither a span nor a score: {shorten(known)}", source=name)
    return SpanFile(name=name, kind=kind, spans=tuple(spans), scores=tuple(scores))


def _read_rows(data: bytes, name: str) -> Iterator[Mapping[str, Any]]:
    """Yield the records of a file, whichever form it has."""
    start = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n")
    if data.startswith(_PARQUET):
        values: Iterable[Any] = _read_parquet(data, name)
    elif start.startswith(_JSON):
        values = _flatten_lists(read_values(io.BytesIO(data), name))
    else:
        values = _read_csv(data, name)
    for value in values:
        if not isinstance(value, dict):
            raise InputError("holds something that is not a span", source=name)
        yield from _transpose(value) if isinstance(value.get(_TRACE), dict) else [value]


def _flatten_lists(values: Iterable[object]) -> Iterator[object]:
    for value in values:
        if isinstance(value, list):
            yield from value
        else:
            yield value


def _transpose(columns: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a data frame that was written by its columns, as pandas does unless it is told otherwise."""
    for key in columns[_TRACE]:
        row = {name: cells.get(key) for name, cells in columns.items() if isinstance(cells, dict)}
        yield {"context.span_id": key, **row}


def _read_parquet(data: bytes, name: str) -> list[dict[str, Any]]:
    import polars as pl

    from karat.measures import refuse_bomb

    refuse_bomb(io.BytesIO(data), name)
    try:
        return pl.read_parquet(io.BytesIO(data)).to_dicts()
    except (pl.exceptions.PolarsError, ValueError, TypeError, OSError) as error:
        raise InputError(f"is no Parquet that can be read: {shorten(str(error))[1:-1]}", source=name) from None


def _read_csv(data: bytes, name: str) -> list[dict[str, Any]]:
    limit = csv.field_size_limit(_LONGEST)  # it is that of the whole process
    try:
        return list(_read_csv_rows(data, name))
    finally:
        csv.field_size_limit(limit)


def _read_csv_rows(data: bytes, name: str) -> Iterator[dict[str, Any]]:
    reader = csv.DictReader(io.StringIO(decode(data, name), newline=""), strict=True)
    try:
        if not reader.fieldnames or not {*reader.fieldnames} & {_TRACE, "traceId", "span_id", "trace_id"}:
            return
        for row in reader:
            if None in row or None in row.values():
                raise InputError("has another number of cells than its head", source=name, line=reader.line_num)
            yield {key: _read_cell(text) for key, text in row.items()}
    except csv.Error as error:
        raise InputError(f"is no CSV that can be read: {error}", source=name, line=reader.line_num) from None


def _read_cell(text: str) -> Any:
    """Return a cell: JSON, a list or mapping as Python writes it (so data frames do), or the text."""
    if not text.startswith(("[", "{")):
        return text
    value = parse_text(text)
    if isinstance(value, str):
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return text
    return value


def _is_annotation(row: Mapping[str, Any]) -> bool:
    return "span_id" in row and bool(row.keys() & {"annotation_name", "annotator_kind"})


def _is_score(row: Mapping[str, Any]) -> bool:
    if isinstance(data := row.get("data"), list):
        return all(isinstance(item, dict) and _is_score(item) for item in data)
    return _is_annotation(row) or ("traceId" in row and "name" in row and bool(row.keys() & {"value", "stringValue"}))


def _list_scores(row: Mapping[str, Any], name: str) -> Iterator[Score]:
    rows = row.get("scores") if isinstance(row.get("scores"), list) else row.get("data", [row])
    for item in rows if isinstance(rows, list) else ():
        if not isinstance(item, dict) or not (_is_score(item) or (item is not row and rows is row.get("scores"))):
            continue
        try:
            time = read_iso(item.get("timestamp") or item.get("createdAt") or item.get("created_at"))
        except (ValueError, OverflowError) as error:
            raise InputError(f"holds a score whose time cannot be read: {error}", source=name) from None
        if (evaluation := read_score_row(item, time)) is not None:
            yield Score(
                id=str(item.get("id") or ""),
                trace=str(item.get("traceId") or row.get("id") or ""),
                span=str(item.get("observationId") or item.get("span_id") or ""),
                evaluation=evaluation,
            )
