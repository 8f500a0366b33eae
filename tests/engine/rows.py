"""Rows of sessions for tests of engines, and what an operation has to make of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from kernels import SUMMARY

from karat.engine import Engine, Operation, Source, collect_results


def draw_rows(seed: int, rows: int, keys: int) -> pl.DataFrame:
    """Return rows of sessions in a random order; times differ within a session."""
    random = np.random.default_rng(seed)
    frame = pl.DataFrame({"session": random.integers(0, keys, rows), "value": random.normal(size=rows)})
    frame = frame.with_columns(("s" + pl.col("session").cast(pl.String)).alias("session"))
    return frame.with_columns(at=pl.Series(random.permutation(rows)))


def expect(frame: pl.DataFrame) -> pl.DataFrame:
    """Return what the operation has to yield, computed from all rows at once."""
    return (
        frame.sort("session", "at")
        .group_by("session")
        .agg(
            rows=pl.len(),
            first=pl.col("at").min(),
            path=pl.col("at").cast(pl.String).fill_null("-").str.join(","),
            last=pl.col("value").last(),
        )
        .cast(SUMMARY)
        .sort("session")
    )


def write(frame: pl.DataFrame, folder: Path, files: int = 1) -> Source:
    """Write rows into some Parquet files of a folder."""
    folder.mkdir(exist_ok=True)
    for number, start in enumerate(np.linspace(0, len(frame), files + 1).astype(int)[:-1].tolist()):
        end = int(np.linspace(0, len(frame), files + 1)[number + 1])
        frame[start:end].write_parquet(folder / f"{number}.parquet", row_group_size=1000)
    return Source(paths=(str(folder),))


def run(engine: Engine, operation: Operation, source: Source) -> pl.DataFrame:
    """Return the results of an operation, sorted by their first column."""
    return collect_results(engine, operation, source).sort(pl.first())
