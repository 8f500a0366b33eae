"""Kernels for tests, in a module that the workers of a cluster can import."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from karat.core import InputError
from karat.engine import Kernel, Operation

COLUMNS = {"session": pl.String, "at": pl.Int64, "value": pl.Float64}
SUMMARY = {"session": pl.String, "rows": pl.UInt32, "first": pl.Int64, "path": pl.String, "last": pl.Float64}


def summarise(frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield a row for each group: what it has, in the order in which it came."""
    for frame in frames:
        yield frame.group_by("session", maintain_order=True).agg(
            pl.len().alias("rows"),
            pl.col("at").first().alias("first"),
            pl.col("at").cast(pl.String).fill_null("-").str.join(",").alias("path"),
            pl.col("value").last().alias("last"),
        )


def wait_twice(frames: Iterator[pl.DataFrame], *, kernel: Kernel, folder: Path) -> Iterator[pl.DataFrame]:
    """Run a kernel; twice, a process that has read its first frame leaves its number, and waits until it is killed."""
    yield from kernel(wait(frames, folder))


def wait(frames: Iterator[pl.DataFrame], folder: Path) -> Iterator[pl.DataFrame]:
    """Yield frames, after a wait that only a killed process ends."""
    parent = os.getppid()
    for number, frame in enumerate(frames):
        yield frame
        if number:
            continue
        for turn in ("first", "second"):
            try:
                descriptor = os.open(folder / turn, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            except FileExistsError:
                continue
            os.write(descriptor, f"{os.getpid()}\n".encode())
            os.close(descriptor)
            while os.getppid() == parent:  # until the executor is killed
                time.sleep(0.05)
            os._exit(1)


def pass_on(frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield the rows as they are."""
    yield from frames


def count_parts(frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield one row: how many rows and keys this part has."""
    seen = [(len(frame), frame["session"].n_unique()) for frame in frames]
    yield pl.DataFrame({"rows": [sum(rows for rows, _ in seen)], "keys": [sum(keys for _, keys in seen)]})


def refuse_negative(frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Raise an error that the user can mend."""
    for frame in frames:
        for row in frame.filter(pl.col("value") < 0).iter_rows(named=True):
            raise InputError(f"session {row['session']} has a negative value", hint="mend it")
        yield frame


def break_down(frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Raise an error that is a bug."""
    raise ZeroDivisionError(f"after {len(next(frames))} rows")


def sum_up(kernel: Kernel = summarise, schema: dict[str, pl.DataType] | None = None) -> Operation:
    """Return an operation over sessions."""
    schema = dict(schema or SUMMARY)
    return Operation(name="sum up", key="session", order=("at",), columns=COLUMNS, schema=schema, kernel=kernel)


COUNT = {"rows": pl.Int64, "keys": pl.Int64}
