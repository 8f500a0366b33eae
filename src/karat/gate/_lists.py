"""The ranked lists of two runs, query by query: how much of what users see changed, whatever the scores say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.core import Measure
from karat.evaluation import Evaluation, PairedLists, RankedLists
from karat.gate._pairing import pair_scores
from karat.schema import ListComparison, ListSummary
from karat.stats.ranks import RankSimilarity, rank_similarity, summarise_ranks

Ints = NDArray[np.int64]
Lists = Mapping[str, Sequence[str]]
"""Documents by query, the best first."""


def compare_lists(
    candidate: Lists, baseline: Lists, *, k: int | None = None, rr_deltas: Mapping[str, float] | None = None
) -> dict[str, RankSimilarity]:
    """Compare the lists of every query that both runs have one for, or with ``k`` the first k of each.

    ``rr_deltas`` are the differences of reciprocal ranks where they are known; only the similarity class uses them.

    >>> similarities = compare_lists({"q1": ["b", "a"], "q2": ["c"]}, {"q1": ["a", "b"], "q2": ["c"]})
    >>> [(query, similarity.similarity_class) for query, similarity in similarities.items()]
    [('q1', 'incompatible'), ('q2', 'identical')]
    """
    deltas = rr_deltas or {}
    pair = (
        baseline.pair(candidate) if isinstance(baseline, RankedLists) and isinstance(candidate, RankedLists) else None
    )
    if pair is not None:
        return _compare_numbers(pair, candidate, baseline, k, deltas)
    queries = [query for query in baseline if query in candidate]
    return _compare_names(queries, candidate, baseline, k, deltas)


def _compare_names(
    queries: Sequence[str], candidate: Lists, baseline: Lists, k: int | None, deltas: Mapping[str, float]
) -> dict[str, RankSimilarity]:
    """Compare the lists of some queries one by one."""
    equal = _EqualLists(k)
    return {
        query: equal[len(before), deltas.get(query)]
        if before == after
        else rank_similarity(before, after, k=k, rr_delta=deltas.get(query))
        for query, before, after in zip(queries, _take(baseline, queries), _take(candidate, queries), strict=True)
    }


def _compare_numbers(
    pair: PairedLists, candidate: Lists, baseline: Lists, k: int | None, deltas: Mapping[str, float]
) -> dict[str, RankSimilarity]:
    """Compare lists of numbers, all at once. Most are the same in both runs, and of the others many changed alike."""
    has_twice, is_same = _find_twice(pair), _find_same(pair)
    unchanged = np.flatnonzero(is_same & ~has_twice)
    queries = [pair.queries[place] for place in unchanged.tolist()]
    equal = _EqualLists(k)
    similarities: dict[str, Any] = dict.fromkeys(pair.queries)  # in their order
    keys = zip(pair.first[unchanged].tolist(), map(deltas.get, queries), strict=True)
    similarities |= zip(queries, map(equal.__getitem__, keys), strict=True)
    similarities |= _compare_changed(pair, np.flatnonzero(~(is_same | has_twice)), k, deltas)
    repeated = [pair.queries[place] for place in np.flatnonzero(has_twice).tolist()]
    similarities |= _compare_names(repeated, candidate, baseline, k, deltas)
    return similarities


def _find_twice(pair: PairedLists) -> NDArray[np.bool_]:
    """Return whether either list of a query has a document twice, of which the first place counts."""
    has_twice = np.zeros(len(pair.queries), np.bool_)
    for lengths, documents in ((pair.first, pair.before), (pair.second, pair.after)):
        keys = np.sort(np.repeat(np.arange(len(lengths)), lengths) * pair.documents + documents)
        has_twice[keys[1:][keys[1:] == keys[:-1]] // max(pair.documents, 1)] = True
    return has_twice


def _find_same(pair: PairedLists) -> NDArray[np.bool_]:
    """Return whether both lists of a query are the same."""
    is_same: NDArray[np.bool_] = pair.first == pair.second
    before, after = pair.before, pair.after
    lists = np.repeat(np.arange(len(is_same)), pair.first)
    if not is_same.all():  # without the lists of other lengths, a row of one run stands beside that of the other
        before, after = before[is_same[lists]], after[np.repeat(is_same, pair.second)]
        lists = lists[is_same[lists]]
    is_same[lists[before != after]] = False
    return is_same


def _compare_changed(
    pair: PairedLists, places: Ints, k: int | None, deltas: Mapping[str, float]
) -> dict[str, RankSimilarity]:
    """Compare lists without repeats: by the length of both, and where the documents of the first stand in the second.

    Lists that agree in these have the same similarity.
    """
    first, second = pair.first[places], pair.second[places]
    ends = np.cumsum(first)
    rank_of = _find_ranks(pair, places)
    known: dict[tuple[int, bytes, float | None], RankSimilarity] = {}
    similarities = {}
    for place, length, start, end in zip(
        places.tolist(), second.tolist(), (ends - first).tolist(), ends.tolist(), strict=True
    ):
        query, ranks = pair.queries[place], rank_of[start:end]
        key = (length, ranks.tobytes(), deltas.get(query))
        if key not in known:
            known[key] = _compare_ranks(ranks.tolist(), length, k, key[2])
        similarities[query] = known[key]
    return similarities


def _find_ranks(pair: PairedLists, places: Ints) -> Ints:
    """Return the rank in the second list of each document of the first, or 0, of the queries at some places."""
    first, second = pair.first[places], pair.second[places]
    rows, others = (_rows_of(lengths, places) for lengths in (pair.first, pair.second))
    own = np.repeat(np.arange(len(places)), first) * pair.documents + pair.before[rows]
    keys = np.repeat(np.arange(len(places)), second) * pair.documents + pair.after[others]
    order = np.argsort(keys)
    ranks = others - np.repeat(np.cumsum(pair.second)[places] - second, second) + 1
    if not len(keys):
        return np.zeros_like(own)
    place = order[np.minimum(np.searchsorted(keys, own, sorter=order), len(keys) - 1)]
    return np.where(keys[place] == own, ranks[place], 0)


def _rows_of(lengths: Ints, places: Ints) -> Ints:
    """Return the rows of some lists, which stand one after the other."""
    starts, sizes = (np.cumsum(lengths) - lengths)[places], lengths[places]
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(int(sizes.sum()))


def _compare_ranks(ranks: Sequence[int], length: int, k: int | None, rr_delta: float | None) -> RankSimilarity:
    """Compare two lists by the rank in the second of each document of the first, where 0 means that it left."""
    second: list[int | None] = [None] * length
    for place, rank in enumerate(ranks):
        if rank:
            second[rank - 1] = place
    entered = (place if place is not None else -1 - rank for rank, place in enumerate(second))
    return rank_similarity(range(len(ranks)), list(entered), k=k, rr_delta=rr_delta)


class _EqualLists(dict[tuple[int, float | None], RankSimilarity]):
    """The similarity of lists that stayed the same, as most do, by their length and the difference of their RR."""

    def __init__(self, k: int | None) -> None:
        self._k = k

    def __missing__(self, key: tuple[int, float | None]) -> RankSimilarity:
        ids = range(key[0])
        similarity = self[key] = rank_similarity(ids, ids, k=self._k, rr_delta=key[1])
        return similarity


def _take(lists: Lists, queries: Sequence[str]) -> Sequence[Sequence[str]]:
    return lists.take(queries) if isinstance(lists, RankedLists) else [lists[query] for query in queries]


def rr_deltas(candidate: Evaluation, baseline: Evaluation) -> dict[str, float]:
    """Return the difference of reciprocal ranks of each query, by the RR that looks deepest of those measured."""
    shared = [name for name in candidate.scores.measures if name in baseline.scores.measures]
    names = sorted((name for name in shared if Measure.parse(name).definition.name == "RR"), key=len)
    if not names:
        return {}
    pairs = pair_scores(candidate, baseline, names[0])
    return dict(zip(pairs.queries, (pairs.after - pairs.before).tolist(), strict=True))


def summarise_lists(similarities: Mapping[str, RankSimilarity]) -> ListSummary:
    """Return means and counts over the queries; a mean over no query is None."""
    summary = summarise_ranks(similarities.values())
    return ListSummary(
        queries=summary.queries,
        k=next((similarity.k for similarity in similarities.values()), None),
        rbo=_null(summary.rbo),
        kendall_tau=_null(summary.kendall_tau),
        spearman=_null(summary.spearman),
        jaccard=_null(summary.jaccard),
        top1_changed=summary.top1_changed,
        top1_changed_share=_null(summary.top1_changed_share),
        unchanged=summary.unchanged,
        both_empty=summary.both_empty,
        one_empty=summary.one_empty,
        classes={str(name): count for name, count in summary.classes.items()},
    )


def describe_list(similarity: RankSimilarity) -> ListComparison:
    """Return how alike the two lists of one query are."""
    return ListComparison(
        rbo=similarity.rbo,
        kendall_tau=similarity.kendall_tau,
        jaccard=similarity.jaccard,
        top1_changed=similarity.top1_changed,
        similarity_class=similarity.similarity_class,
    )


def _null(value: float) -> float | None:
    return None if math.isnan(value) else value
