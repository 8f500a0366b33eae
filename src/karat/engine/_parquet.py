"""Rows of Parquet files, read in this process piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

import polars as pl

from karat.core import InputError, UsageError
from karat.engine._operation import Operation, Source
from karat.files import open_file
from karat.measures import refuse_bomb

ENDINGS = (".parquet", ".pq")
T = TypeVar("T")

_NULL = "__HIVE_DEFAULT_PARTITION__"
_DAMAGED = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, MemoryError)


@dataclass(frozen=True, kw_only=True)
class ParquetFile:
    """A file, and the values that the names of its folders give to all of its rows."""

    path: Path
    values: Mapping[str, str | None]

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The columns, each with its type; null for those of folders."""
        columns = _access(self.path, lambda: dict(pl.read_parquet_schema(self.path)))
        return columns | dict.fromkeys(self.values, pl.Null())

    def count_rows(self) -> int:
        """Return how many rows the file says that it has."""
        return int(_access(self.path, lambda: pl.scan_parquet(self.path, glob=False).select(pl.len()).collect().item()))

    def scan(self, operation: Operation, source: Source) -> pl.LazyFrame:
        """Return the rows that an operation reads, in its columns."""
        types = _types(operation, source)
        rows = pl.scan_parquet(self.path, glob=False).select(
            self._column(source.name_of(column), type_).alias(column) for column, type_ in types.items()
        )
        return rows.filter(*_limits(source.within)).select(list(operation.columns))

    def _column(self, name: str, type_: Any) -> pl.Expr:
        is_own = name in self.schema and name not in self.values
        return pl.col(name).cast(type_) if is_own else _parse(self.values.get(name), type_)

    def may_have(self, operation: Operation, source: Source) -> bool:
        """Return whether rows may lie within the limits of the source, by the names of the folders."""
        known = {
            column: self.values[name] for column in source.within if (name := source.name_of(column)) in self.values
        }
        types = _types(operation, source)
        values = [_parse(value, types[column]).alias(column) for column, value in known.items()]
        row = _access(self.path, lambda: pl.select(values))
        limits = {column: source.within[column] for column in known}
        return not known or not row.filter(*_limits(limits)).is_empty()


def list_files(paths: tuple[str, ...]) -> list[ParquetFile]:
    """Return the files that paths stand for, in the order of the paths and of the names in a folder."""
    return [file for path in paths for file in _list_path(path)]


def _list_path(path: str) -> Iterator[ParquetFile]:
    if "://" in path:
        hint = "give --engine spark://HOST:PORT"
        raise UsageError(f"{path}: this process reads files and folders only; for other addresses {hint}")
    folder = Path(path)
    if not folder.is_dir():
        open_file(folder).close()  # it is there, and it is a file
        yield ParquetFile(path=folder, values={})
        return
    files = list(_walk(folder, {}))
    if not files:
        hint = "files end in .parquet, in this folder or in folders named column=value"
        raise InputError("there are no Parquet files in this folder", source=path, hint=hint)
    yield from files


def _walk(
    folder: Path, values: Mapping[str, str | None], above: tuple[tuple[int, int], ...] = ()
) -> Iterator[ParquetFile]:
    identity = folder.stat()
    within = (*above, (identity.st_dev, identity.st_ino))
    if within[-1] in above:
        raise InputError("this folder is a link to one that it lies in", source=str(folder), hint="remove it")
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith((".", "_")):  # what is being written, and marks that it was
            continue
        if entry.is_dir():
            column, equals, value = entry.name.partition("=")
            if equals:
                own = {unquote(column): None if value == _NULL else unquote(value)}
                yield from _walk(entry, {**values, **own}, within)
        elif entry.suffix in ENDINGS:
            open_file(entry).close()  # Polars would wait for a pipe
            yield ParquetFile(path=entry, values=values)


def merge_schemas(files: list[ParquetFile]) -> dict[str, Any]:
    """Return the columns of all files, each with its type in the first file that has it."""
    schema: dict[str, Any] = {}
    for file in files:
        schema = {**file.schema, **schema}
    return schema


def read_rows(files: list[ParquetFile], operation: Operation, source: Source, rows: int) -> Iterator[pl.DataFrame]:
    """Yield the rows of files in the columns of an operation, about ``rows`` at a time."""
    for file in files:
        yield from _read_file(file, file.scan(operation, source), rows, is_whole=not source.within)


def _read_file(file: ParquetFile, lazy: pl.LazyFrame, rows: int, *, is_whole: bool) -> Iterator[pl.DataFrame]:
    expected, count = file.count_rows(), 0
    batches = _access(file.path, lambda: lazy.collect_batches(chunk_size=rows, maintain_order=True))
    while (batch := _access(file.path, lambda: next(batches, None))) is not None:
        count += len(batch)
        yield batch
    if count < expected and is_whole:  # Polars leaves out what it cannot read, and does not say so
        hint = "the file is damaged"
        raise InputError(f"only {count} of {expected} rows can be read", source=str(file.path), hint=hint)


def refuse_large(files: list[ParquetFile], operation: Operation, source: Source) -> None:
    """Raise an InputError for a file whose columns unpack to more bytes than karat reads."""
    names = {source.name_of(column) for column in operation.columns}
    for file in files:
        with open_file(file.path) as content:
            refuse_bomb(content, str(file.path), names)


def _parse(text: str | None, type_: Any) -> pl.Expr:
    """Return the value of a folder's name."""
    value = pl.lit(text, pl.String)
    return value.str.to_date("%Y-%m-%d") if type_ == pl.Date else value.cast(type_)


def _types(operation: Operation, source: Source) -> dict[str, Any]:
    """Return the types of the columns of an operation, and of those that only have limits."""
    limited = {column: pl.Series(limits).dtype for column, limits in source.within.items()}
    return {**limited, **operation.columns}


def _limits(within: Mapping[str, tuple[Any, Any]]) -> list[pl.Expr]:
    low = [pl.col(column) >= limits[0] for column, limits in within.items() if limits[0] is not None]
    return low + [pl.col(column) < limits[1] for column, limits in within.items() if limits[1] is not None]


def _access(path: Path, action: Callable[[], T]) -> T:
    """Return what an action on a file returns; raise InputError if the file is damaged or has other values."""
    try:
        return action()
    except _DAMAGED as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"cannot be read as Parquet: {reason}", source=str(path)) from None
