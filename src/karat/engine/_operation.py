"""What an engine runs: a function of the rows of each key, over rows that lie in Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from karat.core import InputError

if TYPE_CHECKING:
    import polars as pl

Kernel: TypeAlias = "Callable[[Iterator[pl.DataFrame]], Iterable[pl.DataFrame]]"
"""A function from frames of whole groups to frames of partial results.

It is a function of a module, or a ``functools.partial`` of one, so that another process can import it. It is called
once for each part of the rows, never without rows. What it keeps from one frame to the next must not change its result.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A computation in which rows with the same key belong together, and rows with different keys do not meet.

    Whoever joins the partial results must get the same from any number of parts in any order: add integers, join
    rows and sort them by their keys, or sum exactly (``math.fsum``). Then the result is the same to the last bit
    wherever it was computed.
    """

    name: str
    """What messages call it."""
    key: str
    """The column whose equal values make a group."""
    columns: Mapping[str, Any]
    """The columns that the kernel gets, each with its Polars type; values are cast to it."""
    schema: Mapping[str, Any]
    """The columns that the kernel yields, each with its Polars type."""
    kernel: Kernel
    order: tuple[str, ...] = ()
    """The columns that the rows of a group are sorted by, null first. Rows that are equal in all of them come in any
    order. Groups come in any order."""

    def __post_init__(self) -> None:
        unknown = [name for name in (self.key, *self.order) if name not in self.columns]
        if unknown:
            raise ValueError(f"operation {self.name}: no column {', '.join(unknown)}")

    @property
    def sorting(self) -> list[str]:
        """The columns that bring groups together and sort them."""
        return [self.key, *self.order]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Rows in Parquet files.

    A folder stands for the files in it that end in .parquet or .pq, and in folders below it that are named
    ``column=value``, whose rows have that value in that column. A column that a file lacks is null in its rows.
    """

    paths: tuple[str, ...]
    """Files and folders; with Spark also addresses that it reads, such as ``s3a://bucket/folder``."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What a column of the operation is called in the files, if that is something else."""
    within: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    """By column: the lowest value that is read, and the value from which on nothing is read; None is no limit. Files
    in folders of other values are not opened."""

    def name_of(self, column: str) -> str:
        """Return what a column of the operation is called in the files."""
        return self.names.get(column, column)


class Engine(Protocol):
    """Where work runs. An engine is closed after its last use; ``with`` does it."""

    @property
    def address(self) -> str:
        """What ``--engine`` calls it."""

    def read_schema(self, paths: tuple[str, ...]) -> dict[str, Any]:
        """Return the columns of files, each with its Polars type; null for a column of a folder's name."""

    def process(self, operation: Operation, source: Source) -> Iterator[pl.DataFrame]:
        """Yield the partial results of an operation, in no particular order."""

    def close(self) -> None:
        """Stop what was started."""

    def __enter__(self) -> Engine: ...

    def __exit__(self, *error: object) -> None: ...


def collect_results(engine: Engine, operation: Operation, source: Source) -> pl.DataFrame:
    """Return all partial results of an operation in one frame, in no particular order."""
    import polars as pl

    return pl.concat([pl.DataFrame(schema=dict(operation.schema)), *engine.process(operation, source)])


def require_columns(schema: Mapping[str, Any], operation: Operation, source: Source) -> None:
    """Raise InputError if a column that an operation reads is in none of the files, which have these columns."""
    for column in operation.columns:
        if (name := source.name_of(column)) not in schema:
            hint = f"there are {', '.join(sorted(schema))}" if schema else ""
            raise InputError(f"there is no column {name!r}", source=", ".join(source.paths), hint=hint)


def require_schema(frame: pl.DataFrame, operation: Operation) -> pl.DataFrame:
    """Return what a kernel has yielded; raise TypeError if its columns are not those that the operation promises."""
    import polars as pl

    if frame.schema != pl.Schema(operation.schema):
        raise TypeError(f"operation {operation.name} yields {frame.schema}, and promises {dict(operation.schema)}")
    return frame
