"""Per-query numbers as every test here sees them: checked, one-dimensional, and added up by cluster."""

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
"""Scores of one query that differ by no more than this are the same score (requirement H10)."""

ROUNDING = 1e-12
"""What is smaller than this share of the numbers it was computed from is rounding, and counts as 0."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """Differences of pairs, and what they add up to in each cluster; without clusters each pair is its own."""

    values: Floats
    sums: Floats
    sizes: Floats
    clusters: int | None
    """How many clusters there are; None where no labels were given."""

    @property
    def n(self) -> int:
        """How many differences there are."""
        return len(self.values)

    @property
    def units(self) -> int:
        """How many things vary independently: clusters, or differences."""
        return len(self.sums)

    @property
    def mean(self) -> float:
        """The mean of the differences, each with the same weight whatever its cluster."""
        return float(self.sums.sum()) / self.n

    @property
    def scale(self) -> float:
        """The most that a cluster could add up to: what sums are large or small beside."""
        return float(np.abs(self.values).max() * self.sizes.max())

    @property
    def error(self) -> float | None:
        """The standard error of the mean, clusters moving as one; None for a single cluster or difference.

        Without clusters it is sd / sqrt(n). With them it is the linearised error of a ratio, sum of the clusters over
        n: that of a regression on a constant with clustered errors. Equal clusters make it the error of their means.
        """
        if self.units < 2:
            return None
        residuals = self.sums - self.sizes * self.mean
        if float(np.abs(residuals).max()) <= ROUNDING * self.scale:
            return 0.0
        return math.sqrt(float((residuals * residuals).sum()) * self.units / (self.units - 1)) / self.n

    @property
    def sd(self) -> float | None:
        """The standard deviation that n independent differences would need for the same error."""
        return None if self.error is None else self.error * math.sqrt(self.n)


def sample(differences: ArrayLike, clusters: Iterable[object] | None = None, *, least: int = 1) -> Sample:
    """Check differences, and add them up by the labels of their clusters.

    >>> sample([0.1, -0.1, 0.3], ["a", "b", "a"]).sums.tolist()
    [0.4, -0.1]
    >>> sample([0.1, float("nan")])
    Traceback (most recent call last):
        ...
    karat.core._errors.UsageError: differences[1] is nan, which is no finite number
    """
    values = finite(differences, "differences")
    if clusters is None:
        sums, sizes = values, np.ones(len(values))
    else:
        codes, count = _codes(clusters, len(values))
        sums = np.bincount(codes, weights=values, minlength=count).astype(np.float64)
        sizes = np.bincount(codes, minlength=count).astype(np.float64)
    if len(sums) < least:
        what = "clusters" if clusters is not None else "differences"
        raise UsageError(f"{len(sums)} {what}: at least {least} are needed")
    return Sample(values=values, sums=sums, sizes=sizes, clusters=None if clusters is None else len(sums))


def finite(values: ArrayLike, name: str) -> Floats:
    """Give a one-dimensional array of finite numbers; refuse anything else by its name and place."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} should be a list of numbers: {error}") from None
    if array.ndim != 1:
        raise UsageError(f"{name} of shape {array.shape}: one list of numbers is needed")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise UsageError(f"{name}[{bad[0]}] is {array[bad[0]]}, which is no finite number")
    return array


def pairs(baseline: ArrayLike, candidate: ArrayLike) -> tuple[Floats, Floats]:
    """Give the scores of two runs, one each per query."""
    one, other = finite(baseline, "baseline"), finite(candidate, "candidate")
    if len(one) != len(other):
        raise UsageError(f"{len(one)} baseline and {len(other)} candidate scores: both need one per query")
    return one, other


def check_alternative(alternative: str) -> None:
    """Refuse an alternative that no test has."""
    known = get_args(Alternative)
    if alternative not in known:
        raise UsageError(f"unknown alternative {alternative!r}{did_you_mean(str(alternative), known)}")


def check_share(name: str, share: float) -> None:
    """Refuse a probability that is not between 0 and 1."""
    if not 0 < share < 1:
        raise UsageError(f"{name} {share} should lie between 0 and 1")


def check_resamples(resamples: int) -> None:
    """Refuse fewer resamples than one."""
    if resamples < 1:
        raise UsageError(f"{resamples} resamples: at least 1 is needed")


def _codes(clusters: Iterable[object], n: int) -> tuple[NDArray[np.intp], int]:
    """Number the labels in the order in which they first come."""
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
