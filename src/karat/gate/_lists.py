"""The ranked lists of two runs, query by query: how much else a user sees, whatever the scores say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from karat.core import Measure
from karat.evaluation import Evaluation
from karat.gate._comparison import differences
from karat.stats import RankSimilarity, rank_similarity, summarise_ranks

Lists = Mapping[str, Sequence[str]]
"""Documents by query, the best first."""


def compare_lists(
    candidate: Lists, baseline: Lists, *, k: int | None = None, rr_deltas: Mapping[str, float] | None = None
) -> dict[str, RankSimilarity]:
    """Compare the lists of every query that both runs have one for, or with ``k`` the first k of each.

    ``rr_deltas`` are differences of reciprocal ranks, where they are known; only the class looks at them.

    >>> found = compare_lists({"q1": ["b", "a"], "q2": ["c"]}, {"q1": ["a", "b"], "q2": ["c"]})
    >>> [(query, one.similarity_class) for query, one in found.items()]
    [('q1', 'incompatible'), ('q2', 'identical')]
    """
    return {
        query: rank_similarity(then, candidate[query], k=k, rr_delta=(rr_deltas or {}).get(query))
        for query, then in baseline.items()
        if query in candidate
    }


def rr_deltas(candidate: Evaluation, baseline: Evaluation) -> dict[str, float]:
    """Give the difference of reciprocal ranks of each query, over the whole lists if that was measured."""
    both = [name for name in candidate.scores.measures if name in baseline.scores.measures]
    known = sorted((name for name in both if Measure.parse(name).definition.name == "RR"), key=len)
    if not known:
        return {}
    return {query: now - then for query, (then, now) in differences(candidate, baseline, known[0]).items()}


def summary_document(similarities: Mapping[str, RankSimilarity]) -> dict[str, Any]:
    """Give means and counts over the queries as JSON has them."""
    found = summarise_ranks(similarities.values())
    return {
        "queries": found.queries,
        "k": next((one.k for one in similarities.values()), None),
        "rbo": _null(found.rbo),
        "kendall_tau": _null(found.kendall_tau),
        "spearman": _null(found.spearman),
        "jaccard": _null(found.jaccard),
        "top1_changed": found.top1_changed,
        "top1_changed_share": _null(found.top1_changed_share),
        "unchanged": found.unchanged,
        "both_empty": found.both_empty,
        "one_empty": found.one_empty,
        "classes": dict(found.classes),
    }


def list_document(one: RankSimilarity) -> dict[str, Any]:
    """Give what became of one list as JSON has it."""
    return {
        "rbo": one.rbo,
        "kendall_tau": one.kendall_tau,
        "jaccard": one.jaccard,
        "top1_changed": one.top1_changed,
        "class": one.similarity_class,
    }


def _null(value: float) -> float | None:
    return None if math.isnan(value) else value
