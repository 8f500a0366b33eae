"""Readers for large inputs and tables, which give Polars frames piece by piece."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import polars as pl

from karat.core import InputError
from karat.measures._alignment import Judgments
from karat.measures._columns import LARGEST_GRADE, Kind, bad_value, duplicate, find_columns
from karat.measures._files import Source
from karat.measures._stream import ROWS, Frames, NotUnderstood, block_starts

_CHUNK = 8 * 2**20  # bytes of text: among the fastest of 0.5 to 32, and small enough for the allocator to reuse
_CACHED = 2**18  # bytes that stay in the cache between passes: a quarter of the time of whole pieces
_TREC_SCHEMA: dict[Kind, dict[str, Any]] = {
    "qrels": {"query": pl.String, "iteration": pl.String, "document": pl.String, "value": pl.Int64},
    "run": dict.fromkeys(("query", "q0", "document", "rank"), pl.String) | {"value": pl.Float64, "tag": pl.String},
}
_WANTED = ["query", "document", "value"]
_TABS_TO_BLANKS = bytes.maketrans(b"\t", b" ")


def text_frames(source: Source, kind: Kind) -> Frames:
    """Read a large text file; raise :class:`NotUnderstood` where the exact reader should look."""
    if source.format == "trec":
        return lambda: _trec_frames(source, kind)
    return lambda: _whole_frame(source, kind).iter_slices(ROWS)


def parquet_frames(source: Source, kind: Kind) -> Frames:
    """Read a Parquet file."""
    import io

    try:
        lazy = pl.scan_parquet(source.path if source.path is not None else io.BytesIO(source.data or b""))
        names = lazy.collect_schema().names()
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise InputError(f"is no valid Parquet file: {_first_line(error)}", source=source.name) from None
    lazy = _three_columns(lazy, find_columns(names, kind, source.name), kind, source.name)
    return lambda: _checked(lazy.collect_batches(chunk_size=ROWS, maintain_order=True), kind, source.name)


def frame_frames(frame: Any, kind: Kind, source: str) -> Frames:
    """Take a Polars, pandas or Arrow table."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, pl.DataFrame):
        names = [str(name) for name in (frame.column_names if hasattr(frame, "column_names") else frame.columns)]
        wanted = find_columns(names, kind, source)
        frame = pl.DataFrame({name: _series(frame[name]) for name in wanted})
    wanted = find_columns(frame.columns, kind, source)
    frame = _three_columns(frame.lazy(), wanted, kind, source).collect()
    return lambda: _checked(frame.iter_slices(ROWS), kind, source)


def _series(column: Any) -> pl.Series:
    """Convert a column of pandas or Arrow."""
    if hasattr(column, "to_pylist"):
        series = pl.from_arrow(column)
        assert isinstance(series, pl.Series)
        return series
    values = column.to_numpy()
    return pl.Series(values.tolist() if values.dtype == object else values, strict=False, nan_to_null=False)


def _three_columns(lazy: pl.LazyFrame, names: tuple[str, str, str], kind: Kind, source: str) -> pl.LazyFrame:
    """Select the three columns that count, in the types and under the names that everything else uses."""
    dtype = lazy.collect_schema()[names[2]]
    if not dtype.is_numeric():
        raise InputError(f"column {names[2]!r} has type {dtype}", source=source, hint="it should hold numbers")
    types = (pl.String, pl.String, pl.Float64)
    return lazy.select(pl.col(name).cast(t).alias(new) for name, t, new in zip(names, types, _WANTED, strict=True))


def _checked(pieces: Iterable[pl.DataFrame], kind: Kind, source: str) -> Iterator[pl.DataFrame]:
    """Refuse what does not fit, by its row number."""
    row = 0
    try:
        for piece in pieces:
            _check_rows(piece, kind, source, row)
            row += len(piece)
            yield piece if kind == "run" else piece.with_columns(pl.col("value").cast(pl.Int64))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"cannot be read: {_first_line(error)}", source=source) from None


