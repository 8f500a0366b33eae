"""Fields of queries, such as category, intent or type, by which scores can be grouped."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from os import PathLike, fspath
from typing import Any

from karat.core import InputError, check_id, did_you_mean, shorten
from karat.files import decode, parse_json, parse_json_lines
from karat.measures._columns import find_query_column
from karat.measures._files import Source, find
from karat.measures._text import delimited_rows

_Row = tuple[str, int | None, object]
"""Where a record is (file and line), and the record."""


def read_field(path: str | PathLike[str], field: str, format: str | None = None) -> dict[str, str]:
    """Read ``{query: value of a field}`` from a table of queries or judgments that has such a column.

    The table is JSONL, a JSON list, CSV, TSV or Parquet. In BEIR's ``queries.jsonl`` the query is called ``_id``, and
    further fields are under ``metadata``. A query without the field has "" there; if no query has it, that is an error.
    """
    values: dict[str, str] = {}
    lacking: InputError | None = None
    has_field = False
    for where, line, item in _rows(find(fspath(path), format)):
        record = _record(item, where, line)
        query = check_id(record[find_query_column(list(record), where, line)], where, line)
        has_field = has_field or field in record
        if field not in record and lacking is None:
            hint = did_you_mean(field, record) or f"; there are {', '.join(map(shorten, record))}"
            lacking = InputError(f"no field {shorten(field)}{hint}", source=where, line=line)
        value = "" if record.get(field) is None else str(record[field])
        if values.setdefault(query, value) != value:
            both = f"{shorten(values[query])} and {shorten(value)}"
            what = f"query {shorten(query)} has two values of {shorten(field)}: {both}"
            raise InputError(what, source=where, line=line, hint="keep one of them")
    if lacking is not None and not has_field:
        raise lacking
    return values


def _record(item: object, where: str, line: int | None) -> Mapping[str, Any]:
    if not isinstance(item, dict):
        hint = "give a table with named columns"
        raise InputError(f"{shorten(item)} is not a record", source=where, line=line, hint=hint)
    metadata = item.get("metadata")
    return {**metadata, **item} if isinstance(metadata, dict) else item


def _rows(source: Source) -> Iterator[_Row]:
    match source.format:
        case "parquet":
            return _parquet(source)
        case "csv" | "tsv":
            return _delimited(source)
        case "jsonl":
            return ((source.name, line, item) for line, item in parse_json_lines(source.read(), source.name))
        case "json":
            return _json(source)
        case "trec":
            raise InputError(
                "TREC files have no named columns",
                source=source.name,
                hint="give a JSONL, CSV, TSV or Parquet file",
            )


def _delimited(source: Source) -> Iterator[_Row]:
    rows = delimited_rows(source.read(), source)
    head, names = next(rows, (1, []))
    repeated = next((name for name in names if name and names.count(name) > 1), None)
    if repeated is not None:
        raise InputError(
            f"column {shorten(repeated)} appears twice", source=source.name, line=head, hint="rename one of them"
        )
    for line, cells in rows:
        yield source.name, line, dict(zip(names, cells, strict=True))


def _json(source: Source) -> Iterator[_Row]:
    records = parse_json(decode(source.read(), source.name), source.name)
    if not isinstance(records, list):
        raise InputError("is not a list of records", source=source.name, hint="give a table with named columns")
    for number, item in enumerate(records, 1):
        yield f"{source.name}, item {number}", None, item


def _parquet(source: Source) -> Iterator[_Row]:
    import polars

    from karat.measures._parquet_size import refuse_bomb

    with source.open() as file:
        refuse_bomb(file, source.name)
    try:
        frame = polars.read_parquet(source.path or io.BytesIO(source.read()), glob=False)
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException, OSError) as error:
        what = f"is not a valid Parquet file: {str(error).strip().splitlines()[0]}"
        raise InputError(what, source=source.name) from None
    for number, record in enumerate(frame.iter_rows(named=True), 1):
        yield f"{source.name}, row {number}", None, record
