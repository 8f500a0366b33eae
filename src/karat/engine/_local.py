"""The engine that is this process: rows are streamed, and brought together on the disk if they are too many."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from karat.engine._groups import PIECE, cut_groups, find_starts
from karat.engine._operation import Operation, Source, require_columns, require_schema
from karat.engine._parquet import ParquetFile, list_files, merge_schemas, read_rows, refuse_large
from karat.engine._spill import Spill
from karat.files import new_folder

MEMORY = 1 << 30
"""Bytes of rows in memory, unless somebody sets another number."""
_PARTS_IN_MEMORY = 4
"""A part, its sorted copy, a piece of it for the kernel, and what the kernel makes of it."""
_MOST_GROUPS = 1 << 24
"""Groups whose hashes are held while looking whether rows of a group are together: 128 MB."""


class LocalEngine:
    """Runs operations in this process, with about ``memory`` bytes of rows at a time; ``folder`` is for the rest.

    Rows that lie in the files group by group are streamed. Others are brought together first: in memory if there are
    few, or else in a temporary file. A single group has to fit into the memory.
    """

    address = "local"

    def __init__(self, *, memory: int = MEMORY, folder: Path | None = None) -> None:
        self.memory, self.folder = memory, folder

    def read_schema(self, paths: tuple[str, ...]) -> dict[str, Any]:
        """Return the columns of files, each with its Polars type; null for a column of a folder's name."""
        return merge_schemas(list_files(paths))

    def process(self, operation: Operation, source: Source) -> Iterator[pl.DataFrame]:
        """Yield the partial results of an operation, in no particular order."""
        every = list_files(source.paths)
        files = [file for file in every if file.may_have(operation, source)]
        schema = merge_schemas(files)
        if not {source.name_of(column) for column in operation.columns} <= schema.keys():
            schema = merge_schemas(every)  # what only other files have is null in these
        require_columns(schema, operation, source)
        refuse_large(files, operation, source)
        for part in self._arrange(files, operation, source):
            for frame in operation.kernel(part):
                yield require_schema(frame, operation)

    def close(self) -> None:
        """Do nothing: temporary files end with the operation that needs them."""

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _arrange(
        self, files: list[ParquetFile], operation: Operation, source: Source
    ) -> Iterator[Iterator[pl.DataFrame]]:
        """Yield the parts, each as frames of whole groups, sorted."""
        frames = read_rows(files, operation, source, PIECE)
        first = next((frame for frame in frames if len(frame)), None)
        if first is None:
            return
        rows = sum(file.count_rows() for file in files)
        parts = math.ceil(rows * first.estimated_size() / len(first) * _PARTS_IN_MEMORY / self.memory)
        frames = chain([first], frames)
        if parts > 1 and is_grouped(frame[operation.key] for frame in self._read_keys(files, operation, source)):
            yield (_sort(piece, operation) for piece in cut_groups(frames, operation.key))
        elif parts > 1:
            yield from self._shuffle(frames, operation, parts)
        else:
            yield cut_groups(_sort(pl.concat(list(frames)), operation).iter_slices(PIECE), operation.key)

    def _read_keys(self, files: list[ParquetFile], operation: Operation, source: Source) -> Iterator[pl.DataFrame]:
        """Yield the column of the keys alone."""
        wanted = {operation.key: operation.columns[operation.key]}
        keys = Operation(name=operation.name, key=operation.key, columns=wanted, schema={}, kernel=operation.kernel)
        return read_rows(files, keys, source, PIECE)

    def _shuffle(
        self, frames: Iterable[pl.DataFrame], operation: Operation, parts: int
    ) -> Iterator[Iterator[pl.DataFrame]]:
        """Bring the rows of each key together, by way of a temporary file."""
        with new_folder(self.folder or Path(tempfile.gettempdir())) as folder:
            spill = Spill(folder / "rows", parts, self.memory // _PARTS_IN_MEMORY)
            with closing(spill):
                for frame in frames:
                    spill.add(frame, frame[operation.key].hash() % parts)
                for part in range(parts):
                    if (rows := spill.take(part)) is not None:
                        yield cut_groups(_sort(rows, operation).iter_slices(PIECE), operation.key)


def is_grouped(columns: Iterable[pl.Series]) -> bool:
    """Return whether equal values stand together; False also if there are too many different ones to be sure."""
    hashes: list[np.ndarray[Any, np.dtype[np.uint64]]] = []
    groups, last = 0, None
    for column in columns:
        if column.is_empty():
            continue
        hashed = column.hash()
        starts = find_starts(column) + 1
        first = [] if last is not None and column[:1].eq_missing(last).all() else [0]
        begun = hashed.gather(pl.concat([pl.Series(first, dtype=starts.dtype), starts])).to_numpy()
        hashes.append(begun)
        groups, last = groups + len(begun), column[-1:]
        if groups > _MOST_GROUPS:
            return False
    ordered = np.sort(np.concatenate(hashes)) if hashes else np.empty(0, np.uint64)
    return not bool((ordered[1:] == ordered[:-1]).any())


def _sort(frame: pl.DataFrame, operation: Operation) -> pl.DataFrame:
    return frame.sort(operation.sorting, nulls_last=False)
