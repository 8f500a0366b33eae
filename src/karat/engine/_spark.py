"""The engine that is a Spark cluster: the kernels of this process, over parts that Spark brings together."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial, reduce
from typing import Any, TypeAlias

import polars as pl

from karat.core import SystemFailed, __version__
from karat.engine._failures import explain_failure
from karat.engine._operation import Operation, Source, require_columns
from karat.engine._parquet import ENDINGS
from karat.engine._session import (
    Running,
    count_executors,
    last_error,
    make_settings,
    require_pyspark,
    start_session,
    wait_for_executors,
)
from karat.engine._task import SCHEMA, read_result, run_task
from karat.net import require_package

DataFrame: TypeAlias = Any
"""That of Spark."""
ROWS_PER_TASK = 1_000_000
_FEW = 50_000
"""Rows that are not worth a task of their own."""
_SMALL = 1 << 26
"""Bytes of results that the driver takes at once."""
_EXTRA = {"purpose": "a Spark engine", "extra": "spark"}
_PATIENCE = 120.0
"""Seconds without a single executor after which work ends."""
_TYPES = {
    pl.String: "string",
    pl.Boolean: "boolean",
    pl.Int8: "tinyint",
    pl.Int16: "smallint",
    pl.Int32: "int",
    pl.Int64: "bigint",
    pl.Date: "date",
}
"""The types of keys and of columns that rows are sorted by, which Spark has to have before it sorts."""


class SparkEngine:
    """Runs operations on the Spark cluster at a master, which is started at the first use.

    Spark brings the rows of each key together, in tasks of about ``rows_per_task`` rows, and sorts them on its disks.
    """

    def __init__(self, address: str, *, rows_per_task: int = ROWS_PER_TASK, patience: float = _PATIENCE) -> None:
        self.address, self.rows_per_task, self.patience = address, rows_per_task, patience
        self._running: Running | None = None

    @property
    def session(self) -> Any:
        """The Spark session; it is started if there is none."""
        if self._running is None:
            self._running = start_session(self.address, make_settings())
            wait_for_executors(self._running.session, self.patience, self._running.log)
        return self._running.session

    def read_schema(self, paths: tuple[str, ...]) -> dict[str, Any]:
        """Return the columns of files, each with its Polars type; null for a column of a folder's name."""
        with self._guarded(paths):
            return {field.name: _polars_type(field.dataType) for field in self._read(paths).schema.fields}

    def process(self, operation: Operation, source: Source) -> Iterator[pl.DataFrame]:
        """Yield the partial results of an operation, in no particular order."""
        with self._guarded(source.paths):
            every = self._read(source.paths)
            require_columns(dict.fromkeys(every.columns), operation, source)
            rows = _select(every, operation, source)
            parts = rows.repartition(self._count_parts(every), operation.key).sortWithinPartitions(*operation.sorting)
            results = _map(parts, operation).persist(require_pyspark().StorageLevel.DISK_ONLY)
        try:
            yield from self._collect(results, source)
        finally:
            if self._running is not None and not self.session.sparkContext._jsc.sc().isStopped():
                results.unpersist()

    def ask(self, probe: Callable[[int], Any]) -> tuple[set[Any], int]:
        """Return what a function answers on each executor, and how many executors there are."""
        with self._guarded(()):
            context, executors = self.session.sparkContext, count_executors(self.session)
            places = 4 * executors
            return set(context.parallelize(range(places), places).map(probe).collect()), executors

    def close(self) -> None:
        """Stop Spark here; the cluster goes on."""
        if self._running is not None:
            running, self._running = self._running, None
            running.stop()

    def __enter__(self) -> SparkEngine:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _collect(self, results: DataFrame, source: Source) -> Iterator[pl.DataFrame]:
        """Yield the frames of results: at once if they are small, or else part by part."""
        functions = require_pyspark("sql.functions")
        with self._guarded(source.paths):
            # All tasks run now, side by side; an iterator alone would run one after the other.
            size = results.agg(functions.sum(functions.length("frame"))).first()[0]
            is_small = (size or 0) < _SMALL
            rows = iter(results.collect()) if is_small else results.toLocalIterator(prefetchPartitions=True)
        while True:
            with self._guarded(source.paths):
                row = next(rows, None)
            if row is None:
                return
            yield read_result(row["problem"], row["frame"])

    def _read(self, paths: tuple[str, ...]) -> DataFrame:
        """Return the rows of files and folders; of several folders, Spark reads names as values only one by one."""
        reader = self.session.read.option("mergeSchema", "true").option("pathGlobFilter", "*.{parquet,pq}")
        files = [path for path in paths if path.endswith(ENDINGS)]
        places = [[path] for path in paths if not path.endswith(ENDINGS)] + ([files] if files else [])
        tables = [reader.parquet(*place) for place in places]
        return reduce(lambda table, other: table.unionByName(other, allowMissingColumns=True), tables)

    def _count_parts(self, rows: DataFrame) -> int:
        count = int(rows.count())  # Spark adds up what the files say of themselves
        useful: int = min(self.session.sparkContext.defaultParallelism, math.ceil(count / _FEW))
        return max(1, math.ceil(count / self.rows_per_task), useful)

    @contextmanager
    def _guarded(self, paths: tuple[str, ...]) -> Iterator[None]:
        """Turn what Spark raises into one clear message; what is a bug stays as it is."""
        errors = require_pyspark("errors").PySparkException, require_package("py4j.protocol", **_EXTRA).Py4JError
        try:
            with self._watched():
                yield
        except errors as error:
            said = last_error(self._running.log) if self._running else ""
            raise explain_failure(error, paths, said) from error

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """End the work if the cluster has no executor for long: Spark would wait for ever."""
        session, ended, lost = self.session, threading.Event(), threading.Event()

        watcher = threading.Thread(target=self._watch, args=(session, ended, lost), daemon=True)
        watcher.start()
        try:
            yield
        except BaseException as error:
            if lost.is_set():
                hint = "its workers are gone or have no room; 'karat engine doctor' looks"
                message = f"the cluster has had no executor for {self.patience:.0f} seconds; {hint}"
                raise SystemFailed(message) from error
            raise
        finally:
            ended.set()
            watcher.join()

    def _watch(self, session: Any, ended: threading.Event, lost: threading.Event) -> None:
        """Cancel the jobs of a session, and set ``lost``, if there is no executor for long."""
        without = 0
        with suppress(Exception):  # Java has ended, which whoever waits for a job is told
            while not ended.wait(1):
                without = 0 if count_executors(session) else without + 1
                if without >= self.patience:
                    lost.set()
                    session.sparkContext.cancelAllJobs()
                    return


