"""Makes the scoring workload: a run with 5 % exact score ties, judgments graded 0-3, as TREC text and as Parquet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

DOCUMENTS = 8_841_823  # the size of MS MARCO's passage collection, which sets how long ids are
JUDGED_PER_QUERY = 180_064 / 6_980


def make(folder: Path, queries: int, depth: int) -> Path:
    """Write qrels and run for ``queries`` x ``depth`` into a folder of that name, unless they are there."""
    target = folder / f"{queries}x{depth}"
    if (target / "done").exists():
        return target
    target.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(7)
    names = rng.choice(10**7, queries, replace=False)
    documents = np.stack([rng.choice(DOCUMENTS, depth, replace=False, shuffle=True) for _ in range(queries)])
    scores = -np.sort(-rng.gamma(2, 5, (queries, depth)).round(6), axis=1)
    tied = rng.random((queries, depth)) < 0.05
    for rank in range(1, depth):
        scores[:, rank] = np.where(tied[:, rank], scores[:, rank - 1], scores[:, rank])
    _write_run(target, names, documents, scores)
    _write_qrels(target, names, documents, rng)
    (target / "done").touch()
    return target


def _write_run(target: Path, names: np.ndarray, documents: np.ndarray, scores: np.ndarray) -> None:
    queries, depth = documents.shape
    frame = pl.DataFrame(
        {
            "query_id": np.repeat(names, depth),
            "doc_id": documents.ravel(),
            "rank": np.tile(np.arange(1, depth + 1), queries),
            "score": scores.ravel(),
        }
    ).cast({"query_id": pl.String, "doc_id": pl.String})
    frame.select("query_id", "doc_id", "score").write_parquet(target / "run.parquet")
    columns = ["query_id", pl.lit("Q0").alias("q0"), "doc_id", "rank", "score", pl.lit("bench-run").alias("tag")]
    frame.select(columns).write_csv(target / "run.txt", separator=" ", include_header=False)


def _write_qrels(target: Path, names: np.ndarray, documents: np.ndarray, rng: np.random.Generator) -> None:
    depth = documents.shape[1]
    rows = []
    for query, retrieved in zip(names, documents, strict=True):
        wanted = max(2, int(rng.poisson(JUDGED_PER_QUERY)))
        places = np.unique(np.minimum(rng.exponential(depth / 16, wanted // 2).astype(int), depth - 1))
        elsewhere = rng.choice(DOCUMENTS, wanted - len(places), replace=False)
        judged = np.unique(np.concatenate([retrieved[places], elsewhere]))
        grades = rng.choice(4, len(judged), p=[0.5, 0.25, 0.15, 0.1])
        grades[0] = max(grades[0], 1)  # every query has something to find, so that all tools average over the same
        rows.append((np.full(len(judged), query), judged, grades))
    columns = [np.concatenate(column) for column in zip(*rows, strict=True)]
    frame = pl.DataFrame(dict(zip(("query_id", "doc_id", "relevance"), columns, strict=True)))
    frame = frame.cast({"query_id": pl.String, "doc_id": pl.String})
    frame.write_parquet(target / "qrels.parquet")
    columns = ["query_id", pl.lit("0").alias("iteration"), "doc_id", "relevance"]
    frame.select(columns).write_csv(target / "qrels.txt", separator=" ", include_header=False)
