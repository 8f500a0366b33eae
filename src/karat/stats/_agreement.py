"""Agreement of annotators beyond chance."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Weights = Literal["none", "linear", "quadratic"]
Level = Literal["nominal", "ordinal", "interval"]


def cohen_kappa(first: ArrayLike, second: ArrayLike, *, weights: Weights = "none") -> float:
    """Return Cohen's kappa of two annotators who graded the same items, in whole numbers.

    With quadratic weights a difference of two grades weighs four times as much as a difference of one. NaN where
    chance alone would agree perfectly, because both gave the same grade to every item.

    Cohen, Weighted kappa, Psychological Bulletin 70(4), 1968.

    >>> round(cohen_kappa([3, 2, 0, 1], [3, 1, 0, 1], weights="quadratic"), 4)
    0.9
    """
    a, b = np.asarray(first), np.asarray(second)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"grades of shapes {a.shape} and {b.shape}; both annotators should grade the same items")
    grades, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
    observed = np.zeros((len(grades), len(grades)))
    np.add.at(observed, (codes[: len(a)], codes[len(a) :]), 1)
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / max(len(a), 1)
    distance = np.abs(grades[:, None] - grades[None, :]).astype(float)
    weight = {"none": (distance > 0).astype(float), "linear": distance, "quadratic": distance**2}[weights]
    chance = float((weight * expected).sum())
    return 1 - float((weight * observed).sum()) / chance if chance else float("nan")


def krippendorff_alpha(ratings: ArrayLike, *, level: Level = "ordinal") -> float:
    """Return Krippendorff's alpha of any number of annotators, who need not grade every item (NaN).

    ``ratings`` has a row per annotator and a column per item. NaN where no item was graded twice, or all grades are
    equal.

    Krippendorff, Content Analysis, 4th edition 2018, chapter 12.

    >>> nan = float("nan")
    >>> round(krippendorff_alpha([[1, 2, 3, nan], [1, 2, 3, 3], [1, 3, 3, 3]], level="interval"), 4)
    0.8889
    """
    table = np.asarray(ratings, dtype=float)
    table = table[:, (~np.isnan(table)).sum(axis=0) > 1]
    grades = np.unique(table[~np.isnan(table)])
    counts = np.stack([(table == grade).sum(axis=0) for grade in grades], axis=1) if len(grades) else np.zeros((0, 0))
    if counts.size == 0:
        return float("nan")
    per_item = counts.sum(axis=1)
    # Each item has pairs of grades by different annotators, weighted so that it counts once per grade.
    pairs = (counts / (per_item - 1)[:, None]).T @ counts - np.diag((counts / (per_item - 1)[:, None]).sum(axis=0))
    totals = pairs.sum(axis=1)
    distance = _distance(grades, totals, level)
    chance = float((np.outer(totals, totals) * distance).sum()) / float(totals.sum() - 1)
    return 1 - float((pairs * distance).sum()) / chance if chance else float("nan")


def _distance(grades: NDArray[np.float64], totals: NDArray[np.float64], level: Level) -> NDArray[np.float64]:
    """Return the squared distance of every two grades at a level of measurement."""
    if level == "nominal":
        different: NDArray[np.float64] = (grades[:, None] != grades[None, :]).astype(np.float64)
        return different
    if level == "ordinal":
        # The number of grades between the two, counting half of each end.
        middle = np.cumsum(totals) - totals / 2
        squared: NDArray[np.float64] = (middle[:, None] - middle[None, :]) ** 2
        return squared
    difference: NDArray[np.float64] = (grades[:, None] - grades[None, :]) ** 2
    return difference
