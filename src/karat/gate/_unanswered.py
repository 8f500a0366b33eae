"""Queries without an answer, failed, empty or refused: which a run has lost, and the worst value of each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from karat.core import Scores
from karat.evaluation import Evaluation, average_variants, fill_worst, find_worst, list_tables
from karat.gate._pairing import lower_is_better
from karat.measures import SILENT


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
    return _set_scores(evaluation, _lower_failed(scores, evaluation.failures, baseline), repeats)


def _set_scores(evaluation: Evaluation, scores: Scores, repeats: tuple[Scores, ...]) -> Evaluation:
    """Return an evaluation with other scores, and the means of the measures that they change."""
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


def count_refusals(evaluation: Evaluation, baseline: Evaluation | None = None, *, whole: bool = False) -> Evaluation:
    """Return an evaluation in which an answer that says nothing has the worst value of each measure of answers.

    Such measures are over what was answered, so that a system which refuses what is hard would pass every floor. This
    is for rules, and for an evaluation whose failures are counted (:func:`count_failures`): what is shown as the mean
    of a measure leaves refusals out. With ``whole`` only questions count of which no wording and repeat has a value: a
    baseline does not keep which of them were refused. No measure of answers is for unanswerable queries, so that right
    refusals are not touched.
    """
    scores, repeats, tables = evaluation.scores, evaluation.repeats, evaluation.variants
    if not any(map(_has_silent, (scores, *tables.values()))):
        return evaluation
    worst = {name: _find_lowest(name, scores, baseline) for name in scores.measures}
    if tables:
        silent = _find_silent(scores)
        tables = {
            variant: _fill_silent(table, worst, silent[[scores.rows[query] for query in table.queries]] | (not whole))
            for variant, table in tables.items()
        }
        scores, repeats = average_variants(tables)
        scores = _lower_failed(scores, evaluation.failures, baseline)
    else:
        scores = _fill_silent(scores, worst)
    return _set_scores(replace(evaluation, variants=tables), scores, repeats)


def _has_silent(scores: Scores) -> bool:
    return not SILENT.keys().isdisjoint(scores.reasons)


def _find_silent(scores: Scores) -> NDArray[np.bool_]:
    """Return which values are missing because an answer says nothing."""
    return scores.is_missing_for(lambda reason: reason in SILENT)


def _fill_silent(scores: Scores, worst: Mapping[str, float], among: NDArray[np.bool_] | bool = True) -> Scores:
    missing = _find_silent(scores) & among
    values = np.where(missing, np.array([worst[name] for name in scores.measures]), scores.values)
    return replace(scores, values=values, codes=np.where(missing, 0, scores.codes).astype(np.uint8))


def count_silent(evaluation: Evaluation, measure: str, queries: Sequence[str] | None = None) -> Mapping[str, int]:
    """Return how many answers have no value of a measure because they say nothing, by what they are.

    ``evaluation`` is the run before :func:`count_refusals`. Each wording and repeat is an answer.
    """
    counts: Counter[str] = Counter()
    for table in filter(_has_silent, list_tables(evaluation, measure)):
        rows = [table.rows[query] for query in (table.queries if queries is None else queries) if query in table.rows]
        codes = Counter(table.codes[rows, table.columns[measure]].tolist())
        counts.update({SILENT[table.reasons[code - 1]]: n for code, n in codes.items() if _is_silent(table, code)})
    return counts


def count_unmeasured(evaluation: Evaluation, measure: str, queries: Sequence[str] | None = None) -> Mapping[str, int]:
    """Return how many answers have no value of a measure and count as worst, by why: not judged, or of unknown text.

    Each wording and repeat is an answer.
    """
    counts = {}
    for why, by_query in evaluation.unmeasured.get(measure, {}).items():
        chosen = by_query if queries is None else [query for query in queries if query in by_query]
        if count := sum(by_query[query] for query in chosen):
            counts[why] = count
    return counts


def _is_silent(table: Scores, code: int) -> bool:
    return code > 0 and table.reasons[code - 1] in SILENT


def describe_silent(counts: Mapping[str, int]) -> str:
    """Return the end of a reason that says how many answers count as worst; "" if none does.

    >>> describe_silent({"refused": 3, "empty": 1})
    '; 3 refused, 1 empty counted as worst'
    """
    return f"; {', '.join(f'{n:,} {word}' for word, n in counts.items())} counted as worst" if counts else ""


def describe_refusals(evaluation: Evaluation, baseline: Evaluation | None = None) -> Iterator[tuple[str, str]]:
    """Yield the measures whose means leave out answers that say nothing, each with the mean that rules look at."""
    counted = count_refusals(evaluation, baseline)
    for name in evaluation.scores.measures if counted is not evaluation else ():
        if counts := count_silent(evaluation, name):
            scored = sum(len(table.column(name)) for table in list_tables(evaluation, name))
            words = ", ".join(f"{n:,} {word}" for word, n in counts.items())
            yield (
                name,
                f"{name} is over {scored:,} of {scored + sum(counts.values()):,} answers, without {words}; with these "
                f"as worst, as rules count, it is {counted.mean(name):.4f}",
            )


def list_silent(evaluation: Evaluation, measure: str) -> list[str]:
    """Return the queries to which no answer has a value of a measure, because all say nothing."""
    scores = evaluation.scores
    if measure not in scores.columns or not _has_silent(scores):
        return []
    return list(compress(scores.queries, _find_silent(scores)[:, scores.columns[measure]].tolist()))


def _lower_failed(scores: Scores, failed: Collection[str], baseline: Evaluation | None) -> Scores:
    """Return the scores with the lowest value that was seen of each measure without a lowest one, such as Utility."""
    rows = [scores.rows[query] for query in failed if query in scores.rows]
    endless = [i for i, measure in enumerate(scores.measures) if math.isinf(find_worst(measure))]
    if not rows or not endless:
        return scores
    values = scores.values.copy()
    for i in endless:
        values[rows, i] = _find_lowest(scores.measures[i], scores, baseline)
    codes = scores.codes.copy()
    codes[np.ix_(rows, endless)] = 0
    return replace(scores, values=values, codes=codes)


def _find_lowest(name: str, scores: Scores, baseline: Evaluation | None) -> float:
    """Return the worst value of a measure, or if it has none, the worst that was seen in the run and the baseline."""
    if not math.isinf(worst := find_worst(name)):
        return worst
    seen: list[float] = [*scores.column(name).values(), *(baseline.values(name).values() if baseline else ())]
    return max((0.0, *seen)) if lower_is_better(name) else min((0.0, *seen))


def may_be_empty(evaluation: Evaluation, query: str) -> bool:
    """Return whether no result may be the right answer to a query: it is unanswerable, or nobody judged it."""
    return query in evaluation.unanswerable or query in evaluation.unjudged
