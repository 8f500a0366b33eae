"""Scores of several wordings and repeats as one table: the mean of each query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from karat.core import Bounds, Scores
from karat.evaluation._evaluation import Variant


def average_variants(variants: Mapping[Variant, Scores]) -> tuple[Scores, tuple[Scores, ...]]:
    """Return the scores of the tables of all wordings and repeats, and those of each repeat; () if there is only one.

    Each repeat is the average over its wordings, and the scores are the average over the repeats.
    """
    repeats = average_by(variants, lambda variant: variant[1])
    return average_tables(repeats), select_shared(repeats)


def average_by(tables: Mapping[Variant, Scores], key: Callable[[Variant], int]) -> list[Scores]:
    """Return the averages of the tables that have the same key, in the order of the keys."""
    by_key: dict[int, list[Scores]] = {}
    for variant, table in tables.items():
        by_key.setdefault(key(variant), []).append(table)
    return [average_tables(by_key[number]) for number in sorted(by_key)]


def split_wordings(tables: Mapping[Variant, Scores], measures: Iterable[str]) -> tuple[Scores, ...]:
    wordings = average_by(tables, lambda variant: variant[0])
    return tuple(select_asked(table.only(measures)) for table in wordings) if len(wordings) > 1 else ()


def select_shared(repeats: Sequence[Scores]) -> tuple[Scores, ...]:
    """Return the repeats with the queries that were asked in all of them; () if nothing was repeated."""
    if len(repeats) == 1:
        return ()
    tables = [select_asked(table) for table in repeats]
    shared = set.intersection(*(set(table.queries) for table in tables))
    return tuple(table.select(shared) for table in tables) if shared else ()


def select_asked(scores: Scores) -> Scores:
    """Return the scores without the queries that were not asked in this variant, which are not failures."""
    return scores.select(set(scores.queries) - set(scores.not_in_run))


def average_tables(tables: Sequence[Scores]) -> Scores:
    """Return the average of each query over the tables that have a value for it (not all queries have paraphrases)."""
    first = tables[0]
    if len(tables) == 1:
        return first
    total, count = np.zeros(first.values.shape), np.zeros(first.values.shape)
    codes, reasons = np.zeros(first.values.shape, np.uint8), dict[str, int]()
    for table in tables:
        rows = [first.rows[query] for query in table.queries]
        has_value = ~np.isnan(table.values) & ~np.isin(table.queries, table.not_in_run)[:, None]
        total[rows] += np.where(has_value, table.values, 0.0)
        count[rows] += has_value
        # Tables number their reasons differently; one without a query has 0 for it.
        numbers = [0, *(reasons.setdefault(reason, len(reasons) + 1) for reason in table.reasons)]
        codes[rows] = np.where(codes[rows] == 0, np.array(numbers, np.uint8)[table.codes], codes[rows])
    absent = set.intersection(*(set(table.not_in_run) for table in tables))
    return replace(
        first,
        values=np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0),
        codes=np.where(count > 0, 0, codes).astype(np.uint8),
        reasons=tuple(reasons),
        not_in_run=tuple(query for query in first.queries if query in absent),
        judged_retrieved=sum(table.judged_retrieved or 0 for table in tables),
        bounds=_average_bounds(tables),
    )


def _average_bounds(tables: Sequence[Scores]) -> Bounds | None:
    """Return the averages of bounds over the tables that have them; None if a table has none."""
    first, bounds = tables[0], [table.bounds for table in tables if table.bounds is not None]
    if len(bounds) < len(tables):
        return None
    ends, unjudged = np.full((2, len(tables), *first.values.shape), np.nan), np.zeros(first.values.shape, np.int64)
    for place, (table, own) in enumerate(zip(tables, bounds, strict=True)):
        rows = [first.rows[query] for query in table.queries]
        absent = np.isin(table.queries, table.not_in_run)[:, None]
        ends[:, place, rows] = np.where(absent, np.nan, [own.worst, own.best])
        unjudged[rows] += own.unjudged
    count = (~np.isnan(ends)).sum(axis=1)
    worst, best = np.divide(np.nansum(ends, axis=1), count, out=np.full(count.shape, np.nan), where=count > 0)
    return replace(bounds[0], worst=worst, best=best, unjudged=unjudged)
