"""Reports, harvests and estimates from exported logs: CPU seconds and peak memory of each, on its own.

The logs are made as ``karat online export`` writes them. A process may hold 1 GB of rows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

ROWS = (1_000_000, 10_000_000)
FILE = 100_000
"""Rows of a file, as exports have them."""
TEXTS, DEPTH, DAY = 200_000, 10, 86_400
_RUN = """
import json, resource, sys
import polars as pl
from karat.engine import LocalEngine
from karat.feedback import estimate_log, harvest_log, report_log
place, operation, folder = sys.argv[1:]
from pathlib import Path
engine = LocalEngine(folder=Path(folder))
if operation == "report":
    result = report_log(place, engine=engine).queries
elif operation == "harvest":
    result = harvest_log(place, engine=engine).report.distinct
else:
    result = sum(len(frame) for frame in estimate_log(place, "snips", engine=engine))
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([result, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""
OPERATIONS = ("report", "harvest", "estimates")


def print_table(sizes: Sequence[int], operations: Sequence[str] = OPERATIONS) -> None:
    """Print a row for each number of rows and operation."""
    print("\n| rows of the log | operation | CPU s | microseconds a row | peak MB | result |")
    print("|---|---|---|---|---|---|", flush=True)
    for rows in sizes:
        with tempfile.TemporaryDirectory(prefix="karat-logs-") as folder:
            place = make_log(Path(folder, "log"), rows)
            for operation in operations:
                print(measure(place, operation, rows, folder), flush=True)


def measure(place: Path, operation: str, rows: int, folder: str) -> str:
    """Run an operation in a process of its own, and return the row of the table."""
    command = [sys.executable, "-c", _RUN, str(place), operation, folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    if done.returncode:
        return f"| {rows:,} | {operation} | failed | | | {done.stderr.splitlines()[-1:]} |"
    result, seconds, megabytes = json.loads(done.stdout)
    each = seconds / rows * 1e6
    return f"| {rows:,} | {operation} | {seconds:,.1f} | {each:.1f} | {megabytes:,.0f} | {result:,} |"


def make_log(folder: Path, rows: int, seed: int = 1) -> Path:
    """Write a log of so many rows, a third of them queries, about 300,000 queries a day."""
    rng = np.random.default_rng(seed)
    files, queries = list[str](), 0
    for number, (searches, done) in enumerate(_make_frames(rng, rows // 3)):
        queries += len(searches)
        for name, frame in (("queries", searches), ("events", done)):
            file = Path(name, f"date={_name_day(frame['time'][0])}", f"{number:06}.parquet")
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            frame.write_parquet(folder / file)
            files.append(file.as_posix())
    contents = {"queries": queries, "events": 2 * queries, "files": sorted(files), "invalid": 0, "reason": ""}
    (folder / "export.json").write_text(json.dumps(contents))
    return folder


def _name_day(seconds: float) -> str:
    return str(np.datetime64(int(seconds), "s").astype("datetime64[D]"))


def _make_frames(rng: np.random.Generator, queries: int) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield queries with their events: sessions of three queries, and two events after each."""
    for first in range(0, queries, FILE):
        n = min(FILE, queries - first)
        number = np.arange(first, first + n)
        start = (first // (3 * FILE)) * DAY
        time = 1.7e9 // DAY * DAY + start + (number % (3 * FILE)) * (DAY / (3 * FILE))
        text = np.minimum(rng.zipf(1.3, n), TEXTS)
        documents = (text[:, None] * 7 + rng.permuted(np.tile(np.arange(DEPTH), (n, 1)), axis=1)).ravel()
        session = pl.Series(number // 3).cast(pl.String)
        ids = pl.Series(number).cast(pl.String).str.zfill(12)
        hits = pl.DataFrame(
            {
                "query": np.repeat(np.arange(n), DEPTH),
                "document": documents,
                "rank": np.tile(np.arange(1, DEPTH + 1), n),
            }
        )
        hit = pl.struct(
            pl.format("d{}", "document").alias("document"), pl.col("rank").cast(pl.Int64),
            pl.lit(None, pl.Float64).alias("score"), pl.lit([], pl.List(pl.String)).alias("channels"),
            pl.lit(None, pl.List(pl.Int64)).alias("span"), pl.lit("").alias("section"), pl.lit("").alias("chunk"),
        )  # fmt: skip
        lists = hits.group_by("query", maintain_order=True).agg(hit.alias("hits"))["hits"]
        searches = pl.DataFrame({"id": "q" + ids, "time": time, "text": text, "session": session}).select(
            "id", "time", pl.format("question {} of a guest", "text").alias("text"), "session",
            pl.lit("find").alias("intent"), lists, pl.lit(None, pl.String).alias("answer"),
            pl.lit([], pl.List(pl.String)).alias("citations"), pl.lit("").alias("error"),
            pl.Series("latency", rng.lognormal(4, 1, n)), pl.lit("v1").alias("system"), pl.lit(1.0).alias("weight"),
            pl.lit(DEPTH).cast(pl.Int64).alias("count"), pl.format("s{}", "session").alias("home"),
        )  # fmt: skip
        twice = np.repeat(np.arange(n), 2)
        read = np.minimum(rng.geometric(0.4, 2 * n), DEPTH)
        done = pl.DataFrame(
            {
                "id": "e" + pl.Series(np.arange(2 * first, 2 * (first + n))).cast(pl.String).str.zfill(12),
                "time": time[twice] + np.tile([3.0, 9.0], n),
                "kind": np.where(rng.random(2 * n) < 0.9, "read_after_search", "validate_useful"),
                "session": session.gather(twice),
                "query": ("q" + ids).gather(twice),
                "document": pl.Series(documents[twice * DEPTH + read - 1]).cast(pl.String),
                "rank": read,
                "value": pl.Series([None] * (2 * n), dtype=pl.Float64),
            }
        ).with_columns(pl.format("d{}", "document").alias("document"), pl.format("s{}", "session").alias("home"))
        yield searches, done