def _check_rows(piece: pl.DataFrame, kind: Kind, source: str, before: int) -> None:
    for name in ("query", "document"):
        column = piece[name]
        bad = column.is_null() if column.null_count() else column == ""
        if bad.any():
            raise InputError(f"row {before + (bad.arg_max() or 0) + 1} has no {name} id", source=source)
    value = piece["value"]
    good = value.is_finite().fill_null(value=False)
    if kind == "qrels":
        good &= (value == value.floor()).fill_null(value=False) & (value.abs() <= LARGEST_GRADE).fill_null(value=False)
    if not good.all():
        row = (~good).arg_max() or 0
        raise bad_value(kind, value[row], f"{source}, row {before + row + 1}", None)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _whole_frame(source: Source, kind: Kind) -> pl.DataFrame:
    """Read a large CSV, TSV or JSONL file that has named columns."""
    import io

    content: Any = source.path if source.path is not None else io.BytesIO(source.read())
    try:
        if source.format == "jsonl":
            frame = pl.read_ndjson(content)
        else:
            tabs = source.format == "tsv"
            frame = pl.read_csv(
                content, separator="\t" if tabs else ",", quote_char=None if tabs else '"', infer_schema=False
            )
        query, document, value = find_columns(frame.columns, kind, source.name)
        number = pl.Int64 if kind == "qrels" else pl.Float64
        frame = frame.select(
            pl.col(query).cast(pl.String).alias("query"),
            pl.col(document).cast(pl.String).alias("document"),
            pl.col(value).cast(number, strict=True).alias("value"),
        )
    except (pl.exceptions.PolarsError, InputError, OSError):
        raise NotUnderstood from None
    # Blanks around a cell, empty cells and odd numbers are for the exact reader to judge.
    ids = pl.concat([frame["query"], frame["document"]])
    odd = frame.null_count().sum_horizontal()[0] or (ids == "").any() or ids.str.contains(r"^\s|\s$").any()
    if odd or not frame["value"].is_finite().all():
        raise NotUnderstood
    return frame


def _trec_frames(source: Source, kind: Kind) -> Iterator[pl.DataFrame]:
    """Cut a TREC file into pieces of whole lines, and let Polars split them into columns."""
    schema = _TREC_SCHEMA[kind]
    for text in _chunks(source):
        piece = _regular(text, len(schema))
        try:
            yield pl.read_csv(
                piece,
                has_header=False,
                separator=" ",
                quote_char=None,
                schema=schema,
                columns=[0, 2, 3 if kind == "qrels" else 4],
            )
        except (pl.exceptions.PolarsError, UnicodeDecodeError):
            raise NotUnderstood from None


def _chunks(source: Source) -> Iterator[bytes]:
    buffer = bytearray(_CHUNK)
    kept = 0
    with source.open() as file:
        while True:
            if kept == len(buffer):  # a line longer than the buffer
                buffer.extend(bytes(len(buffer)))
            with memoryview(buffer) as view:
                read = file.readinto(view[kept:])  # type: ignore[attr-defined]
            if not read:
                break
            if source.progress is not None:
                source.progress(read)
            end = kept + read
            cut = buffer.rfind(b"\n", 0, end) + 1
            if cut:
                yield bytes(memoryview(buffer)[:cut])
                buffer[: end - cut] = buffer[cut:end]
            kept = end - cut
    if kept:
        yield bytes(memoryview(buffer)[:kept]) + b"\n"


def _regular(text: bytes, width: int) -> bytes:
    """Make sure that one blank stands between columns, and nothing else: Polars would read other text as other data."""
    if _is_regular(text, width):
        return text
    text = text.removeprefix(b"\xef\xbb\xbf").translate(_TABS_TO_BLANKS, b"\r")
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    text = text.replace(b" \n", b"\n").replace(b"\n ", b"\n").removeprefix(b" ")
    while b"\n\n" in text:
        text = text.replace(b"\n\n", b"\n")
    text = text.removeprefix(b"\n")
    if not _is_regular(text, width):
        raise NotUnderstood
    return text


def _is_regular(text: bytes, width: int) -> bool:
    """Say whether separators never touch, and are as many as all lines together need.

    Polars refuses a line with more columns than the schema has; so when the sum is right, every line is.
    """
    characters = np.frombuffer(text, np.uint8)
    if not len(text) or characters[0] <= 32:
        return False
    separators = lines = 0
    for start in range(0, len(text), _CACHED):
        block = characters[start : start + _CACHED + 1]
        separates = block <= 32
        if (separates[1:] & separates[:-1]).any():
            return False
        separators += int(np.count_nonzero(separates[:_CACHED]))
        lines += int(np.count_nonzero(block[:_CACHED] == 10))
    return separators == width * lines


def frame_judgments(frames: Frames, source: str) -> Judgments:
    """Bring the rows of a large table of judgments into their order."""
    frame = pl.concat(list(frames()), rechunk=True).sort("query", maintain_order=True)
    if not len(frame):
        raise InputError("the file holds no rows", source=source)
    twice = frame.select("query", "document").is_duplicated()
    if twice.any():
        row = frame.row(twice.arg_max() or 0)
        raise duplicate("qrels", row[0], row[1], source, None)
    starts = block_starts(frame["query"])
    return Judgments(
        queries=tuple(frame["query"].gather(starts).to_list()),
        starts=np.append(starts, len(frame)),
        documents=frame["document"].to_list(),
        grades=frame["value"].to_numpy().astype(np.int64),
        source=source,
    )


def frames_table(frames: Frames, source: str) -> dict[str, dict[str, float]]:
    """Give everything as dicts."""
    table: dict[str, dict[str, float]] = {}
    for piece in frames():
        for query, document, value in piece.select(_WANTED).iter_rows():
            documents = table.setdefault(query, {})
            if document in documents:
                raise duplicate("run", query, document, source, None)
            documents[document] = value
    return table
