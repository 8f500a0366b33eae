"""What else is known of queries, for scores by category, intent or type."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from os import PathLike, fspath
from typing import Any

from karat.core import InputError, did_you_mean
from karat.measures._columns import find_query_column, shorten
from karat.measures._files import Source, find
from karat.measures._text import decode, parse_json


def read_field(path: str | PathLike[str], field: str, format: str | None = None) -> dict[str, str]:
    """Read ``{query: value of a field}`` from a table of queries or judgments that has such a column.

    JSONL, a JSON list, CSV, TSV and Parquet have named columns; a BEIR ``queries.jsonl`` names its query ``_id``, and
    keeps fields of its own under ``metadata``.
    """
    source = find(fspath(path), format)
    found: dict[str, str] = {}
    for number, row in enumerate(_rows(source), 1):
        metadata = row.get("metadata")
        row = {**metadata, **row} if isinstance(metadata, Mapping) else row
        query = row.get(find_query_column(list(row), source.name))
        if field not in row:
            names = [str(name) for name in row]
            hint = did_you_mean(field, names) or f"; there are {', '.join(map(repr, names))}"
            raise InputError(f"row {number} has no field {field!r}{hint}", source=source.name)
        value = "" if row[field] is None else str(row[field])
        if found.setdefault(str(query), value) != value:
            both = f"{shorten(found[str(query)])} and {shorten(value)}"
            raise InputError(f"query {shorten(query)} has two values of {field!r}: {both}", source=source.name)
    return found


def _rows(source: Source) -> Iterator[Mapping[str, Any]]:
    match source.format:
        case "parquet":
            import polars

            yield from polars.read_parquet(source.path or io.BytesIO(source.read())).iter_rows(named=True)
        case "csv" | "tsv":
            text = io.StringIO(decode(source.read(), source.name), newline="")
            yield from csv.DictReader(text, delimiter="," if source.format == "csv" else "\t")
        case "jsonl":
            for number, line in enumerate(decode(source.read(), source.name).split("\n"), 1):
                if line.strip():
                    yield _object(parse_json(line, source.name, number), source, number)
        case "json":
            listed = parse_json(decode(source.read(), source.name), source.name)
            if not isinstance(listed, list):
                raise InputError("is no list of records", source=source.name, hint="give a table with named columns")
            for number, item in enumerate(listed, 1):
                yield _object(item, source, number)
        case "trec":
            raise InputError(
                "TREC files have no named columns",
                source=source.name,
                hint="give a JSONL, CSV, TSV or Parquet file (--queries)",
            )


def _object(value: object, source: Source, number: int) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{shorten(value)} is no record", source=f"{source.name}, item {number}")
    return value
