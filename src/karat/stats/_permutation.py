"""The sign-flip test: how often the mean difference would be as large if the runs were swapped at random.

If the runs differ by chance only, each pair might as well be the other way round. With few differences all 2^k
combinations of signs are tried; with many, random ones. Eight signs make one byte, which looks up the sum of its eight
differences, so that a flip costs an eighth of an addition. There is no linear algebra, so that results have the same
bits on any number of threads.

Fisher, The Design of Experiments, 1935; Smucker, Allan and Carterette, A comparison of statistical significance tests
for information retrieval evaluation, CIKM 2007; Phipson and Smyth, Permutation p-values should never be zero, 2010.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from karat.stats._sample import ROUNDING, Alternative, Floats, check_alternative, check_resamples, sample

EXACT = 16
"""Up to this number of non-zero differences all 65,536 combinations of signs are tried."""

_BITS = 8
_NEAR = 1e-10  # relative: sums closer than this differ only by the order of their additions
_FLIPS_AT_ONCE = 1 << 16
_GROUPS_AT_ONCE = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Permutation:
    """The result of a sign-flip test."""

    estimate: float
    p: float
    alternative: Alternative
    exact: bool
    """Whether all combinations of signs were tried."""
    resamples: int
    """The number of combinations that were tried."""
    n: int
    changed: int
    """The number of differences, or sums of clusters, that are not 0."""
    clusters: int | None = None


def permutation(
    differences: ArrayLike,
    *,
    rng: np.random.Generator,
    resamples: int = 9_999,
    alternative: Alternative = "two-sided",
    clusters: Iterable[object] | None = None,
) -> Permutation:
    """Test whether the mean of paired differences is 0, by flipping signs.

    With up to 16 non-zero differences p is exact, and ``rng`` is not used. Otherwise it is (b + 1) / (resamples + 1),
    where b counts the flips that are at least as extreme; it is never 0. ``"less"`` tests for a drop. Differences with
    the same label in ``clusters`` flip together.

    >>> test = permutation([-0.5, -0.5, -1, 0, -0.25, -0.5], rng=np.random.default_rng(1), alternative="less")
    >>> test.p == 1 / 32, test.exact
    (True, True)
    """
    check_alternative(alternative)
    check_resamples(resamples)
    pairs = sample(differences, clusters)
    near = _NEAR * float(np.abs(pairs.values).sum())
    values = pairs.sums[np.abs(pairs.sums) > ROUNDING * pairs.scale]
    exact = len(values) <= EXACT
    total = float(values.sum())
    extreme = sum(
        _count_extreme(sums, total, near, alternative)
        for sums in ([all_sums(values[None, :])[0]] if exact else _drawn_sums(values, rng, resamples))
    )
    tried = 1 << len(values) if exact else resamples
    return Permutation(
        estimate=pairs.mean,
        p=extreme / tried if exact else (extreme + 1) / (tried + 1),
        alternative=alternative,
        exact=exact,
        resamples=tried,
        n=pairs.n,
        changed=len(values),
        clusters=pairs.clusters,
    )


def _count_extreme(sums: Floats, total: float, near: float, alternative: Alternative) -> int:
    """Return the number of sums that are at least as extreme as the observed one."""
    if alternative == "less":
        return int((sums <= total + near).sum())
    if alternative == "greater":
        return int((sums >= total - near).sum())
    return int((np.abs(sums) >= abs(total) - near).sum())


def all_sums(rows: Floats) -> Floats:
    """Return the 2^k sums with all combinations of signs, for each row of k numbers.

    >>> all_sums(np.array([[1.0, 10.0]])).tolist()
    [[-11.0, -9.0, 9.0, 11.0]]
    """
    sums: Floats = -rows.sum(axis=1, keepdims=True)
    for column in rows.T:
        sums = np.concatenate([sums, sums + 2 * column[:, None]], axis=1)
    return sums


def _drawn_sums(values: Floats, rng: np.random.Generator, resamples: int) -> Iterator[Floats]:
    """Yield the sums under random signs, some of the resamples at a time."""
    padded = np.zeros(-(-len(values) // _BITS) * _BITS)
    padded[: len(values)] = values
    groups = padded.reshape(-1, _BITS)
    for start in range(0, resamples, _FLIPS_AT_ONCE):
        sums = np.zeros(min(_FLIPS_AT_ONCE, resamples - start))
        places, addends = np.empty(len(sums), np.intp), np.empty(len(sums))
        for first in range(0, len(groups), _GROUPS_AT_ONCE):
            tables = all_sums(groups[first : first + _GROUPS_AT_ONCE])
            for table, signs in zip(tables, random_bytes(rng, len(tables), len(sums)), strict=True):
                places[:] = signs
                # No byte is beyond the table. To clip, not to look, takes half of the time of table[signs].
                sums += table.take(places, out=addends, mode="clip")
        yield sums


def random_bytes(rng: np.random.Generator, rows: int, columns: int) -> NDArray[np.uint8]:
    """Return random bytes, each of which holds eight signs."""
    words = rng.integers(0, 2**64, -(-rows * columns // 8), dtype=np.uint64)
    return words.view(np.uint8)[: rows * columns].reshape(rows, columns)
