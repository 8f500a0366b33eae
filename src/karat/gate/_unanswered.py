"""Queries without an answer: which a run has lost, and the worst value that each of them counts as."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import replace

import numpy as np

from karat.core import Scores
from karat.evaluation import Evaluation, average_variants, fill_worst, find_worst
from karat.gate._comparison import lower_is_better


def find_lost(candidate: Evaluation, baseline: Evaluation) -> frozenset[str]:
    """Return the queries to which a run has no answer, failed or empty, where the baseline has one.

    Where the baseline has none either, nothing was lost: a run that equals its baseline passes.
    """
    return frozenset(_list_unanswered(candidate, candidate)) - frozenset(_list_unanswered(baseline, candidate))


def _list_unanswered(evaluation: Evaluation, known: Evaluation) -> Iterator[str]:
    """Yield the queries that failed, and those that returned nothing; ``known`` says which may return nothing."""
    yield from evaluation.failures
    yield from (query for query, some in evaluation.answered.items() if not some and not may_be_empty(known, query))


def count_failures(evaluation: Evaluation, baseline: Evaluation | None = None) -> Evaluation:
    """Return an evaluation in which a query without an answer has the worst value of each measure that needs one.

    Measures such as ``Judged@10`` and ``DupRate@10`` are undefined for an empty list. Left out of the mean, a failed
    query would make them better; so would a wording or a repeat. A value that is missing because of the golden set
    stays missing, and an unanswerable query may return nothing. If a measure has no lowest value, a query that failed
    has the lowest of the run and of the baseline.
    """
    scores, repeats = evaluation.scores, evaluation.repeats
    if evaluation.variants:
        scores, repeats = average_variants(evaluation.variants)
    else:
        scores = fill_worst(scores, list(_list_unanswered(evaluation, evaluation)))
    scores = _lower_failed(scores, evaluation.failures, baseline)
    before = evaluation.scores.values
    changed = [
        name
        for i, name in enumerate(scores.measures)
        if not np.array_equal(scores.values[:, i], before[:, i], equal_nan=True)
    ]
    if not changed:
        return evaluation
    means = {name: mean for name, mean in scores.mean().items() if name in changed}
    return replace(evaluation, scores=scores, repeats=repeats, means={**evaluation.means, **means})


def _lower_failed(scores: Scores, failed: Collection[str], baseline: Evaluation | None) -> Scores:
    """Return the scores with the lowest value that was seen of each measure without a lowest one, such as Utility."""
    rows = [scores.rows[query] for query in failed if query in scores.rows]
    endless = [i for i, measure in enumerate(scores.measures) if math.isinf(find_worst(measure))]
    if not rows or not endless:
        return scores
    values = scores.values.copy()
    for i in endless:
        name = scores.measures[i]
        seen = [*scores.column(name).values(), *(baseline.values(name).values() if baseline else ())]
        values[rows, i] = max((0.0, *seen)) if lower_is_better(name) else min((0.0, *seen))
    codes = scores.codes.copy()
    codes[np.ix_(rows, endless)] = 0
    return replace(scores, values=values, codes=codes)


def may_be_empty(evaluation: Evaluation, query: str) -> bool:
    """Return whether no result may be the right answer to a query: it is unanswerable, or nobody judged it."""
    return query in evaluation.unanswerable or query in evaluation.unjudged
