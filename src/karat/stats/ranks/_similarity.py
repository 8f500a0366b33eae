"""All similarities of two ranked lists at once, a class for them, and summaries over many queries."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, repeat
from typing import Literal, get_args

from karat.core import UsageError
from karat.stats.ranks._coefficients import (
    Match,
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

# The least tau-b and Jaccard of a class, in the order of the classes.
_LEAST: Mapping[SimilarityClass, tuple[float, float]] = {
    "identical": (0.99, 0.95),
    "minor": (0.95, 0.70),
    "major": (0.85, 0.70),
}
_MOST_RR_DELTA = 0.03


def similarity_class(
    *, tau: float, overlap: float, top1_changed: bool, rr_delta: float | None = None
) -> SimilarityClass:
    """Return how similar two ranked lists are, from Kendall's tau-b over their union and their Jaccard overlap.

    - ``identical``: tau at least 0.99 and overlap at least 0.95;
    - ``minor``: tau at least 0.95 and overlap at least 0.70;
    - ``major``: tau at least 0.85 and overlap at least 0.70;
    - ``incompatible``: anything else.

    Where another id is first, or the reciprocal rank of the first relevant id differs by more than 0.03 either way, the
    class is ``major`` at best. ``rr_delta`` is None where nothing was judged.

    The limits of tau are those with which the classes were proposed. The overlap is needed too: by tau alone, lists
    that share two ids of eighteen in the same order would be alike.

    >>> similarity_class(tau=1.0, overlap=1.0, top1_changed=False)
    'identical'
    >>> similarity_class(tau=0.9996, overlap=1.0, top1_changed=True)
    'major'
    >>> similarity_class(tau=1.0, overlap=2 / 18, top1_changed=False)
    'incompatible'
    """
    if not (-1 <= tau <= 1 and 0 <= overlap <= 1):
        raise UsageError(f"tau {tau} and overlap {overlap} should lie between -1 and 1, and between 0 and 1")
    if rr_delta is not None and not -1 <= rr_delta <= 1:
        raise UsageError(f"difference of reciprocal ranks {rr_delta} should lie between -1 and 1, or be None")
    flagged = top1_changed or (rr_delta is not None and abs(rr_delta) > _MOST_RR_DELTA)
    for name, (least_tau, least_overlap) in _LEAST.items():
        if tau >= least_tau and overlap >= least_overlap and (name == "major" or not flagged):
            return name
    return "incompatible"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSimilarity:
    """The similarities of two ranked lists, as ``rank_similarity`` returns them."""

    rbo: float
    """Extrapolated rank-biased overlap, 0 to 1."""
    kendall_tau: float
    """Tau-b over the union, -1 to 1."""
    spearman: float
    """Rank correlation over the union, -1 to 1."""
    jaccard: float
    """The share of the ids that are in both lists."""
    top1_changed: bool
    similarity_class: SimilarityClass
    first: int
    """The number of ids of the first list that were compared."""
    second: int
    """The number of ids of the second list that were compared."""
    shared: int
    """The number of ids in both."""
    up: int
    """The number of shared ids that are nearer to rank 1 in the second list."""
    down: int
    """The number of shared ids that are further from rank 1 in the second list."""
    k: int | None
    """The rank at which both lists were cut; None if they were not."""
    p: float
    """The persistence of RBO."""
    rr_delta: float | None
    """The difference of reciprocal ranks; None where nothing was judged."""

    @property
    def entered(self) -> int:
        """The number of ids in the second list only."""
        return self.second - self.shared

    @property
    def left(self) -> int:
        """The number of ids in the first list only."""
        return self.first - self.shared

    @property
    def order_differences(self) -> int:
        """The number of ids whose rank differs; the function of that name lists them."""
        return self.entered + self.left + self.up + self.down


def rank_similarity(
    first: Ranking, second: Ranking, *, k: int | None = None, p: float = 0.9, rr_delta: float | None = None
) -> RankSimilarity:
    """Compare two ranked lists of ids, or with ``k`` the top k of both.

    ``rr_delta`` is the difference of the query's reciprocal ranks, if it was judged; only the class depends on it.

    >>> similarity = rank_similarity(["a", "b", "c", "d"], ["a", "c", "b", "e"])
    >>> round(similarity.rbo, 3), round(similarity.kendall_tau, 3), round(similarity.spearman, 3), similarity.jaccard
    (0.773, 0.6, 0.8, 0.6)
    >>> similarity.top1_changed, similarity.order_differences, similarity.similarity_class
    (False, 4, 'incompatible')
    """
    check_persistence(p)
    pair = match(first, second, k)
    return _measure_match(pair.first, pair.second, tuple(pair.before), tuple(pair.after), k, p, rr_delta)


@lru_cache(maxsize=256)  # most queries of two runs have the same list in both, or the same few moves
def _measure_match(
    first: int, second: int, before: tuple[int, ...], after: tuple[int, ...], k: int | None, p: float,
    rr_delta: float | None,
) -> RankSimilarity:  # fmt: skip
    pair = Match(first, second, list(before), list(after))
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
    """The similarities of the ranked lists of many queries, as ``summarise_ranks`` returns them.

    Means are NaN without queries.
    """

    queries: int
    rbo: float
    """The mean over the queries, like the next three."""
    kendall_tau: float
    spearman: float
    jaccard: float
    top1_changed: int
    """The number of queries with another first id."""
    unchanged: int
    """The number of queries with the same ids at the same ranks."""
    both_empty: int
    """The number of queries without hits in either list, which count as alike."""
    one_empty: int
    """The number of queries with hits in one list only."""
    classes: Mapping[SimilarityClass, int]
    """The number of queries of each of the four classes."""

    @property
    def top1_changed_share(self) -> float:
        """The share of queries with another first id."""
        return self.top1_changed / self.queries if self.queries else math.nan


def summarise_ranks(similarities: Iterable[RankSimilarity]) -> RankSummary:
    """Return means and counts over queries that were all compared with the same ``k`` and ``p``.

    >>> lists = [(["a", "b"], ["a", "b"]), (["a", "b"], ["b", "a"])]
    >>> summary = summarise_ranks(rank_similarity(before, after) for before, after in lists)
    >>> summary.kendall_tau, summary.top1_changed_share, summary.unchanged
    (0.0, 0.5, 1)
    >>> summary.classes
    {'identical': 1, 'minor': 0, 'major': 0, 'incompatible': 1}
    """
    everything = list(similarities)
    # Most queries share a value with many others, so each is looked at once, and counted.
    times = Counter(map(id, everything))
    items = [(item, times[key]) for key, item in {id(item): item for item in everything}.items()]
    settings = {(item.k, item.p) for item, _ in items}
    if len(settings) > 1:
        raise UsageError(f"queries compared with k and p of {sorted(settings, key=str)} have no common mean")
    classes: Counter[str] = Counter()
    for item, n in items:
        classes[item.similarity_class] += n

    def mean(name: str) -> float:
        """Return the mean, which does not depend on the order of the queries; NaN without any."""
        values = chain.from_iterable(repeat(getattr(item, name), n) for item, n in items)
        return math.fsum(values) / len(everything) if everything else math.nan

    return RankSummary(
        queries=len(everything),
        rbo=mean("rbo"),
        kendall_tau=mean("kendall_tau"),
        spearman=mean("spearman"),
        jaccard=mean("jaccard"),
        top1_changed=sum(n for item, n in items if item.top1_changed),
        unchanged=sum(n for item, n in items if item.order_differences == 0),
        both_empty=sum(n for item, n in items if item.first == item.second == 0),
        one_empty=sum(n for item, n in items if (item.first == 0) != (item.second == 0)),
        classes={name: classes[name] for name in get_args(SimilarityClass)},
    )
