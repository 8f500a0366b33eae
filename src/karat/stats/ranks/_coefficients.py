"""Similarity of two ranked lists of ids: overlap weighted towards the top, correlation over the union, and moves.

``first`` is the list of the baseline, ``second`` that of the candidate. Ranks count from 1, and no list has an id
twice. In every number here two empty lists are alike (1), and an empty list has nothing in common with another (0).

Correlation is over all ids in either list. The ids that a list lacks are placed after its last, all tied, because all
that is known is that they would have come later. Correlation over the shared ids alone would call two lists identical
that share two ids of eighteen, in the same order.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import mul
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from karat.core import UsageError, shorten

Ranking: TypeAlias = Sequence[Hashable]
Direction = Literal["entered", "left", "up", "down"]


def rbo(first: Ranking, second: Ranking, p: float = 0.9) -> float:
    """Return the extrapolated rank-biased overlap: 0 for lists with nothing in common, 1 for equal lists.

    It is the mean overlap seen by a reader who goes on to the next rank with probability ``p``. At 0.9 the first ten
    ranks weigh 86 %. Below their ends the lists are taken to agree as far as above: a list that was only cut off has 1
    with the whole one, which is why Jaccard is shown beside it.

    Webber, Moffat, Zobel, A similarity measure for indefinite rankings, ACM TOIS 28(4), 2010, equation 32.

    >>> round(rbo(["a", "b", "c"], ["b", "a", "c"]), 4)
    0.9
    >>> rbo(["a", "b"], ["a", "b", "c", "d"])
    1.0
    """
    check_persistence(p)
    return overlap_of(match(first, second), p)


def kendall_tau(first: Ranking, second: Ranking) -> float:
    """Return Kendall's tau-b over the union: 1 for the same order, -1 for the reverse of the same ids.

    The ids that a list lacks are placed after its last, all tied. Two lists of n ids with nothing in common have
    -2n / (3n - 1), which is -1 for one id and -2/3 for many.

    Kendall, The treatment of ties in ranking problems, Biometrika 33(3), 1945.

    >>> round(kendall_tau(["a", "b", "c"], ["b", "a", "c"]), 4)
    0.3333
    >>> round(kendall_tau(["a", "b", "c"], ["a", "b", "d"]), 4)
    0.6667
    """
    return tau_of(match(first, second))


def spearman(first: Ranking, second: Ranking) -> float:
    """Return Spearman's rank correlation over the union: 1 for the same order, -1 for the reverse of the same ids.

    The ids that a list lacks are placed after its last, all tied: each has the mean of their ranks.

    Kendall, Gibbons, Rank Correlation Methods, 5th edition 1990, chapter 3.

    >>> spearman(["a", "b", "c"], ["b", "a", "c"])
    0.5
    """
    return rho_of(match(first, second))


def jaccard(first: Ranking, second: Ranking, k: int | None = None) -> float:
    """Return the share of ids in either top k that are in both; without ``k``, of the whole lists.

    >>> jaccard(["a", "b", "c"], ["b", "a", "d"]), jaccard(["a", "b", "c"], ["b", "a", "d"], k=2)
    (0.5, 1.0)
    """
    return jaccard_of(match(first, second, k))


def top1_changed(first: Ranking, second: Ranking) -> bool:
    """Return whether another id is first, or only one of the lists is empty.

    >>> top1_changed(["a", "b"], ["a", "c"]), top1_changed(["a"], [])
    (False, True)
    """
    return top1_changed_of(match(first, second))


@dataclass(frozen=True, slots=True, kw_only=True)
class RankChange:
    """An id whose rank differs between two lists."""

    id: Hashable
    direction: Direction
    """``up`` is towards rank 1."""
    before: int | None
    """Its rank in the first list; None if it entered."""
    after: int | None
    """Its rank in the second list; None if it left."""


def order_differences(first: Ranking, second: Ranking) -> tuple[RankChange, ...]:
    """Return every id whose rank differs: those of the second list in its order, then those that left.

    An id that enters moves all below it down by one, and each of them is listed.

    >>> for change in order_differences(["a", "b", "c"], ["b", "a", "d"]):
    ...     print(change.id, change.direction, change.before, change.after)
    b up 2 1
    a down 1 2
    d entered None 3
    c left 3 None
    """
    old, new = _ranks(first, "first"), _ranks(second, "second")
    moved = [_change(id_, old.get(id_), rank) for id_, rank in new.items() if old.get(id_) != rank]
    return (*moved, *(_change(id_, rank, None) for id_, rank in old.items() if id_ not in new))


def _change(id_: Hashable, before: int | None, after: int | None) -> RankChange:
    direction: Direction
    if before is None or after is None:
        direction = "entered" if before is None else "left"
    else:
        direction = "up" if after < before else "down"
    return RankChange(id=id_, direction=direction, before=before, after=after)


class Match(NamedTuple):
    """The lengths of two ranked lists, and the ranks of the ids that they share."""

    first: int
    second: int
    before: list[int]
    """The ranks of the shared ids in the first list, ascending."""
    after: list[int]
    """The ranks of the same ids in the second list."""

    @property
    def shared(self) -> int:
        """The number of ids in both lists."""
        return len(self.before)

    @property
    def union(self) -> int:
        """The number of ids in either list."""
        return self.first + self.second - self.shared


def match(first: Ranking, second: Ranking, k: int | None = None) -> Match:
    """Match two ranked lists, or their top k; refuse a list that has an id twice."""
    if k is not None and k < 1:
        raise UsageError(f"k is {k}; it should be at least 1")
    old, new = _ranks(first, "first"), _ranks(second, "second")
    sizes = (len(old), len(new)) if k is None else (min(len(old), k), min(len(new), k))
    pairs = [(rank, new[id_]) for id_, rank in old.items() if id_ in new]
    if sizes != (len(old), len(new)):
        pairs = [(before, after) for before, after in pairs if before <= sizes[0] and after <= sizes[1]]
    return Match(*sizes, [before for before, _ in pairs], [after for _, after in pairs])


def _ranks(ids: Ranking, which: str) -> dict[Hashable, int]:
    """Return the rank of every id, in order."""
    if isinstance(ids, (str, bytes)):
        raise UsageError(f"the {which} list is the text {shorten(ids)}; it should be a sequence of ids")
    ranks = dict(zip(ids, range(1, len(ids) + 1), strict=True))
    if len(ranks) < len(ids):
        # A dict keeps the last rank of a key, so the first id whose rank differs appears again further down.
        repeated = next(id_ for rank, id_ in enumerate(ids, 1) if ranks[id_] != rank)
        raise UsageError(
            f"id {shorten(repeated)} appears more than once in the {which} list; a ranking has each id once"
        )
    return ranks


def check_persistence(p: float) -> None:
    """Refuse a p of RBO that is not between 0 and 1."""
    if not 0 < p < 1:
        raise UsageError(f"p is {p}; the probability to go on to the next rank lies between 0 and 1")


def jaccard_of(pair: Match) -> float:
    """Return the share of the ids that are in both lists."""
    return pair.shared / pair.union if pair.union else 1.0


def top1_changed_of(pair: Match) -> bool:
    """Return whether the lists do not share their first id; two empty lists agree."""
    return pair.union > 0 and (pair.before[:1], pair.after[:1]) != ([1], [1])


def overlap_of(pair: Match, p: float) -> float:
    """Return extrapolated RBO.

    Equation 32 is the mean of the agreements at each depth, weighted (1 - p) p^(d - 1), with that at the last depth for
    all below. Summed by parts it is the first agreement plus p^d times each next step, so that equal lists have
    exactly 1.
    """
    short, long = sorted((pair.first, pair.second))
    if not short:
        return 0.0 if long else 1.0
    depth, weight = _depths(long, p)
    seen_at = np.maximum(pair.before, pair.after) if pair.before else np.zeros(0, dtype=np.int64)
    overlap = np.bincount(seen_at, minlength=long + 1)[1:].cumsum()
    # Below its end the short list is taken to agree as it did there. All are whole numbers up to the division.
    agreement = (short * overlap + np.maximum(depth - short, 0) * overlap[short - 1]) / (short * depth)
    return min(1.0, max(0.0, float(agreement[0] + (weight * np.diff(agreement)).sum())))


@lru_cache(maxsize=256)
def _depths(long: int, p: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the depths of a list, and the weight of each step from one to the next."""
    depth = np.arange(1, long + 1)
    weight = p ** depth[:-1].astype(np.float64)
    depth.setflags(write=False)
    weight.setflags(write=False)
    return depth, weight


