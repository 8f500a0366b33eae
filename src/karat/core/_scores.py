"""The table of scores: one row per query, one column per measure, and a reason for each missing value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress, repeat
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from karat.core._bounds import Bounds
from karat.core._errors import MeasureError, UsageError, did_you_mean
from karat.core._measure import Measure
from karat.core._notebook import Markup, draw_bars, show_table
from karat.core._sums import sum_exactly

if TYPE_CHECKING:
    import pandas
    import polars

Floats: TypeAlias = NDArray[np.float64]

_UNKNOWN = "unknown"
_NO_BOUNDS = "no bounds"
_BARS = 20
LOWEST_FOR_GEOMETRIC_MEAN = 0.00001
"""Lower values count as this much in a geometric mean, as in trec_eval: a single zero does not make all of it zero."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """The scores of a run: one row per query, one column per measure.

    >>> import karat
    >>> scores = karat.score({"q1": {"a": 1}, "q2": {"b": 0}}, {"q1": {"a": 2.0}, "q2": {"b": 1.0}}, ["R@5", "P@1"])
    >>> scores.mean()
    {'R@5': 1.0, 'P@1': 0.5}
    >>> scores.reason("q2", "R@5")
    'no relevant documents'
    >>> scores.count("R@5"), scores.total
    (1, 2)
    """

    name: str
    """The name of the run."""
    queries: tuple[str, ...]
    measures: tuple[str, ...]
    """Canonical names, in the requested order."""
    values: Floats
    """One row per query, one column per measure; NaN for a missing value. Read-only."""
    reasons: tuple[str, ...] = ()
    """The reasons for missing values; ``codes`` refers to them by number, from 1."""
    codes: NDArray[np.uint8]
    """0 for a value, otherwise the number of the reason why it is missing, from 1. Read-only."""
    definitions: Mapping[str, str] = field(default_factory=dict)
    """What each measure was computed as, which differs from its name if conventions changed parameters."""
    aggregates: Mapping[str, str] = field(default_factory=dict)
    """``sum`` or ``geometric`` for the measures whose aggregate is not the arithmetic mean."""
    not_in_run: tuple[str, ...] = ()
    """Judged queries that the run does not answer."""
    not_judged: int = 0
    """How many queries of the run have no judgments and were ignored."""
    repeated: Mapping[str, int] = field(default_factory=dict)
    """By query: how many hits were left out because a better hit of their document ranks above them."""
    judged_retrieved: int | None = None
    """How many judged documents were retrieved; 0 usually means that the two files use different document ids."""
    highest_grade: int | None = None
    """The best grade of the judgments; None if it is not known."""
    bounds: Bounds | None = None
    """How far unjudged documents could move each value; None if nobody asked."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """The error of each query that the system failed to answer, if ``karat.evaluate`` asked it."""

    def __post_init__(self) -> None:
        shape = (len(self.queries), len(self.measures))
        if self.values.shape != shape or self.codes.shape != shape:
            raise ValueError(f"values {self.values.shape} and codes {self.codes.shape} should have shape {shape}")
        self.values.setflags(write=False)
        self.codes.setflags(write=False)

    @classmethod
    def from_columns(
        cls,
        name: str,
        columns: Mapping[str, Mapping[str, float]],
        *,
        queries: Iterable[str] = (),
        reasons: Mapping[tuple[str, str], str] | None = None,
        **fields: Any,
    ) -> Scores:
        """Return a table of values by measure and query. NaN, or no entry, is a missing value.

        ``reasons`` has the reason of each missing value by query and measure; the default is ``unknown``.

        >>> Scores.from_columns("mine", {"RR@10": {"q1": 1.0, "q2": 0.5}}).mean()
        {'RR@10': 0.75}
        """
        rows = tuple(dict.fromkeys([*queries, *(query for column in columns.values() for query in column)]))
        values = np.array(
            [[column.get(query, math.nan) for column in columns.values()] for query in rows], dtype=np.float64
        ).reshape(len(rows), len(columns))
        codes = np.zeros(values.shape, np.uint8)
        numbers: dict[str, int] = {}
        names = tuple(columns)
        for row, column in np.argwhere(np.isnan(values)).tolist():
            reason = (reasons or {}).get((rows[row], names[column]), _UNKNOWN)
            codes[row, column] = numbers.setdefault(reason, len(numbers) + 1)
        return cls(
            name=name, queries=rows, measures=names, values=values, codes=codes, reasons=tuple(numbers), **fields
        )

    @property
    def total(self) -> int:
        """The number of queries, with and without a value."""
        return len(self.queries)

    def mean(self) -> dict[str, float]:
        """Return the mean of each measure over the queries that have a value; NaN if none has one.

        For the geometric measures (GMAP, GBpref) it is the geometric mean.
        """
        return {name: self._mean(name) for name in self.measures}

    def sum(self, measure: str | Measure) -> float:
        """Return the sum of a measure over the queries that have a value."""
        return math.fsum(self.present(measure)[1].tolist())

    def count(self, measure: str | Measure) -> int:
        """Return the number of queries that have a value."""
        return int((self.codes[:, self._column(measure)] == 0).sum())

    def missing(self, measure: str | Measure) -> dict[str, int]:
        """Return the number of queries without a value, by reason."""
        codes = self.codes[:, self._column(measure)]
        counts = np.bincount(codes, minlength=len(self.reasons) + 1)[1:]
        return {reason: int(n) for reason, n in zip(self.reasons, counts, strict=True) if n}

    def is_missing_for(self, reasons: Callable[[str], bool]) -> NDArray[np.bool_]:
        """Return for each value whether it is missing for one of the reasons that the function accepts."""
        return np.array([False, *map(reasons, self.reasons)])[self.codes]

    def value(self, query: str, measure: str | Measure) -> float | None:
        """Return the value of a query, or None if it is missing; :meth:`reason` says why."""
        cell = self._row(query), self._column(measure)
        return None if self.codes[cell] else float(self.values[cell])

    def reason(self, query: str, measure: str | Measure) -> str | None:
        """Return why the value of a query is missing, or None if it is not."""
        code = int(self.codes[self._row(query), self._column(measure)])
        return self.reasons[code - 1] if code else None

    def select(self, queries: Iterable[str]) -> Scores:
        """Return the scores of some of the queries, in the order of this table.

        >>> scores = Scores.from_columns("mine", {"RR@10": {"q1": 1.0, "q2": 0.5}})
        >>> scores.select(["q2"]).mean()
        {'RR@10': 0.5}
        """
        wanted = np.zeros(len(self.queries), np.bool_)
        wanted[self.find_rows(queries)] = True
        rows = np.flatnonzero(wanted)
        names = tuple(compress(self.queries, wanted.tolist()))
        return replace(
            self,
            queries=names,
            values=self.values[rows],
            codes=self.codes[rows],
            not_in_run=tuple(query for query in names if query in self._absent) if self.not_in_run else (),
            bounds=None if self.bounds is None else self.bounds.take(rows=rows.tolist()),
            failures={query: self.failures[query] for query in names if query in self.failures},
        )

    def column(self, measure: str | Measure, queries: Iterable[str] | None = None) -> dict[str, float]:
        """Return the values of a measure by query, without the missing ones; of some queries only if they are named.

        >>> import karat
        >>> karat.score({"q1": {"a": 1}, "q2": {"b": 0}}, {"q1": {"a": 2.0}}, ["R@5"]).column("R@5")
        {'q1': 1.0}
        """
        names, values = self.present(measure, queries)
        return dict(zip(names, values.tolist(), strict=True))

    def present(self, measure: str | Measure, queries: Iterable[str] | None = None) -> tuple[tuple[str, ...], Floats]:
        """Return the queries that have a value of a measure, and these values, as :meth:`column` does.

        >>> names, values = Scores.from_columns("mine", {"RR@10": {"q1": 1.0}}, queries=["q1", "q2"]).present("RR@10")
        >>> names, values.tolist()
        (('q1',), [1.0])
        """
        j = self._column(measure)
        names, values, has_value = self.queries, self.values[:, j], self.codes[:, j] == 0
        if queries is not None and not (type(queries) is tuple and queries == self.queries):
            names = tuple(dict.fromkeys(query for query in queries if query in self.rows))
            rows = self.find_rows(names)
            values, has_value = values[rows], has_value[rows]
        if has_value.all():
            return names, values
        return tuple(compress(names, has_value.tolist())), values[has_value]

    def find_rows(self, queries: Iterable[str]) -> NDArray[np.int64]:
        """Return the rows of those of some queries that the table has."""
        if queries == self.queries:
            return np.arange(len(self.queries))
        rows = np.array(list(map(self.rows.get, queries, repeat(-1))), np.int64)
        return rows[rows >= 0]

    def look_up(self, measure: str | Measure, queries: Sequence[str]) -> Floats:
        """Return the value of a measure for each of some queries; NaN where it is missing.

        >>> Scores.from_columns("mine", {"RR@10": {"q1": 1.0}}).look_up("RR@10", ["q2", "q1"]).tolist()
        [nan, 1.0]
        """
        values = self.values[:, self._column(measure)]
        if queries == self.queries:
            return values
        rows = np.fromiter((self.rows.get(query, -1) for query in queries), np.int64, len(queries))
        return np.append(values, math.nan)[rows]  # the last is for a query that the table does not have

    def only(self, measures: Iterable[str]) -> Scores:
        """Return the scores of some of the measures, in the given order."""
        names = tuple(measures)
        columns = [self.columns[name] for name in names]
        return replace(
            self,
            measures=names,
            values=self.values[:, columns],
            codes=self.codes[:, columns],
            definitions={name: self.definitions[name] for name in names if name in self.definitions},
            aggregates={name: self.aggregates[name] for name in names if name in self.aggregates},
            bounds=None if self.bounds is None else self.bounds.take(columns=columns),
        )

    def at_worst(self) -> Scores:
        """Return the scores as they are if every unjudged document has the worst grade for them.

        A measure without bounds has no values. If nobody asked for bounds, that is an error.

        >>> import karat
        >>> scores = karat.score({"q": {"a": 1}}, {"q": {"x": 2, "a": 1}}, ["RR", "P@2"], bounds=True)
        >>> scores.mean(), scores.at_worst().mean(), scores.at_best().mean()
        ({'RR': 0.5, 'P@2': 0.5}, {'RR': 0.5, 'P@2': 0.5}, {'RR': 1.0, 'P@2': 1.0})
        """
        return self.with_values(self._require_bounds().worst)

    def at_best(self) -> Scores:
        """Return the scores as they are if every unjudged document has the best grade for them."""
        return self.with_values(self._require_bounds().best)

    def _require_bounds(self) -> Bounds:
        if self.bounds is None:
            raise UsageError(f"the scores of {self.name!r} have no bounds; compute them with bounds=True")
        return self.bounds

    def with_values(self, values: Floats, reason: str = _NO_BOUNDS) -> Scores:
        """Return the table with other values; NaN is missing for the same reason as before, or else for this one."""
        missing = np.isnan(values)
        codes = np.where(missing, np.where(self.codes == 0, len(self.reasons) + 1, self.codes), 0)
        return replace(self, values=values, codes=codes.astype(np.uint8), reasons=(*self.reasons, reason), bounds=None)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dict per query; a missing value is None.

        >>> import karat
        >>> karat.score({"q1": {"a": 1}}, {"q1": {"a": 2.0}}, ["RR@10"]).to_dicts()
        [{'query_id': 'q1', 'RR@10': 1.0}]
        """
        return [
            {"query_id": query, **dict(zip(self.measures, row, strict=True))}
            for query, row in zip(self.queries, self._rows(), strict=True)
        ]

    def to_polars(self) -> polars.DataFrame:
        """Return a Polars frame: ``query_id`` and one column per measure, null for a missing value."""
        import polars

        columns: dict[str, Any] = {"query_id": polars.Series(self.queries, dtype=polars.String)}
        for j, name in enumerate(self.measures):
            columns[name] = polars.Series(self.values[:, j]).fill_nan(None)
        return polars.DataFrame(columns)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas frame: the query ids as its index, one column per measure, NaN for a missing value."""
        try:
            import pandas
        except ImportError as error:
            raise UsageError(f"to_pandas() needs pandas ({error}); pip install pandas") from None

        index = pandas.Index(list(self.queries), name="query_id", dtype=object)
        return pandas.DataFrame(np.array(self.values), index=index, columns=list(self.measures))

    def __repr__(self) -> str:
        """Return the name, the number of queries and the means in one line: the table would fill screens."""
        means = ", ".join(f"{name} {self._show_mean(name)[0]}" for name in self.measures)
        failed = f", {len(self.failures):,} failed" if self.failures else ""
        return f"<Scores of {self.name!r}, {self.total:,} queries{failed}: {means or 'no measures'}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: each measure with its mean, its n and how its values are spread."""
        rows = [[name, *self._show_mean(name), self._draw_values(name)] for name in self.measures]
        missing = (
            f"{name}: {n:,} without a value, {why}" for name in self.measures for why, n in self.missing(name).items()
        )
        return show_table(
            self.name, ["measure", "mean", "queries", "values"], rows, [*self._describe_failed(), *missing]
        )

    def _describe_failed(self) -> Iterator[str]:
        if self.failures:
            query, error = next(iter(self.failures.items()))
            yield f"{len(self.failures):,} of {self.total:,} queries failed, such as {query}: {error}"

    def _show_mean(self, name: str) -> tuple[str, str]:
        n = self.count(name)
        return f"{self._mean(name):.4f}" if n else "-", f"{n:,} of {self.total:,}"

    def _draw_values(self, name: str) -> Markup:
        values = self.present(name)[1]
        if not len(values):
            return Markup("-")
        low, high = min(0.0, float(values.min())), max(1.0, float(values.max()))
        counts = np.histogram(values, bins=_BARS, range=(low, high))[0].tolist()
        return draw_bars(counts, f"{name} by query: {len(values):,} values from {low:g} to {high:g} in {_BARS} ranges")

    def _rows(self) -> Iterator[list[float | None]]:
        if not self.codes.any():
            yield from self.values.tolist()
            return
        for row, codes in zip(self.values.tolist(), self.codes.tolist(), strict=True):
            yield [None if code else value for value, code in zip(row, codes, strict=True)]

    def _mean(self, name: str) -> float:
        return average(self.present(name)[1], self.aggregates.get(name, "mean"))

    def _column(self, measure: str | Measure) -> int:
        name = str(measure)
        if name not in self.columns:
            with suppress(MeasureError):  # an alias, or another spelling
                name = str(Measure.parse(measure))
        if name not in self.columns:
            hint = did_you_mean(name, self.measures) or f"; they have {', '.join(self.measures)}"
            raise UsageError(f"no measure {str(measure)!r} in these scores{hint}")
        return self.columns[name]

    def _row(self, query: str) -> int:
        row = self.rows.get(str(query))
        if row is None:
            raise UsageError(f"no query {query!r} in these scores{did_you_mean(str(query), self.queries)}")
        return row

    @cached_property
    def rows(self) -> dict[str, int]:
        """The row of each query."""
        return {query: row for row, query in enumerate(self.queries)}

    @cached_property
    def _absent(self) -> frozenset[str]:
        return frozenset(self.not_in_run)

    @cached_property
    def columns(self) -> dict[str, int]:
        """The column of each measure."""
        return {measure: column for column, measure in enumerate(self.measures)}


def average(values: Iterable[float], aggregate: str = "mean") -> float:
    """Return the mean of values, or their geometric mean if ``aggregate`` says so; NaN if there are none.

    >>> average([0.5, 0.5, 0.25, 1.0]), round(average([0.25, 1.0], "geometric"), 12)
    (0.5625, 0.5)
    """
    numbers = np.asarray(values if isinstance(values, np.ndarray) else list(values), np.float64)
    if not len(numbers):
        return math.nan
    if aggregate == "geometric":
        return math.exp(sum_exactly(np.log(np.maximum(numbers, LOWEST_FOR_GEOMETRIC_MEAN))) / len(numbers))
    return sum_exactly(numbers) / len(numbers)  # which does not depend on the order of the queries