def _map(rows: DataFrame, operation: Operation) -> DataFrame:
    """Return the results of the kernel, as the tasks send them."""
    task = partial(run_task, operation=operation, version=__version__)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about versions of pandas, which is asked for and not used
        return rows.mapInArrow(task, SCHEMA)


def _select(rows: DataFrame, operation: Operation, source: Source) -> DataFrame:
    """Return the columns that an operation reads, within the limits of the source."""
    functions = require_pyspark("sql.functions")
    col, lit = functions.col, functions.lit
    for column, (low, high) in source.within.items():
        value = col(_quote(source.name_of(column)))
        rows = rows if low is None else rows.where(value >= lit(low))
        rows = rows if high is None else rows.where(value < lit(high))
    columns = []
    for column, type_ in operation.columns.items():
        name = source.name_of(column)
        value = _narrow(col(_quote(name)), type_, rows.schema[name].dataType)
        columns.append(_cast(value, type_, column in operation.sorting).alias(column))
    return rows.select(columns)


def _narrow(column: Any, type_: Any, spark_type: Any) -> Any:
    """Return lists of structs with the fields that the operation wants: Spark then reads no others from the files."""
    fields = getattr(getattr(spark_type, "elementType", None), "names", ())
    wanted = [field.name for field in getattr(getattr(type_, "inner", None), "fields", ()) if field.name in fields]
    if not wanted:
        return column
    functions = require_pyspark("sql.functions")
    return functions.transform(column, lambda item: functions.struct(*(item[name].alias(name) for name in wanted)))


def _cast(column: Any, type_: Any, is_sorted: bool) -> Any:
    """Return a column as the type that decides the order of rows; other columns are cast where the kernel runs."""
    name = _TYPES.get(type_)
    return column.cast(name) if is_sorted and name else column


def _quote(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _polars_type(spark_type: Any) -> Any:
    """Return the Polars type of a type of Spark."""
    arrow = require_package("pyarrow", **_EXTRA)
    series = pl.from_arrow(arrow.array([], require_pyspark("sql.pandas.types").to_arrow_type(spark_type)))
    assert isinstance(series, pl.Series)
    return series.dtype
