"""Hits that are whole documents, of all queries at once: what :mod:`karat.measures._collapse` does hit by hit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import eq
from typing import Any

import numpy as np

from karat.core import Floats, Grades, Hit, HitList, find_table_rows
from karat.measures._alignment import Bools, Chunks, Ints

_UNKNOWN = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedRows:
    """The parts of an alignment that depend on the hits; see :class:`karat.measures.Alignment`."""

    starts: Ints
    grades: Ints
    ranks: Ints
    retrieved: Ints
    chunks: Chunks


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranking:
    """The hits of all queries, one list after the other, each in the order of its scores."""

    query: Ints
    document: Ints
    """The number of the hit's document."""
    named: Bools
    """Whether the hit has the id of its document."""
    numbers: Mapping[str, int]
    """The number of each document."""
    queries: int


def align_whole(
    grades: Grades, queries: Sequence[str], lists: Sequence[Sequence[Any]], size_of: Callable[[str], int | None]
) -> AlignedRows | None:
    """Return the alignment of each query's list of hits with its grades, or None if some are not whole documents."""
    rows, lengths = _take_rows(grades, queries)
    target = grades.target[rows]
    used = np.flatnonzero(np.bincount(target))
    judged = [grades.targets[number] for number in used.tolist()]
    ranking = _rank(lists) if all(target.whole for target in judged) else None
    if ranking is None:
        return None
    key = ranking.query * len(ranking.numbers) + ranking.document
    keys, first = np.unique(key, return_index=True)
    is_first = np.zeros(len(key), np.bool_)
    is_first[first] = True
    ranks = _count_within(is_first, ranking)
    number_of = np.full(len(grades.targets), _UNKNOWN, np.int64)
    number_of[used] = [ranking.numbers.get(target.document, _UNKNOWN) for target in judged]
    document = number_of[target]
    query = np.repeat(np.arange(len(queries)), lengths)
    wanted = np.where(document == _UNKNOWN, _UNKNOWN, query * len(ranking.numbers) + document)
    return AlignedRows(
        starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        grades=grades.grade[rows],
        ranks=_find_ranks(keys, ranks[first], wanted),
        retrieved=np.bincount(ranking.query[is_first], minlength=len(queries)),
        chunks=_WholeChunks(ranking, ~is_first, size_of),
    )


def _find_ranks(keys: Ints, ranks: Ints, wanted: Ints) -> Ints:
    """Return the rank of each wanted key, or 0 if it is not among the keys, which are in order."""
    if not len(keys):
        return np.zeros_like(wanted)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, ranks[place], 0)


def _take_rows(grades: Grades, queries: Sequence[str]) -> tuple[Ints | slice, Ints]:
    """Return the rows of the grades of some queries, one query after the other, and how many each of them has."""
    if tuple(queries) == grades.queries:  # all of them, as mostly
        return slice(None), np.diff(grades.starts)
    own = np.fromiter(map(grades.rows.get, queries, repeat(len(grades))), np.int64, len(queries))
    counts, starts = np.append(np.diff(grades.starts), 0), grades.starts
    lengths: Ints = counts[own]
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts[own] - before, lengths) + np.arange(int(lengths.sum())), lengths


