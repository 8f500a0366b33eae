"""trec_eval's measures with gains from the command line, and its ideal list, which may be out of order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from karat.core import Floats
from karat.measures._alignment import Alignment, Ints


def sum_in_order(values: Floats) -> float:
    """Return the sum, added from the first value to the last, so that it equals trec_eval's to the last bit."""
    return 0.0 + float(np.cumsum(values)[-1]) if len(values) else 0.0


def rankings(a: Alignment, rows: Ints, gains: Mapping[int, float]) -> Iterator[tuple[Floats, Floats]]:
    """Yield, for each query in ``rows``, the gains down its ranking and down the ideal list."""
    for row in rows.tolist():
        here = slice(a.starts[row], a.starts[row + 1])
        grades, ranks = a.grades[here], a.ranks[here]
        own = np.zeros(a.retrieved[row])
        retrieved = (ranks > 0) & (grades >= 0)
        own[ranks[retrieved] - 1] = [gains.get(grade, grade) for grade in grades[retrieved].tolist()]
        yield own, np.array(_ideal(gains, Counter(grades[grades >= 0].tolist())), np.float64)


def _ideal(gains: Mapping[int, float], counts: Mapping[int, int]) -> list[float]:
    """Return the gains of trec_eval's ideal list, which are out of order when gains are less than 1 apart.

    >>> _ideal({1: 3.5, 2: 9.0}, {0: 4, 1: 1, 2: 2})
    [9.0, 9.0, 3.5]
    >>> _ideal({1: 0.5}, {0: 4, 1: 1, 2: 2})
    [2.0, 2.0]
    """
    # Grades that no document has take part in the sorting; the limit is for absurdly large grades.
    grades = sorted({*range(min(max(counts, default=0), 1000)), *counts})
    ordered = _sorted([*gains.items(), *((grade, float(grade)) for grade in grades if grade not in gains)])
    ideal: list[float] = []
    for grade, gain in reversed(ordered if ordered[-1][1] > 0 else []):
        if gain <= 0 and counts.get(grade):
            break
        ideal += [gain] * counts.get(grade, 0)
    return ideal


def _sorted(gains: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Sort like the C library with trec_eval's comparison, which ignores differences of less than 1."""
    if len(gains) < 2:
        return gains
    half = len(gains) // 2
    left, right, merged = _sorted(gains[:half]), _sorted(gains[half:]), []
    while left and right:
        merged.append((left if int(left[0][1] - right[0][1]) <= 0 else right).pop(0))
    return merged + left + right


def _dcg(gains: Floats) -> Floats:
    """Return the discounted cumulative gain at each rank, from rank 0 on."""
    return np.concatenate([[0.0], np.cumsum(gains / np.log2(np.arange(2, len(gains) + 2)))])


def ndcg(own: Floats, ideal: Floats) -> float:
    """Return nDCG."""
    return float(_dcg(own)[-1] / _dcg(ideal)[-1]) if len(ideal) else 0.0


def ndcg_rel(own: Floats, ideal: Floats) -> float:
    """Return nDCG averaged over the documents with a gain; those not retrieved count at the end of the ranking."""
    dcg, best = _dcg(own), _dcg(ideal)
    at = np.flatnonzero(own > 0) + 1
    with np.errstate(divide="ignore", invalid="ignore"):  # an ideal list out of order can be empty
        total = sum_in_order(dcg[at] / best[np.minimum(at, len(ideal))]) + (len(ideal) - len(at)) * dcg[-1] / best[-1]
        return float(np.divide(total, len(ideal))) if total > 0 else 0.0


def rndcg(own: Floats, ideal: Floats) -> float:
    """Return nDCG averaged over the ranks at which the gain of the ideal list changes."""
    if not len(ideal):
        return math.nan
    dcg, best = _dcg(own), _dcg(ideal)
    ends = np.flatnonzero(np.append(ideal[1:] != ideal[:-1], True)) + 1
    values = dcg[np.minimum(ends, len(own))] / best[ends]
    if len(own) > len(ideal) + 1:
        values = np.append(values, dcg[-1] / best[-1])
    return sum_in_order(values) / len(values)


def gain(own: Floats, ideal: Floats) -> float:
    """Return G: the sum of gains, each discounted by how far the ranking lags behind the ideal list."""
    if not len(ideal):
        return 0.0
    cost = np.ones(max(len(own), len(ideal)))
    cost[: len(ideal)] = np.maximum(ideal, 1.0)
    lag = 2 + np.cumsum(cost)[: len(own)] - np.cumsum(own)
    useful = own != 0
    with np.errstate(divide="ignore", invalid="ignore"):  # a ranking can outrun an ideal list out of order
        return sum_in_order(own[useful] / np.log2(lag[useful])) / sum_in_order(ideal)