def tau_of(pair: Match) -> float:
    """Return tau-b: concordant minus discordant pairs, over the geometric mean of the untied pairs of each list.

    All ties are among ids that a list lacks, so that the pairs can be counted kind by kind.
    """
    shared, union = pair.shared, pair.union
    left, entered = pair.first - shared, pair.second - shared
    # A shared id comes before all ids that the other list lacks; each that it follows in its own list is discordant.
    overtaken = sum(pair.before) + sum(pair.after) - shared * (shared + 1)
    difference = math.comb(shared, 2) - 2 * _inversions(pair.after)
    difference += shared * (left + entered) - 2 * overtaken - left * entered
    pairs = math.comb(union, 2)
    untied = (pairs - math.comb(entered, 2)) * (pairs - math.comb(left, 2))
    return difference / math.sqrt(untied) if untied else _without_order(pair)


def _inversions(ranks: list[int]) -> int:
    """Return the number of pairs in descending order."""
    seen: list[int] = []
    count = 0
    for rank in ranks:
        place = bisect(seen, rank)
        count += len(seen) - place
        seen.insert(place, rank)
    return count


def rho_of(pair: Match) -> float:
    """Return Spearman's rho: Pearson's correlation of doubled ranks, of which the mean of ties is a whole number."""
    shared, union = pair.shared, pair.union
    left, entered = pair.first - shared, pair.second - shared
    last_of_first, last_of_second = pair.first + 1 + union, pair.second + 1 + union
    ranks_left = math.comb(pair.first + 1, 2) - sum(pair.before)
    ranks_entered = math.comb(pair.second + 1, 2) - sum(pair.after)
    product = 4 * sum(map(mul, pair.before, pair.after))
    product += 2 * (ranks_left * last_of_second + ranks_entered * last_of_first)
    spread = (_spread(union) - _spread(entered)) * (_spread(union) - _spread(left))
    return (product - union * (union + 1) ** 2) / math.sqrt(spread) if spread else _without_order(pair)


def _spread(n: int) -> int:
    """Return the sum of squared deviations of n doubled ranks from their mean; n tied ranks reduce it by that much."""
    return (n**3 - n) // 3


def _without_order(pair: Match) -> float:
    """Return the correlation where a list orders no two ids: one id in both, or an empty list."""
    return 1.0 if pair.first == pair.second else 0.0
