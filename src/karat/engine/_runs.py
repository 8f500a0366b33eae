"""Scoring of runs in Parquet files and folders, which an engine aligns with the judgments."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Unpack

from karat.core import InputError, Measure, Scores, UsageError, shorten
from karat.engine._address import LOCAL, open_engine
from karat.engine._operation import Engine, Operation, Source, collect_results
from karat.files import record_folder
from karat.measures import Alignment, Judgments, Rankings, ScoreOptions
from karat.measures import score_runs as score_here

if TYPE_CHECKING:
    import polars as pl

ENDINGS = (".parquet", ".pq")


def score_runs(
    qrels: Any,
    runs: Mapping[str, Any],
    measures: Iterable[str | Measure] | str | None = None,
    *,
    engine: str | None = None,
    progress: Callable[[int], None] | None = None,
    **options: Unpack[ScoreOptions],
) -> list[Scores]:
    """Score several runs, by name, as :func:`karat.score` does, on an ``engine``. The scores are the same on each.

    A run may also be a folder of Parquet files. With an engine, Parquet files are read by it: ``local`` is this
    process, with memory that does not grow with the run; ``spark://HOST:PORT`` and ``local-cluster[WORKERS,CORES,MB]``
    are Spark clusters, which read nothing but Parquet.

    >>> [scores.mean() for scores in score_runs({"q": {"a": 1}}, {"run": {"q": {"a": 1}}}, "RR", engine="local")]
    [{'RR': 1.0}]
    """
    if engine is None and not any(map(_is_folder, runs.values())):
        return score_here(qrels, runs, measures, progress=progress, **options)  # a small run needs no Polars
    with open_engine(engine or LOCAL) as opened:
        chosen = {name: _open_run(run, opened, is_asked=engine is not None) for name, run in runs.items()}
        return score_here(qrels, chosen, measures, progress=progress, **options)


def _open_run(run: Any, engine: Engine, *, is_asked: bool) -> Any:
    """Return a run that an engine reads, or the run itself if this process reads it as any other."""
    path = fspath(run) if isinstance(run, str | PathLike) else ""
    is_folder = _is_folder(run)
    if is_folder:
        record_folder(path, ENDINGS)
    if is_folder or (is_asked and (path.endswith(ENDINGS) or "://" in path)):
        return EngineRun(name=path, engine=engine)
    if engine.address == LOCAL:
        return run
    hint = "give Parquet files or folders of them, or leave out --engine"
    raise UsageError(f"{shorten(path or type(run).__name__)}: a Spark engine reads Parquet only; {hint}")


def _is_folder(run: Any) -> bool:
    """Return whether a run is a folder with Parquet files, or with folders named column=value."""
    if not isinstance(run, str | PathLike):
        return False
    try:
        with os.scandir(fspath(run)) as entries:
            return any(str(entry.name).endswith(ENDINGS) or "=" in str(entry.name) for entry in entries)
    except (OSError, ValueError):  # a file, or nothing; whoever reads it says so
        return False


@dataclass(frozen=True, kw_only=True)
class EngineRun(Rankings):
    """A run that an engine reads, again for each set of judgments."""

    engine: Engine

    def align(self, judgments: Judgments, classes: Mapping[str, str] | None = None) -> Alignment:
        """Find the ranks of the judged documents."""
        from karat.measures import PART_COLUMNS, PART_SCHEMA, align_part, join_parts

        kernel = partial(align_part, judgments=judgments, source=self.name, classes=classes)
        operation = Operation(name="score", key="query", columns=PART_COLUMNS, schema=PART_SCHEMA, kernel=kernel)
        parts = self.engine.process(operation, self._find_source())
        alignment, count = join_parts(judgments, parts)
        if not count:
            raise InputError("there are no rows", source=self.name)
        return alignment

    def first_queries(self, count: int) -> list[str]:
        """Return some queries of the run: the first in byte order."""
        import polars as pl

        columns = {"query": pl.String}
        kernel = partial(find_first, count=count)
        operation = Operation(name="queries", key="query", columns=columns, schema=columns, kernel=kernel)
        rows = collect_results(self.engine, operation, self._find_source())
        return rows["query"].sort().head(count).to_list()

    def _find_source(self) -> Source:
        from karat.measures import find_run_columns

        names = find_run_columns(self.engine.read_schema((self.name,)), self.name)
        return Source(paths=(self.name,), names=names)


def find_first(frames: Iterator[pl.DataFrame], *, count: int) -> Iterator[pl.DataFrame]:
    """Yield the first queries of each frame, in byte order."""
    for frame in frames:
        yield frame.unique().sort("query").head(count)
