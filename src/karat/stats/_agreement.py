"""How far people who graded the same things agree, beyond what chance would give."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Weights = Literal["none", "linear", "quadratic"]
Level = Literal["nominal", "ordinal", "interval"]


def cohen_kappa(first: ArrayLike, second: ArrayLike, *, weights: Weights = "none") -> float:
    """Cohen's kappa of two annotators who graded the same things, in whole numbers.

    With quadratic weights a difference of two grades weighs four times as much as one of one grade. NaN where chance
    alone would agree perfectly: both gave one and the same grade throughout.

    Cohen, Weighted kappa, Psychological Bulletin 70(4), 1968.

    >>> round(cohen_kappa([3, 2, 0, 1], [3, 1, 0, 1], weights="quadratic"), 4)
    0.9
    """
    a, b = np.asarray(first), np.asarray(second)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"grades of shapes {a.shape} and {b.shape}; both annotators grade the same things")
    grades, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
    observed = np.zeros((len(grades), len(grades)))
    np.add.at(observed, (codes[: len(a)], codes[len(a) :]), 1)
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / max(len(a), 1)
    distance = np.abs(grades[:, None] - grades[None, :]).astype(float)
    weight = {"none": (distance > 0).astype(float), "linear": distance, "quadratic": distance**2}[weights]
    chance = float((weight * expected).sum())
    return 1 - float((weight * observed).sum()) / chance if chance else float("nan")


def krippendorff_alpha(ratings: ArrayLike, *, level: Level = "ordinal") -> float:
    """Krippendorff's alpha over any number of annotators, each of whom may have left things out (NaN).

    ``ratings`` has a row per annotator and a column per thing. NaN where nothing was graded twice, or all grades are
    one and the same.

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
    per_thing = counts.sum(axis=1)
    # Each thing gives its pairs of grades by different annotators, weighted so that it counts once per grade.
    pairs = (counts / (per_thing - 1)[:, None]).T @ counts - np.diag((counts / (per_thing - 1)[:, None]).sum(axis=0))
    totals = pairs.sum(axis=1)
    distance = _distance(grades, totals, level)
    chance = float((np.outer(totals, totals) * distance).sum()) / float(totals.sum() - 1)
    return 1 - float((pairs * distance).sum()) / chance if chance else float("nan")


def _distance(grades: NDArray[np.float64], totals: NDArray[np.float64], level: Level) -> NDArray[np.float64]:
    """Give the squared distance of each two grades at a level of measurement."""
    if level == "nominal":
        different: NDArray[np.float64] = (grades[:, None] != grades[None, :]).astype(np.float64)
        return different
    if level == "ordinal":
        # The number of grades given between the two, each end counted half.
        middle = np.cumsum(totals) - totals / 2
        squared: NDArray[np.float64] = (middle[:, None] - middle[None, :]) ** 2
        return squared
    difference: NDArray[np.float64] = (grades[:, None] - grades[None, :]) ** 2
    return difference
