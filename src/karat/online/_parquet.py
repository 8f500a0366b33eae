"""Records as columns: a Parquet file has those of one day, or a part of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from karat.core import InputError
from karat.files import replace_file
from karat.online._records import LoggedEvent, LoggedQuery, Record

_HIT = pl.Struct(
    {
        "document": pl.String,
        "rank": pl.Int64,
        "score": pl.Float64,
        "channels": pl.List(pl.String),
        "span": pl.List(pl.Int64),
        "section": pl.String,
        "chunk": pl.String,
    }
)
_TYPES: dict[str, Any] = {
    "time": pl.Float64,
    "hits": pl.List(_HIT),
    "citations": pl.List(pl.String),
    "latency": pl.Float64,
    "weight": pl.Float64,
    "quality": pl.Float64,
    "value": pl.Float64,
    "rank": pl.Int64,
    "count": pl.Int64,
}
_AS_JSON = ("channels", "stages", "weights", "attributes", "flags")
"""Mappings with any names: a column of JSON."""


def write_rows(path: Path, records: Sequence[Record]) -> None:
    """Write records of one kind, with a column for each field; ``at`` is the time as a timestamp."""
    names = records[0].__struct_fields__
    columns = {name: [_plain(name, getattr(record, name)) for record in records] for name in names}
    frame = pl.DataFrame(columns, schema={name: _TYPES.get(name, pl.String) for name in names})
    at = pl.from_epoch((pl.col("time") * 1_000_000).round().cast(pl.Int64), time_unit="us").dt.replace_time_zone("UTC")
    with replace_file(path, private=True) as file:
        frame.with_columns(at.alias("at")).write_parquet(file)


def _plain(name: str, value: Any) -> Any:
    if name in _AS_JSON:
        return msgspec.json.encode(value).decode()
    if name == "hits":
        return [{field: getattr(hit, field) for field in hit.__struct_fields__} for hit in value]
    return value


def read_rows(path: Path, kind: str) -> list[Record]:
    """Return the records of a file that :func:`write_rows` wrote: ``query`` or ``event``."""
    record: type[LoggedQuery | LoggedEvent] = LoggedQuery if kind == "query" else LoggedEvent
    names = record.__struct_fields__
    try:
        frame = pl.read_parquet(path, columns=list(names))
        return [msgspec.convert([kind, *map(_to_value, names, row)], record) for row in frame.iter_rows()]
    except (pl.exceptions.PolarsError, OSError, msgspec.MsgspecError) as error:
        problem = " ".join(str(error).split())
        raise InputError(f"is not a file of records that karat exported: {problem}", source=str(path)) from None


def _to_value(name: str, value: Any) -> Any:
    """Return what is in a cell as the positions of a record have it."""
    if name in _AS_JSON:
        return msgspec.json.decode(value)
    return [list(hit.values()) for hit in value] if name == "hits" else value
