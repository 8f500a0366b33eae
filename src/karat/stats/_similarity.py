"""Two ranked lists compared in all respects at once, how different that makes them, and the same over many queries."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from karat.core import UsageError
from karat.stats._ranks import (
    Ranking,
    check_persistence,
    jaccard_of,
    match,
    overlap_of,
    rho_of,
    tau_of,
    top1_changed_of,
)

SimilarityClass = Literal["identical", "minor", "major", "incompatible"]

# Least tau-b and least Jaccard of a class, in the order of the classes.
_LEAST: Mapping[SimilarityClass, tuple[float, float]] = {
    "identical": (0.99, 0.95),
    "minor": (0.95, 0.70),
    "major": (0.85, 0.70),
}
_MOST_RR_DELTA = 0.03


def similarity_class(
    *, tau: float, overlap: float, top1_changed: bool, rr_delta: float | None = None
) -> SimilarityClass:
    """Say how different two ranked lists are, from Kendall's tau-b over their union and their Jaccard overlap.

    - ``identical``: tau at least 0.99 and overlap at least 0.95;
    - ``minor``: tau at least 0.95 and overlap at least 0.70;
    - ``major``: tau at least 0.85 and overlap at least 0.70;
    - ``incompatible``: anything else.

    Where another id stands first, or the reciprocal rank of the first relevant id differs by more than 0.03 either way,
    the class is ``major`` at best. ``rr_delta`` is None where nothing was judged.

    The limits are those that the classes were proposed with. Only tau and the first id were looked at there, so that
    lists that share two ids of eighteen in the same order were ``minor``, and a hundred ids with another on top
    ``identical``.

    >>> similarity_class(tau=1.0, overlap=1.0, top1_changed=False)
    'identical'
    >>> similarity_class(tau=0.9996, overlap=1.0, top1_changed=True)
    'major'
    >>> similarity_class(tau=1.0, overlap=2 / 18, top1_changed=False)
    'incompatible'
    """
    if not (-1 <= tau <= 1 and 0 <= overlap <= 1):
        raise UsageError(f"tau {tau} and overlap {overlap}: they lie between -1 and 1, and between 0 and 1")
    if rr_delta is not None and not -1 <= rr_delta <= 1:
        raise UsageError(f"difference of reciprocal ranks {rr_delta}: it lies between -1 and 1, or is None")
    flagged = top1_changed or (rr_delta is not None and abs(rr_delta) > _MOST_RR_DELTA)
    for name, (least_tau, least_overlap) in _LEAST.items():
        if tau >= least_tau and overlap >= least_overlap and (name == "major" or not flagged):
            return name
    return "incompatible"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSimilarity:
    """How alike two ranked lists are; ``rank_similarity`` makes it."""

    rbo: float
    """Extrapolated rank-biased overlap, 0 to 1."""
    kendall_tau: float
    """Tau-b over the union, -1 to 1."""
    spearman: float
    """Rank correlation over the union, -1 to 1."""
    jaccard: float
    """Share of the ids that stand in both lists."""
    top1_changed: bool
    similarity_class: SimilarityClass
    first: int
    """How many ids of the first list were compared."""
    second: int
    """How many ids of the second list were compared."""
    shared: int
    """How many ids stand in both."""
    up: int
    """How many shared ids stand nearer to rank 1 in the second list."""
    down: int
    """How many shared ids stand further from rank 1 in the second list."""
    k: int | None
    """The rank at which both lists were cut; None if they were not."""
    p: float
    """The persistence of RBO."""
    rr_delta: float | None
    """The difference of reciprocal ranks that was given; None where nothing was judged."""

    @property
    def entered(self) -> int:
        """How many ids stand in the second list only."""
        return self.second - self.shared

    @property
    def left(self) -> int:
        """How many ids stand in the first list only."""
        return self.first - self.shared

    @property
    def order_differences(self) -> int:
        """How many ids do not stand where they stood; the function of that name lists them."""
        return self.entered + self.left + self.up + self.down


def rank_similarity(
    first: Ranking, second: Ranking, *, k: int | None = None, p: float = 0.9, rr_delta: float | None = None
) -> RankSimilarity:
    """Compare two ranked lists of ids, or with ``k`` the top k of both.

    ``rr_delta`` is the difference of the query's reciprocal ranks, if it was judged; only the class looks at it.

    >>> found = rank_similarity(["a", "b", "c", "d"], ["a", "c", "b", "e"])
    >>> round(found.rbo, 3), round(found.kendall_tau, 3), round(found.spearman, 3), found.jaccard
    (0.773, 0.6, 0.8, 0.6)
    >>> found.top1_changed, found.order_differences, found.similarity_class
    (False, 4, 'incompatible')
    """
    check_persistence(p)
    pair = match(first, second, k)
    tau, overlap, other_top = tau_of(pair), jaccard_of(pair), top1_changed_of(pair)
    up = sum(after < before for before, after in zip(pair.before, pair.after, strict=True))
    still = sum(after == before for before, after in zip(pair.before, pair.after, strict=True))
    return RankSimilarity(
        rbo=overlap_of(pair, p),
        kendall_tau=tau,
        spearman=rho_of(pair),
        jaccard=overlap,
        top1_changed=other_top,
        similarity_class=similarity_class(tau=tau, overlap=overlap, top1_changed=other_top, rr_delta=rr_delta),
        first=pair.first,
        second=pair.second,
        shared=pair.shared,
        up=up,
        down=pair.shared - up - still,
        k=k,
        p=p,
        rr_delta=rr_delta,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSummary:
    """How alike the ranked lists of many queries are; ``summarise_ranks`` makes it. Means are NaN without queries."""

    queries: int
    rbo: float
    """Mean over the queries, as the next three."""
    kendall_tau: float
    spearman: float
    jaccard: float
    top1_changed: int
    """How many queries have another id on top."""
    unchanged: int
    """How many queries have the same ids at the same ranks."""
    both_empty: int
    """How many queries have no hits in either list, and count as alike."""
    one_empty: int
    """How many queries have hits in one list only."""
    classes: Mapping[SimilarityClass, int]
    """How many queries are of each class; all four are named."""

    @property
    def top1_changed_share(self) -> float:
        """The share of queries with another id on top."""
        return self.top1_changed / self.queries if self.queries else math.nan


def summarise_ranks(similarities: Iterable[RankSimilarity]) -> RankSummary:
    """Give means and counts over queries that were all compared with the same ``k`` and ``p``.

    >>> lists = [(["a", "b"], ["a", "b"]), (["a", "b"], ["b", "a"])]
    >>> summary = summarise_ranks(rank_similarity(before, after) for before, after in lists)
    >>> summary.kendall_tau, summary.top1_changed_share, summary.unchanged
    (0.0, 0.5, 1)
    >>> summary.classes
    {'identical': 1, 'minor': 0, 'major': 0, 'incompatible': 1}
    """
    each = list(similarities)
    settings = {(one.k, one.p) for one in each}
    if len(settings) > 1:
        raise UsageError(f"queries compared with k and p of {sorted(settings, key=str)} have no common mean")
    counts = Counter(one.similarity_class for one in each)
    return RankSummary(
        queries=len(each),
        rbo=_mean(one.rbo for one in each),
        kendall_tau=_mean(one.kendall_tau for one in each),
        spearman=_mean(one.spearman for one in each),
        jaccard=_mean(one.jaccard for one in each),
        top1_changed=sum(one.top1_changed for one in each),
        unchanged=sum(one.order_differences == 0 for one in each),
        both_empty=sum(one.first == one.second == 0 for one in each),
        one_empty=sum((one.first == 0) != (one.second == 0) for one in each),
        classes={name: counts[name] for name in get_args(SimilarityClass)},
    )


def _mean(values: Iterable[float]) -> float:
    """Give the mean, which does not depend on the order of the queries; NaN without any."""
    numbers = list(values)
    return math.fsum(numbers) / len(numbers) if numbers else math.nan
