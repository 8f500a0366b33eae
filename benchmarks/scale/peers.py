"""nDCG@10 of each query by DuckDB or plain Polars: ``python peers.py TOOL QRELS RUN OUTPUT``.

Hits are ordered by score, then by document id, both descending, as karat orders them. Queries without anything to find
are left out.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

NDCG = """
with ranked as (
    select query_id, doc_id, row_number() over (partition by query_id order by score desc, doc_id desc) as place
    from run qualify place <= 10
), found as (
    select query_id, sum(relevance / log2(place + 1)) as dcg
    from ranked join qrels using (query_id, doc_id) group by query_id
), best as (
    select query_id, relevance, row_number() over (partition by query_id order by relevance desc) as place
    from qrels qualify place <= 10
), ideal as (
    select query_id, sum(relevance / log2(place + 1)) as dcg from best group by query_id having dcg > 0
)
select query_id, coalesce(found.dcg, 0) / ideal.dcg from ideal left join found using (query_id)
"""
_RUN = {
    "query_id": "VARCHAR",
    "q0": "VARCHAR",
    "doc_id": "VARCHAR",
    "rank": "BIGINT",
    "score": "DOUBLE",
    "tag": "VARCHAR",
}
_QRELS = {"query_id": "VARCHAR", "iteration": "VARCHAR", "doc_id": "VARCHAR", "relevance": "BIGINT"}


def duckdb(qrels: str, run: str) -> dict[str, float]:
    import duckdb as tool

    with tempfile.TemporaryDirectory() as spill:
        database = tool.connect(config={"temp_directory": spill, "memory_limit": "4GB"})
        for name, place, columns in (("run", run, _RUN), ("qrels", qrels, _QRELS)):
            path = f"'{place}/*.parquet'" if Path(place).is_dir() else f"'{place}'"
            text = f"read_csv({path}, delim=' ', header=false, quote='', columns={columns})"
            database.execute(f"create view {name} as from {text if place.endswith('.txt') else path}")
        return dict(database.execute(NDCG).fetchall())


def polars(judged: str, retrieved: str) -> dict[str, float]:
    import polars as pl

    types = {"VARCHAR": pl.String, "BIGINT": pl.Int64, "DOUBLE": pl.Float64}

    def scan(path: str, columns: dict[str, str]) -> pl.LazyFrame:
        if not path.endswith(".txt"):
            return pl.scan_parquet(path)
        schema = {column: types[kind] for column, kind in columns.items()}
        return pl.scan_csv(path, separator=" ", has_header=False, quote_char=None, schema=schema)

    run, qrels = scan(retrieved, _RUN), scan(judged, _QRELS)
    first = pl.col("doc_id").sort_by(["score", "doc_id"], descending=True).head(10)
    ranked = run.group_by("query_id").agg(first, pl.int_range(1, 11).head(pl.len()).alias("rank"))
    ranked = ranked.explode("doc_id", "rank")
    gain = (pl.col("relevance") / (pl.col("rank") + 1).log(2)).sum()
    found = ranked.join(qrels, on=["query_id", "doc_id"]).group_by("query_id").agg(gain.alias("dcg"))
    best = pl.col("relevance").sort(descending=True).head(10)
    ideal = qrels.group_by("query_id").agg(best, pl.int_range(1, 11).head(pl.len()).alias("rank"))
    ideal = ideal.explode("relevance", "rank").group_by("query_id").agg(gain.alias("ideal")).filter(pl.col("ideal") > 0)
    value = pl.col("dcg").fill_null(0) / pl.col("ideal")
    rows = ideal.join(found, on="query_id", how="left").select("query_id", value)
    return dict(rows.collect(engine="streaming").iter_rows())


def main() -> None:
    tool, qrels, run, output = sys.argv[1:]
    values = globals()[tool](qrels, run)
    Path(output).write_text(json.dumps(values))


if __name__ == "__main__":
    main()
