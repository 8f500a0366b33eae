"""Per-query differences as all tests use them: checked, one-dimensional, and summed by cluster."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from karat.core import UsageError, did_you_mean

Floats = NDArray[np.float64]
Alternative = Literal["two-sided", "less", "greater"]

TIE = 1e-9
"""Scores of one query that differ by no more than this are equal."""

ROUNDING = 1e-12
"""A result below this share of the numbers that it was computed from is rounding error, and counts as 0."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """Differences of pairs, and their sums by cluster; without clusters each pair is its own."""

    values: Floats
    sums: Floats
    sizes: Floats
    clusters: int | None
    """The number of clusters; None without labels."""

    @property
    def n(self) -> int:
        """The number of differences."""
        return len(self.values)

    @property
    def units(self) -> int:
        """The number of independent units: clusters, or differences."""
        return len(self.sums)

    @property
    def mean(self) -> float:
        """The mean of the differences, each with the same weight whatever its cluster."""
        return float(self.sums.sum()) / self.n

    @property
    def scale(self) -> float:
        """The largest possible sum of a cluster, with which sums are compared."""
        return float(np.abs(self.values).max() * self.sizes.max())

    @property
    def error(self) -> float | None:
        """The standard error of the mean, by clusters; None for a single cluster or difference.

        Without clusters it is sd / sqrt(n). With clusters it is that of a regression on a constant with clustered
        errors. For clusters of equal size it is the standard error of their means.
        """
        if self.units < 2:
            return None
        residuals = self.sums - self.sizes * self.mean
        if float(np.abs(residuals).max()) <= ROUNDING * self.scale:
            return 0.0
        return math.sqrt(float((residuals * residuals).sum()) * self.units / (self.units - 1)) / self.n

    @property
    def sd(self) -> float | None:
        """The standard deviation of n independent differences with the same standard error."""
        return None if self.error is None else self.error * math.sqrt(self.n)


def sample(differences: ArrayLike, clusters: Iterable[object] | None = None, *, least: int = 1) -> Sample:
    """Return differences, checked and summed by the labels of their clusters.

    >>> sample([0.1, -0.1, 0.3], ["a", "b", "a"]).sums.tolist()
    [0.4, -0.1]
    >>> sample([0.1, float("nan")])
    Traceback (most recent call last):
        ...
    karat.core._errors.UsageError: differences[1] is nan, which is not a finite number
    """
    values = finite(differences, "differences")
    if clusters is None:
        sums, sizes = values, np.ones(len(values))
    else:
        codes, count = cluster_codes(clusters, len(values))
        sums = np.bincount(codes, weights=values, minlength=count).astype(np.float64)
        sizes = np.bincount(codes, minlength=count).astype(np.float64)
    if len(sums) < least:
        what = "clusters" if clusters is not None else "differences"
        raise UsageError(f"{len(sums)} {what}: at least {least} are needed")
    return Sample(values=values, sums=sums, sizes=sizes, clusters=None if clusters is None else len(sums))


def finite(values: ArrayLike, name: str) -> Floats:
    """Return a one-dimensional array of finite numbers; the error for anything else has its name and index."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} should be a list of numbers: {error}") from None
    if array.ndim != 1:
        raise UsageError(f"{name} of shape {array.shape}: one list of numbers is needed")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise UsageError(f"{name}[{bad[0]}] is {array[bad[0]]}, which is not a finite number")
    return array


def pairs(baseline: ArrayLike, candidate: ArrayLike) -> tuple[Floats, Floats]:
    """Return the scores of two runs as arrays of equal length."""
    before, after = finite(baseline, "baseline"), finite(candidate, "candidate")
    if len(before) != len(after):
        raise UsageError(f"{len(before)} baseline and {len(after)} candidate scores: both need one per query")
    return before, after


def check_alternative(alternative: str) -> None:
    """Refuse an unknown alternative."""
    alternatives = get_args(Alternative)
    if alternative not in alternatives:
        raise UsageError(f"unknown alternative {alternative!r}{did_you_mean(str(alternative), alternatives)}")


def check_share(name: str, share: float) -> None:
    """Refuse a probability that is not between 0 and 1."""
    if not 0 < share < 1:
        raise UsageError(f"{name} {share} should lie between 0 and 1")


def check_resamples(resamples: int) -> None:
    """Refuse fewer resamples than one."""
    if resamples < 1:
        raise UsageError(f"{resamples} resamples: at least 1 is needed")


def cluster_codes(clusters: Iterable[object], n: int) -> tuple[NDArray[np.intp], int]:
    """Return a number for each label, in order of first appearance, and how many there are."""
    labels = clusters.tolist() if isinstance(clusters, np.ndarray) else list(clusters)
    if len(labels) != n:
        raise UsageError(f"{len(labels)} cluster labels for {n} differences: every pair needs one")
    numbers: dict[object, int] = {}
    try:
        codes = [numbers.setdefault(label, len(numbers)) for label in labels]
    except TypeError:
        raise UsageError("cluster labels should be a list of names or numbers") from None
    odd = next((label for label in numbers if label is None or label != label), "")
    if odd is None or odd != odd:
        raise UsageError(f"clusters[{codes.index(numbers[odd])}] is {odd}; every pair needs a label")
    return np.array(codes, dtype=np.intp), len(numbers)
