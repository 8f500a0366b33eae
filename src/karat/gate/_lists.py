"""The ranked lists of two runs, query by query: how much of what users see changed, whatever the scores say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from karat.core import Measure
from karat.evaluation import Evaluation, RankedLists
from karat.gate._pairing import pair_scores
from karat.schema import ListComparison, ListSummary
from karat.stats.ranks import RankSimilarity, rank_similarity, summarise_ranks

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
    deltas, shared = rr_deltas or {}, list(baseline)
    if shared != list(candidate):
        shared = [query for query in shared if query in candidate]
    unchanged: Mapping[str, int] = {}
    if isinstance(candidate, RankedLists) and isinstance(baseline, RankedLists):
        unchanged = baseline.find_equal(candidate)
    others = [query for query in shared if query not in unchanged]
    pairs = zip(others, _take(baseline, others), _take(candidate, others), strict=True)
    equal = _EqualLists(k)
    changed = {
        query: equal[len(before), deltas.get(query)]
        if before == after
        else rank_similarity(before, after, k=k, rr_delta=deltas.get(query))
        for query, before, after in pairs
    }
    return {
        query: changed[query] if query in changed else equal[unchanged[query], deltas.get(query)] for query in shared
    }


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
