"""Records as columns: a Parquet file has those of one day, or a part of them."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from karat.core import InputError
from karat.files import open_file, replace_file
from karat.measures import refuse_bomb
from karat.online._records import LoggedEvent, LoggedQuery, Record

HIT_TYPE = pl.Struct(
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
    "hits": pl.List(HIT_TYPE),
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


HOME = "home"
"""The column with the key of the session that a record belongs to, by which records are brought together."""
_PIECE = 5_000  # so many records are objects at a time


def write_rows(path: Path, records: Iterable[tuple[Record, str]]) -> None:
    """Write records of one kind, each with its home: a column for each field, and ``at``, the time as a timestamp."""
    pairs, frames = iter(records), list[pl.DataFrame]()
    while piece := list(islice(pairs, _PIECE)):
        frames.append(_make_frame(piece))
    data = io.BytesIO()  # Polars would report a full disk as an error of its own
    pl.concat(frames).write_parquet(data)
    with replace_file(path, private=True) as file:
        file.write(data.getbuffer())


def _make_frame(pairs: Sequence[tuple[Record, str]]) -> pl.DataFrame:
    names = pairs[0][0].__struct_fields__
    columns = {name: [_plain(name, getattr(record, name)) for record, _ in pairs] for name in names}
    columns[HOME] = [home for _, home in pairs]
    frame = pl.DataFrame(columns, schema={name: _TYPES.get(name, pl.String) for name in columns})
    at = pl.from_epoch((pl.col("time") * 1_000_000).round().cast(pl.Int64), time_unit="us").dt.replace_time_zone("UTC")
    return frame.with_columns(at.alias("at"))


def _plain(name: str, value: Any) -> Any:
    if name in _AS_JSON:
        return msgspec.json.encode(value).decode()
    if name == "hits":
        return [{field: getattr(hit, field) for field in hit.__struct_fields__} for hit in value]
    return value


def read_rows(path: Path, kind: str) -> Iterator[Record]:
    """Yield the records of a file that :func:`write_rows` wrote: ``query`` or ``event``."""
    record: type[LoggedQuery | LoggedEvent] = LoggedQuery if kind == "query" else LoggedEvent
    names = record.__struct_fields__
    with open_file(path) as file:
        refuse_bomb(file, str(path), names)
    try:
        frame = pl.read_parquet(path, columns=list(names), glob=False)
        for row in frame.iter_rows():
            yield msgspec.convert([kind, *map(_to_value, names, row)], record)
    except (pl.exceptions.PolarsError, OSError, msgspec.MsgspecError) as error:
        problem = " ".join(str(error).split())
        raise InputError(f"is not a file of records that karat exported: {problem}", source=str(path)) from None


def _to_value(name: str, value: Any) -> Any:
    """Return what is in a cell as the positions of a record have it."""
    if name in _AS_JSON:
        return msgspec.json.decode(value)
    return [list(hit.values()) for hit in value] if name == "hits" else value
