"""Makes judgments and a run of any number of rows, as TREC text and as Parquet, a piece at a time."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

DEPTH = 1_000
"""Hits of each query."""
JUDGED = 25
"""Judged documents of each query, half of them among its hits."""
DOCUMENTS = 8_841_823
FILE = 10_000_000
"""Rows of a file, where there are several."""
_AT_ONCE = 200  # queries


def make(folder: Path, rows: int) -> Path:
    """Write the files for so many rows of a run into a folder of that name, unless they are there."""
    target = folder / str(rows)
    if (target / "done").exists():
        return target
    target.mkdir(parents=True, exist_ok=True)
    queries = max(rows // DEPTH, 1)
    qrels = pl.concat(judged for _, judged in _pieces(queries))
    qrels.write_parquet(target / "qrels.parquet")
    columns = ["query_id", pl.lit("0").alias("iteration"), "doc_id", "relevance"]
    qrels.select(columns).write_csv(target / "qrels.txt", separator=" ", include_header=False)
    columns = ["query_id", pl.lit("Q0").alias("q0"), "doc_id", "rank", "score", pl.lit("bench").alias("tag")]
    with (target / "run.txt").open("wb") as file:
        for hits, _ in _pieces(queries):
            hits.select(columns).write_csv(file, separator=" ", include_header=False)
    text = pl.scan_csv(target / "run.txt", separator=" ", has_header=False, schema=_SCHEMA)
    text.select("query_id", "doc_id", "score").sink_parquet(target / "run.parquet", row_group_size=1_000_000)
    (target / "done").touch()
    return target


def make_folder(folder: Path, rows: int) -> Path:
    """Write a run into files of 10 million rows each, unless they are there; only the queries of the first are judged.

    The files are alike but for their queries: to draw and sort a billion scores would take longer than to read them.
    """
    source, target = make(folder, min(rows, FILE)), folder / f"{rows}-in-files"
    if (target / "done").exists():
        return target
    (target / "run").mkdir(parents=True, exist_ok=True)
    shutil.copy(source / "qrels.parquet", target)
    hits = pl.read_parquet(source / "run.parquet").with_columns(pl.col("query_id").cast(pl.Int64))
    step = hits["query_id"].max() - hits["query_id"].min() + 7
    for number in range(max(rows // FILE, 1)):
        own = hits.with_columns((pl.col("query_id") + number * step).cast(pl.String))
        own.write_parquet(target / "run" / f"{number:04}.parquet", row_group_size=1_000_000)
    (target / "done").touch()
    return target


_SCHEMA = {
    "query_id": pl.String,
    "q0": pl.String,
    "doc_id": pl.String,
    "rank": pl.Int64,
    "score": pl.Float64,
    "tag": pl.String,
}


def _pieces(queries: int) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield the hits and the judgments of some queries at a time; one score in twenty is that of the hit above."""
    rng = np.random.default_rng(7)
    for first in range(0, queries, _AT_ONCE):
        count = min(_AT_ONCE, queries - first)
        names = np.arange(first, first + count) * 7 + 1_000_000
        # Numbers that are far apart, so that no query has a document twice.
        documents = (rng.integers(0, DOCUMENTS, (count, 1)) + np.arange(DEPTH) * 7_919) % DOCUMENTS
        scores = -np.sort(-rng.gamma(2, 5, (count, DEPTH)).round(4), axis=1)
        tied = rng.random((count, DEPTH)) < 0.05
        tied[:, 0] = False
        scores[tied] = scores[np.roll(tied, -1, axis=1)]
        scores = -np.sort(-scores, axis=1)
        yield _hits(names, documents, scores), _judgments(names, documents, rng)


def _hits(names: np.ndarray, documents: np.ndarray, scores: np.ndarray) -> pl.DataFrame:
    columns = {
        "query_id": np.repeat(names, DEPTH),
        "doc_id": documents.ravel(),
        "rank": np.tile(np.arange(1, DEPTH + 1), len(names)),
        "score": scores.ravel(),
    }
    return pl.DataFrame(columns).cast({"query_id": pl.String, "doc_id": pl.String})


def _judgments(names: np.ndarray, documents: np.ndarray, rng: np.random.Generator) -> pl.DataFrame:
    places = np.minimum(rng.exponential(DEPTH / 50, (len(names), JUDGED // 2)).astype(int), DEPTH - 1)
    found = np.take_along_axis(documents, places, axis=1)
    elsewhere = rng.integers(0, DOCUMENTS, (len(names), JUDGED - JUDGED // 2))
    judged = np.concatenate([found, elsewhere], axis=1)
    columns = {
        "query_id": np.repeat(names, JUDGED),
        "doc_id": judged.ravel(),
        "relevance": rng.choice(4, judged.size, p=[0.5, 0.25, 0.15, 0.1]),
    }
    frame = pl.DataFrame(columns).unique(["query_id", "doc_id"], keep="first", maintain_order=True)
    return frame.cast({"query_id": pl.String, "doc_id": pl.String})