def _rank(lists: Sequence[Sequence[Any]]) -> _Ranking | None:
    """Return the hits in the order of their scores; None if one is not a whole document, or has to be looked at."""
    columns = _take_table(lists) or _take_columns(lists)
    if columns is None or not np.isfinite(columns.score).all():
        return None
    query, score = np.repeat(np.arange(len(lists)), columns.lengths), columns.score
    order: Any = slice(None)
    if not ((score[1:] <= score[:-1]) | (query[1:] != query[:-1])).all():
        order = np.lexsort((-score, query))  # equal scores keep their order
    return _Ranking(
        query=query,
        document=columns.document[order],
        named=columns.named[order],
        numbers=columns.numbers,
        queries=len(lists),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """The hits of all queries, one list after the other, as they were returned."""

    lengths: Ints
    """How many hits each list has."""
    score: Floats
    document: Ints
    named: Bools
    numbers: Mapping[str, int]


def _take_table(lists: Sequence[Sequence[Any]]) -> _Columns | None:
    """Return the hits of lists that are rows of one table; None if some are not."""
    selection = find_table_rows(lists)
    if selection is None:
        return None
    table, rows = selection.table, selection.rows
    document = table.document[rows]
    return _Columns(
        lengths=selection.lengths,
        score=table.score[rows],
        document=document,
        named=np.ones(len(document), np.bool_) if table.document is table.id else document == table.id[rows],
        numbers={name: number for number, name in enumerate(table.names)},
    )


def _take_columns(lists: Sequence[Sequence[Any]]) -> _Columns | None:
    """Return the hits of all lists; None if one of them is more or less than a plain hit."""
    ids, documents, scores = list[Any](), list[Any](), list[Any]()
    all_named = True
    for hits in lists:
        if isinstance(hits, HitList):
            own_ids, own_documents = hits.names()
            all_named = all_named and own_ids is own_documents
            ids += own_ids
            documents += own_documents
            scores += hits.scores
            continue
        for hit in hits:
            if type(hit) is not Hit or hit.span is not None or hit.section or hit.block:
                return None
            all_named = False
            ids.append(hit.id)
            documents.append(hit.document)
            scores.append(hit.score)
    if set(map(type, ids)) - {str} or set(map(type, scores)) - {float}:
        return None
    numbers = {document: number for number, document in enumerate(dict.fromkeys(documents))}
    return _Columns(
        lengths=_lengths(lists),
        score=np.array(scores, np.float64),
        document=np.fromiter(map(numbers.__getitem__, documents), np.int64, len(ids)),
        named=np.ones(len(ids), np.bool_) if all_named else np.fromiter(map(eq, ids, documents), np.bool_, len(ids)),
        numbers=numbers,
    )


def _lengths(rows: Iterable[Sequence[Any]]) -> Ints:
    return np.array([len(row) for row in rows], np.int64)


def _count_within(mask: Bools, ranking: _Ranking) -> Ints:
    """Return for each hit how many hits of its query, down to itself, a mask has."""
    counts = np.bincount(ranking.query, minlength=ranking.queries)
    so_far = np.concatenate([[0], np.cumsum(mask)])
    before: Ints = so_far[np.cumsum(counts) - counts]
    within: Ints = so_far[1:] - before[ranking.query]
    return within


class _WholeChunks(Chunks):
    """The chunks of a ranking. Ranks, and sizes, for which every text is read, are found when a measure needs them."""

    def __init__(self, ranking: _Ranking, repeats: Bools, size_of: Callable[[str], int | None]) -> None:
        none, queries = np.zeros(0, np.int64), np.zeros(ranking.queries, np.int64)
        vars(self).update(query=ranking.query, repeats=repeats, unplaced=queries)
        vars(self).update(gold_query=none, gold_size=none, gold_grade=none, gold_rank=none)
        vars(self)["_find_ranks"] = lambda: _count_within(np.ones(len(ranking.query), np.bool_), ranking)
        vars(self)["_find_sizes"] = lambda: _find_sizes(ranking, self.rank, size_of)

    def __getattr__(self, name: str) -> Ints:
        """Return ``rank``, ``size`` or ``unsized``, the fields that are not there at first."""
        if name == "rank":
            vars(self)["rank"] = vars(self)["_find_ranks"]()
        elif name in ("size", "unsized"):
            vars(self).update(zip(("size", "unsized"), vars(self)["_find_sizes"](), strict=True))
        else:
            raise AttributeError(name)
        column: Ints = vars(self)[name]
        return column


def _find_sizes(ranking: _Ranking, rank: Ints, size_of: Callable[[str], int | None]) -> tuple[Ints, Ints]:
    """Return the size of each chunk, and for each query the rank of the first one whose size is not known."""
    names = list(ranking.numbers)
    sizes = np.full(len(names), _UNKNOWN, np.int64)
    for number in np.flatnonzero(np.bincount(ranking.document[ranking.named])).tolist():
        length = size_of(names[number])
        sizes[number] = _UNKNOWN if length is None else length
    size = np.where(ranking.named, sizes[ranking.document], _UNKNOWN)
    unsized = np.zeros(ranking.queries, np.int64)
    queries, first = np.unique(ranking.query[size == _UNKNOWN], return_index=True)
    unsized[queries] = rank[size == _UNKNOWN][first]
    return np.maximum(size, 0), unsized
