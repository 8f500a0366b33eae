"""Readers for large inputs and tables, which yield Polars frames piece by piece."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from karat.core import InputError
from karat.files import BOM
from karat.measures._alignment import Ints, Judgments
from karat.measures._columns import LARGEST_GRADE, Kind, bad_value, duplicate, find_columns
from karat.measures._files import Source
from karat.measures._parquet_size import group_sizes, refuse_bomb
from karat.measures._stream import ROWS, Frames, NotUnderstood, Piece, block_starts, hashes, refuse_duplicates

_CHUNK = 4 * 2**20  # bytes of text: among the fastest of 0.5 to 32, and small enough for the allocator to reuse
_CACHED = 2**18  # bytes that stay in the cache between passes: four times as fast as whole pieces
_MOST_OF_GROUP, _LEAST_OF_GROUP = 8 * ROWS, ROWS // 16  # rows
_TREC_SCHEMA: dict[Kind, dict[str, Any]] = {
    "qrels": {"query": pl.String, "iteration": pl.String, "document": pl.String, "value": pl.Int64},
    "run": dict.fromkeys(("query", "q0", "document", "rank"), pl.String) | {"value": pl.Float64, "tag": pl.String},
}
_WANTED = ["query", "document", "value"]
_DAMAGED = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, MemoryError)
_VISIBLE = bytes(range(33, 256))
_TABS_TO_BLANKS = bytes.maketrans(b"\t", b" ")


def trec_frames(source: Source, kind: Kind) -> Frames:
    """Return a reader of a large TREC file; it raises :class:`NotUnderstood` on irregular text."""
    return lambda: _trec_frames(source, kind)


def parquet_frames(source: Source, kind: Kind) -> Frames:
    """Return a reader of a Parquet file."""
    try:
        lazy = pl.scan_parquet(source.path if source.path is not None else io.BytesIO(source.data or b""), glob=False)
        names = lazy.collect_schema().names()
        rows = lazy.select(pl.len()).collect().item()
    except _DAMAGED as error:
        raise InputError(f"is not a valid Parquet file: {_first_line(error)}", source=source.name) from None
    columns = find_columns(names, kind, source.name)
    with source.open() as file:
        refuse_bomb(file, source.name, columns)
    sizes = group_sizes(source)
    lazy = _three_columns(lazy, columns, source.name)

    def frames() -> Iterator[pl.DataFrame]:
        read = 0
        for piece in _checked(_batches(lazy, sizes), kind, source.name):
            read += len(piece)
            yield piece
        if read < rows:  # Polars leaves out what it cannot read, and does not say so
            hint = "the file is damaged"
            raise InputError(f"only {read} of {rows} rows can be read", source=source.name, hint=hint)

    return frames


def _batches(lazy: pl.LazyFrame, sizes: Sequence[int]) -> Iterator[pl.DataFrame]:
    """Yield the rows of a Parquet file, some row groups at a time.

    Polars would read further ahead, and take a quarter more time. Row groups of another size are left to it: a part of
    a large one costs as much as all of it, and very many small ones are found again for each piece.
    """
    if not sizes or max(sizes) > _MOST_OF_GROUP or sum(sizes) < _LEAST_OF_GROUP * len(sizes):
        yield from lazy.collect_batches(chunk_size=ROWS, maintain_order=True)
        return
    start = rows = 0
    for place, size in enumerate(sizes, 1):
        rows += size
        if rows >= ROWS or place == len(sizes):
            yield lazy.slice(start, rows).collect()
            start, rows = start + rows, 0


def table_frames(table: Any, kind: Kind, source: str) -> Frames:
    """Return a reader of a Polars, pandas or Arrow table."""
    if isinstance(table, pl.LazyFrame):
        table = table.collect()
    if isinstance(table, pl.DataFrame):
        wanted = find_columns(table.columns, kind, source)
    else:
        names = table.column_names if hasattr(table, "column_names") else table.columns
        wanted = find_columns([str(name) for name in names], kind, source)
        table = pl.DataFrame({name: _series(table[name]) for name in wanted})
    frame = _three_columns(table.lazy(), wanted, source).collect()
    return lambda: _checked(frame.iter_slices(ROWS), kind, source)


def _series(column: Any) -> pl.Series:
    """Convert a column of pandas or Arrow to a series of Polars."""
    if hasattr(column, "to_pylist"):
        series = pl.from_arrow(column)
        assert isinstance(series, pl.Series)
        return series
    if column.dtype.kind in "iuf":
        return pl.Series(column.to_numpy(), nan_to_null=False)
    # Strings, categories and objects: pandas has several values for "missing", Polars has one.
    return pl.Series(column.astype(object).where(column.notna(), None).tolist(), strict=False)


def _three_columns(lazy: pl.LazyFrame, names: tuple[str, str, str], source: str) -> pl.LazyFrame:
    """Select the query, document and value columns, cast and renamed."""
    schema = lazy.collect_schema()
    for name in names[:2]:
        if not (schema[name].is_integer() or schema[name] in (pl.String, pl.Categorical, pl.Enum, pl.Null)):
            hint = "ids are text or whole numbers"
            raise InputError(f"column {name!r} has type {schema[name]}", source=source, hint=hint)
    if not schema[names[2]].is_numeric():
        hint = "it should hold numbers"
        raise InputError(f"column {names[2]!r} has type {schema[names[2]]}", source=source, hint=hint)
    types = (pl.String, pl.String, pl.Float64)
    return lazy.select(pl.col(name).cast(t).alias(new) for name, t, new in zip(names, types, _WANTED, strict=True))


def _checked(pieces: Iterable[pl.DataFrame], kind: Kind, source: str) -> Iterator[pl.DataFrame]:
    """Yield the pieces of a table; raise an error with the row number for a bad row."""
    row = 0
    try:
        for piece in pieces:
            _check_rows(piece, kind, source, row)
            row += len(piece)
            yield piece if kind == "run" else piece.with_columns(pl.col("value").cast(pl.Int64))
    except _DAMAGED as error:
        raise InputError(f"cannot be read: {_first_line(error)}", source=source) from None
    if not row:
        raise InputError("there are no rows", source=source)


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


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _trec_frames(source: Source, kind: Kind) -> Iterator[pl.DataFrame]:
    """Cut a TREC file into pieces of whole lines, which Polars splits into columns."""
    schema = _TREC_SCHEMA[kind]
    columns = [0, 2, 3 if kind == "qrels" else 4]
    for text in filter(None, (_regular(chunk, len(schema)) for chunk in _chunks(source))):
        try:
            frame = pl.read_csv(text, has_header=False, separator=" ", quote_char=None, schema=schema, columns=columns)
        except pl.exceptions.PolarsError:
            raise NotUnderstood from None
        if kind == "qrels" and not frame["value"].is_between(-LARGEST_GRADE, LARGEST_GRADE).all():
            raise NotUnderstood
        yield frame


def _chunks(source: Source) -> Iterator[bytes]:
    """Yield pieces that end where a line does, without the byte-order mark at the start of the file."""
    with source.open() as file:
        place = len(BOM) if file.read(len(BOM)) == BOM else 0
        while True:
            # Finding the end of the last line first lets the piece be read in one go, without a copy.
            file.seek(place + _CHUNK)
            size = _CHUNK + len(file.readline())
            file.seek(place)
            text = file.read(size)
            if not text:
                return
            if source.progress is not None:
                source.progress(len(text))
            place += len(text)
            yield text if text.endswith(b"\n") else text + b"\n"


def _regular(text: bytes, width: int) -> bytes:
    """Return text that Polars reads correctly, or raise :class:`NotUnderstood`."""
    if not _is_regular(text, width):
        text = _tidy(text)
        if text and not _is_regular(text, width):
            raise NotUnderstood
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError:
            raise NotUnderstood from None
        if text.startswith(BOM):  # Polars drops it, also where it is part of an id
            raise NotUnderstood
    return text


def _tidy(text: bytes) -> bytes:
    """Replace runs of blanks and tabs by one blank, and drop blank lines."""
    text = text.translate(_TABS_TO_BLANKS).replace(b"\r\n", b"\n")
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    text = text.replace(b" \n", b"\n").replace(b"\n ", b"\n").removeprefix(b" ")
    while b"\n\n" in text:
        text = text.replace(b"\n\n", b"\n")
    return text.removeprefix(b"\n")


def _is_regular(text: bytes, width: int) -> bool:
    """Return whether every line has ``width`` columns, with one blank between them and no other control character.

    Polars would misread any other text silently.
    """
    separators = text.translate(None, _VISIBLE)
    if separators != (b" " * (width - 1) + b"\n") * (len(separators) // width) or text[:1] <= b" ":
        return False
    characters = np.frombuffer(text, np.uint8)
    for start in range(0, len(text), _CACHED):
        separates = characters[start : start + _CACHED + 1] <= 32
        if (separates[1:] & separates[:-1]).any():  # an empty column
            return False
    return True


def frame_judgments(frames: Frames, source: str) -> Judgments:
    """Return the judgments in a streamed table."""
    pieces = list(frames())
    if not pieces:
        raise NotUnderstood
    frame, starts = _sort_queries(pl.concat(pieces, rechunk=True))
    refuse_duplicates(frame, hashes(frame["document"], 0), np.diff(starts, append=len(frame)), "qrels", source)
    return Judgments(
        queries=tuple(frame["query"].gather(starts).to_list()),
        starts=np.append(starts, len(frame)),
        documents=frame["document"].to_list(),
        grades=frame["value"].to_numpy().astype(np.int64),
        source=source,
    )


def _sort_queries(frame: pl.DataFrame) -> tuple[pl.DataFrame, Ints]:
    """Return the rows in order of their queries, otherwise in the order in which they are, and where each query begins.

    Rows of a query stand together nearly always. To sort queries costs a tenth of sorting rows.
    """
    starts = block_starts(frame["query"])
    queries = frame["query"].gather(starts)
    if queries.n_unique() < len(queries):
        frame = frame.sort("query", maintain_order=True)
        return frame, block_starts(frame["query"])
    order = queries.arg_sort().to_numpy()
    sizes = np.diff(starts, append=len(frame))[order]
    begins = np.cumsum(sizes) - sizes
    return frame[np.arange(len(frame)) + np.repeat(starts[order] - begins, sizes)], begins


def pieces_table(pieces: Iterable[Piece]) -> dict[str, dict[str, float]]:
    """Return a run that is held in memory as dicts."""
    table = {}
    for piece in pieces:
        documents, scores = piece.documents.to_list(), piece.scores.tolist()
        ends = np.append(piece.starts[1:], len(documents)).tolist()
        for query, start, end in zip(piece.queries, piece.starts.tolist(), ends, strict=True):
            table[query] = dict(zip(documents[start:end], scores[start:end], strict=True))
    return table


def frames_table(frames: Frames, source: str) -> dict[str, dict[str, float]]:
    """Return a streamed run as dicts."""
    table: dict[str, dict[str, float]] = {}
    for piece in frames():
        for query, document, value in piece.select(_WANTED).iter_rows():
            documents = table.setdefault(query, {})
            if document in documents:
                raise duplicate("run", query, document, source, None)
            documents[document] = value
    return table
