"""The step-down test of Westfall and Young: sign flips of several measures at once, corrected for their number.

The measures of a gate fall together, so that a correction which treats them as unrelated, such as Holm's, gives most of
its level away. Here one sign is drawn for each query and applied to all measures: the flips have the same correlations
as the scores. The adjusted p of a measure is the share of flips in which it, or any measure with a weaker result, is at
least as extreme. Two measures that always agree cost no more than one.

As in :mod:`karat.stats._permutation`, eight signs make one byte, which looks up the sum of its eight differences. There
is no linear algebra, so that results have the same bits on any number of threads.

Westfall and Young, Resampling-Based Multiple Testing, 1993, algorithm 2.8; Ge, Dudoit and Speed, Resampling-based
multiple testing for microarray data analysis, Test 12(1), 2003, box 2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from karat.core import UsageError
from karat.stats._permutation import EXACT, all_sums, random_bytes
from karat.stats._sample import ROUNDING, Alternative, Floats, check_alternative, check_resamples, cluster_codes

_BITS = 8
_NEAR = 1e-10  # relative: statistics closer than this differ only by the order of their additions
_FLIPS_AT_ONCE = 1 << 16
_CELLS_AT_ONCE = 1 << 21
_GROUPS_AT_ONCE = 64
_TABLES_AT_ONCE = 1 << 12  # of 2 KB each
Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepDown:
    """The result of a step-down test; arrays have one number for each measure, in the order of the input."""

    statistic: Floats
    """The sum of the differences over the root of the sum of their squares; 0 where nothing changed."""
    p: Floats
    """The p-value of each measure by itself, from the same flips."""
    adjusted: Floats
    """The p-values corrected for all measures."""
    alternative: Alternative
    exact: bool
    """Whether all combinations of signs were tried."""
    resamples: int
    """The number of combinations that were tried."""
    changed: int
    """The number of queries, or clusters, that changed in any measure."""


def westfall_young(
    differences: ArrayLike,
    *,
    rng: np.random.Generator,
    resamples: int = 9_999,
    alternative: Alternative = "two-sided",
    clusters: Iterable[object] | None = None,
) -> StepDown:
    """Test several measures on the same queries, and correct their p-values for each other.

    ``differences`` has a row for each measure and a column for each query. NaN marks a query that a measure is not
    defined for, and counts as no change. With up to 16 changed queries p is exact, and ``rng`` is not used; otherwise
    it is (b + 1) / (resamples + 1). For a single measure both p-values are those of :func:`karat.stats.permutation`.
    Queries with the same label in ``clusters`` flip together. Turn a measure where lower is better first.

    >>> lost = [-1, -1, -1, -1, -1, 0, 0]
    >>> test = westfall_young([lost, [-0.5, -1, -0.5, -1, -1, 0, 0]], rng=np.random.default_rng(1), alternative="less")
    >>> test.adjusted.tolist(), test.exact, test.changed
    ([0.03125, 0.03125], True, 5)
    """
    check_alternative(alternative)
    check_resamples(resamples)
    rows = _unit_rows(differences, clusters)
    rows = rows[:, np.any(rows != 0, axis=0)]
    changed = rows.shape[1]
    exact = changed <= EXACT
    tried = 1 << changed if exact else resamples
    oriented = -rows if alternative == "greater" else rows
    statistic = oriented.sum(axis=1)
    own, joint = _count_extreme(oriented, statistic, rng, tried, exact=exact, both=alternative == "two-sided")
    extra = 0 if exact else 1  # the data themselves are one of the flips that might have been drawn
    return StepDown(
        statistic=-statistic if alternative == "greater" else statistic,
        p=(own + extra) / (tried + extra),
        adjusted=(joint + extra) / (tried + extra),
        alternative=alternative,
        exact=exact,
        resamples=tried,
        changed=changed,
    )


def _unit_rows(differences: ArrayLike, clusters: Iterable[object] | None) -> Floats:
    """Return the differences summed by cluster, with each row scaled to length 1, so that its sum is the statistic."""
    try:
        values = np.asarray(differences, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"differences should be a table of numbers: {error}") from None
    if values.ndim != 2:
        raise UsageError(f"differences of shape {values.shape}: a row for each measure is needed")
    if clusters is None:  # most queries change in no measure; NaN is neither above nor below 0
        values = values[:, ((values > 0) | (values < 0)).any(axis=0)]
    values = np.where(np.isnan(values), 0.0, values)
    if not np.isfinite(values).all():
        raise UsageError("differences should be finite numbers, or NaN where a measure is not defined")
    scale = np.abs(values).max(axis=1, initial=0.0)
    if clusters is not None:
        labels = list(clusters)
        scale = scale * max(Counter(labels).values(), default=0)
        values = sum_clusters(values, labels)
    # Row by row, which the processor's cache has room for.
    rows = [_scale_row(values[i : i + 1], scale[i]) for i in range(len(values))]
    return np.concatenate(rows) if rows else values


def _scale_row(values: Floats, scale: float) -> Floats:
    """Return a row of length 1; what is within rounding error counts as 0."""
    values = np.where(np.abs(values) > ROUNDING * scale, values, 0.0)
    with np.errstate(invalid="ignore"):
        values = np.nan_to_num(values / scale)  # squares of very small differences would vanish
        row: Floats = np.nan_to_num(values / np.sqrt((values * values).sum(axis=1, keepdims=True)))
    return row


def sum_clusters(differences: Floats, clusters: Iterable[object]) -> Floats:
    """Return the sums of the columns with the same label; NaN counts as 0."""
    codes, count = cluster_codes(clusters, differences.shape[1])
    rows = np.nan_to_num(differences)
    return np.stack([np.bincount(codes, weights=row, minlength=count) for row in rows])


def _count_extreme(
    rows: Floats, statistic: Floats, rng: np.random.Generator, tried: int, *, exact: bool, both: bool
) -> tuple[Floats, Floats]:
    """Return for each measure how many flips are as extreme in it, and how many in it or any weaker one, made monotone.

    Extreme means low; with ``both``, low or high.
    """
    observed = -np.abs(statistic) if both else statistic
    limits = observed + _NEAR * np.abs(rows).sum(axis=1)
    loosest = observed + _NEAR * np.abs(rows).sum(axis=1).max(initial=0.0)
    strongest_last = np.argsort(-observed, kind="stable")
    own, joint = np.zeros(len(rows)), np.zeros(len(rows))
    for sums in _flipped_sums(rows, rng, tried, exact=exact):
        if both:
            np.negative(np.abs(sums, out=sums), out=sums)
        own += (sums <= limits[:, None]).sum(axis=1)
        lowest = np.minimum.accumulate(sums[strongest_last], axis=0)
        joint[strongest_last] += (lowest <= loosest[strongest_last, None]).sum(axis=1)
    strongest_first = strongest_last[::-1]
    joint[strongest_first] = np.maximum.accumulate(joint[strongest_first])
    return own, joint


def _flipped_sums(rows: Floats, rng: np.random.Generator, tried: int, *, exact: bool) -> Iterator[Floats]:
    """Yield the sums of all rows under the same signs, a column for each combination, some columns at a time."""
    order = _order_by_support(rows)
    padded = np.zeros((len(rows), -(-rows.shape[1] // _BITS) * _BITS))
    padded[:, : rows.shape[1]] = rows[:, order]
    groups = padded.reshape(len(rows), -1, _BITS).transpose(1, 0, 2)
    at_once = max(min(_FLIPS_AT_ONCE, _CELLS_AT_ONCE // max(len(rows), 1)), 1)
    for start in range(0, tried, at_once):
        flips = min(at_once, tried - start)
        sums = np.zeros((flips, len(rows)))
        for first in range(0, len(groups), _GROUPS_AT_ONCE):
            some = groups[first : first + _GROUPS_AT_ONCE]
            signs = _all_bytes(start, flips, first, len(some)) if exact else random_bytes(rng, len(some), flips)
            for run in _find_runs(some):
                _add_flips(sums, some[run], signs[run])
        yield sums.T


def _find_runs(groups: Floats) -> Iterator[slice]:
    """Yield the runs of consecutive groups that have queries of the same measures."""
    used = np.any(groups != 0, axis=2)
    ends = np.flatnonzero((used[1:] != used[:-1]).any(axis=1)) + 1
    yield from map(slice, [0, *ends], [*ends, len(groups)])


def _add_flips(sums: Floats, groups: Floats, signs: Bytes) -> None:
    """Add what groups of eight queries contribute to the sums of the measures that they have, in the order of groups.

    A table has the sums of all measures for each combination of signs in a row, so that one look-up serves them all.
    """
    used = np.flatnonzero(groups[0].any(axis=1))
    part = sums.take(used, axis=1)
    addends = np.empty_like(part)
    at_once = max(_TABLES_AT_ONCE // max(len(used), 1), 1)
    for first in range(0, len(groups), at_once):
        some = groups[first : first + at_once, used]
        tables = all_sums(some.reshape(-1, _BITS)).reshape(*some.shape[:2], -1).transpose(0, 2, 1).copy()
        for table, column in zip(tables, signs[first : first + at_once], strict=True):
            # No byte is beyond the table. To clip, not to look, takes half of the time of table[column].
            part += table.take(column.astype(np.intp), axis=0, out=addends, mode="clip")
    sums[:, used] = part


def _order_by_support(rows: Floats) -> NDArray[np.intp]:
    """Return an order of the queries in which those with the same measures stand together.

    A group of eight queries costs nothing in a measure that none of them has, such as one on another segment.
    """
    return np.lexsort((rows == 0)[::-1])  # stable, so that a single measure keeps its order


def _all_bytes(start: int, flips: int, first: int, groups: int) -> Bytes:
    """Return the bytes of consecutive whole numbers, which are all combinations of signs in turn."""
    numbers = np.arange(start, start + flips)
    return np.stack([(numbers >> (_BITS * (first + group))) & 0xFF for group in range(groups)]).astype(np.uint8)
