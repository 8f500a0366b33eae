"""The queries of a run with their scores, hits and relevant documents, as the decision document holds them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import compress, count, repeat
from typing import NamedTuple

import numpy as np
from msgspec import UNSET, UnsetType

from karat.core import (
    GoldenSet,
    Hit,
    HitList,
    HitTable,
    Scores,
    Trace,
    TraceTable,
    find_table_rows,
    list_documents,
    list_scores,
    make_hits,
)
from karat.evaluation import Evaluation, RankedLists, StoredLists
from karat.reports import QueryStanding
from karat.schema import ExpectedRow, HitRow, LeftRow, Passage, QueryRow

_NONE: dict[str, int] = {}  # the channels of all hits that have none
_SNIPPET = 300  # characters of a hit's document, so that a report can be read without the documents


def query_rows(
    golden: GoldenSet,
    candidate: Evaluation,
    before: Evaluation | None,
    only: Iterable[str] | None = None,
) -> tuple[QueryRow, ...]:
    """Return the queries of a run with their scores, hits and relevant documents, beside those of the baseline.

    ``only`` names some of the queries, if not all are needed.
    """
    queries, rows = candidate.query_set if only is None else candidate.query_set.intersection(only), []
    first = _find_first(candidate.traces, queries)
    now, then = (_score_queries(evaluation.scores, queries) if evaluation else {} for evaluation in (candidate, before))
    judged, returned, listed = _Judged(golden, queries), _Returned(first), _take_lists(before, queries)
    for query in golden.queries:
        if query.id in queries:
            trace = first.get(query.id)
            documents = _list_documents(judged, query.id, returned.take(trace), listed.get(query.id, ()))
            rows.append(
                QueryRow(
                    id=query.id,
                    text=query.text,
                    category=query.category or UNSET,
                    type=query.type or UNSET,
                    intent=query.intent or UNSET,
                    scores=now.get(query.id, {}),
                    baseline=then.get(query.id, {}),
                    error=candidate.failures.get(query.id, ""),
                    unfound=query.id in candidate.unfound,
                    unjudged=query.id in candidate.unjudged or UNSET,
                    unanswerable=not query.answerable or UNSET,
                    false_answer=query.id in candidate.false_answers or UNSET,
                    refused=query.id in candidate.refused or UNSET,
                    was_failed=_was_failed(before, query.id),
                    ms=None if trace is None else trace.timings.get("total"),
                    hits=documents.hits,
                    left=documents.left,
                    expected=documents.expected,
                )
            )
    return tuple(rows)


def _was_failed(before: Evaluation | None, query: str) -> bool | UnsetType:
    """Return whether a baseline failed on a query; UNSET if it was not asked, or has means only."""
    return query in before.missed if before is not None and query in before.query_set else UNSET


def _find_first(traces: Sequence[Trace], queries: Set[str]) -> dict[str, Trace]:
    """Return the answer to each of some queries in its original wording and first repeat."""
    if isinstance(traces, TraceTable):
        return {trace.query: trace for trace in traces.take(queries)}
    return {
        trace.query: trace
        for trace in reversed(traces)
        if trace.query in queries and not trace.paraphrase and not trace.repeat
    }


def query_standings(
    golden: GoldenSet, candidate: Evaluation, before: Evaluation | None, only: Set[str], measures: Sequence[str]
) -> list[QueryStanding]:
    """Return how some queries stand by some measures: all that tells whether they fail, without their documents."""
    now, then = (
        _score_queries(evaluation.scores, only, measures) if evaluation else {} for evaluation in (candidate, before)
    )
    failures, unfound, false, nothing = (
        candidate.failures,
        candidate.unfound,
        candidate.false_answers,
        dict[str, float](),
    )
    common, unjudged = candidate.query_set.intersection(only), candidate.unjudged
    return [
        QueryStanding(
            id_,
            failures.get(id_, ""),
            id_ in unfound,
            id_ in false,
            now.get(id_, nothing),
            then.get(id_, nothing),
            unjudged=id_ in unjudged,
            refused=id_ in candidate.refused,
            was_failed=_was_failed(before, id_),
            had_hits=id_ in false and before is not None and bool(before.lists.get(id_)),
        )
        for id_ in [query.id for query in golden.queries]
        if id_ in common
    ]


class _Documents(NamedTuple):
    """The documents of a query: returned now, no longer returned, and relevant."""

    hits: tuple[HitRow, ...]
    left: tuple[LeftRow, ...]
    expected: tuple[ExpectedRow, ...]


class _Judged:
    """The documents of a golden set, and their grades by query, as they are looked up for very many queries."""

    def __init__(self, golden: GoldenSet, queries: Set[str]) -> None:
        grades = golden.grades_by_query
        self.relevant = golden.relevant
        self.titles = {id_: document.title for id_, document in golden.document_by_id.items() if document.title}
        is_wanted, lengths = np.array([query in queries for query in grades.queries], np.bool_), np.diff(grades.starts)
        rows, names = np.repeat(is_wanted, lengths), [target.document for target in grades.targets]
        self._rows, self._starts = grades.rows, np.append(0, np.cumsum(np.where(is_wanted, lengths, 0))).tolist()
        self._documents = list(map(names.__getitem__, grades.target[rows].tolist()))
        self._grades = grades.grade[rows].tolist()
        self._lowest = min(self._grades, default=0)

    def grades(self, query: str) -> dict[str, int]:
        """Return the best grade of each document that was judged for a query, or 0 if it is lower."""
        row = self._rows.get(query)
        if row is None:
            return {}
        start, end = self._starts[row], self._starts[row + 1]
        documents, numbers = self._documents[start:end], self._grades[start:end]
        grades = dict(zip(documents, numbers, strict=True))
        if len(grades) == len(documents) and self._lowest >= 0:  # no document is judged in parts
            return grades
        grades = {}
        for document, grade in zip(documents, numbers, strict=True):
            if grade > grades.setdefault(document, 0):
                grades[document] = grade
        return grades


class _Hits(NamedTuple):
    """The hits of a query in columns, with short scores."""

    ids: Sequence[str]
    documents: Sequence[str]
    scores: Sequence[float]
    channels: Iterable[dict[str, int]]


class _Returned:
    """The hits of traces, as they are looked up for very many queries. Those of a whole table are made at once."""

    def __init__(self, traces: Mapping[str, Trace]) -> None:
        self._table: HitTable | None = None
        selection = find_table_rows([trace.listed for trace in traces.values()])
        if selection is None or selection.lengths.sum() < len(selection.table.id):
            return
        self._table = table = selection.table
        self._ids = self._documents = list(map(table.names.__getitem__, table.id.tolist()))
        if table.document is not table.id:
            self._documents = list(map(table.names.__getitem__, table.document.tolist()))
        scores, places = np.unique(table.score, return_inverse=True)  # which many hits share if they are ranks
        self._scores = list(map(_shorten(scores.tolist()).__getitem__, places.tolist()))

    def take(self, trace: Trace | None) -> _Hits:
        """Return the hits of a trace."""
        if trace is None:
            return _Hits((), (), (), ())
        hits = trace.listed
        if not isinstance(hits, HitList):
            documents, scores = list_documents(hits), _shorten(list_scores(hits))
            return _Hits([hit.id for hit in hits], documents, scores, _list_channels(hits))
        if self._table is None or hits.table is not self._table:
            return _Hits(*hits.names(), _shorten(hits.scores), repeat(_NONE))
        start, end = hits.start, hits.end
        return _Hits(self._ids[start:end], self._documents[start:end], self._scores[start:end], repeat(_NONE))


def _shorten(scores: Iterable[float]) -> list[float]:
    """Return scores with six decimals; one that is short already is the same object: a million would take memory."""
    return [score if score == (short := round(score, 6)) else short for score in scores]


def _take_lists(evaluation: Evaluation | None, queries: Set[str]) -> dict[str, tuple[str, ...]]:
    """Return the documents of some queries of a baseline, those that it has."""
    lists = evaluation.lists if evaluation else {}
    names = [query for query in lists if query in queries]
    many = lists.take(names) if isinstance(lists, RankedLists | StoredLists) else map(lists.__getitem__, names)
    return dict(zip(names, many, strict=True))


def _list_documents(judged: _Judged, query: str, hits: _Hits, listed: tuple[str, ...]) -> _Documents:
    grades = judged.grades(query)
    documents = tuple(hits.documents)
    ranks = rank_documents(documents)
    places = ranks if documents == listed else rank_documents(listed)  # most lists stay as they were
    left = () if places is ranks else _left(judged.titles, listed, ranks, grades)
    rows = map(HitRow, count(1), hits.ids, documents, hits.scores, map(grades.get, documents),
               map(places.get, documents), hits.channels)  # fmt: skip
    return _Documents(tuple(rows), left, _expected(judged, ranks, grades))


def _score_queries(
    scores: Scores, queries: Set[str], measures: Sequence[str] | None = None
) -> dict[str, dict[str, float]]:
    """Return the values of each query by measure, of all measures or of some, without the missing ones."""
    names = [name for name in (scores.measures if measures is None else measures) if name in scores.columns]
    columns = np.array([scores.columns[name] for name in names], np.int64)
    is_wanted = list(map(queries.__contains__, scores.queries))
    ids, places = list(compress(scores.queries, is_wanted)), np.flatnonzero(is_wanted)
    cells = np.ix_(places, columns)
    has_value, rows = scores.codes[cells] == 0, scores.values[cells].tolist()
    if len(names) == 1:  # as where only the queries that fail are looked for
        table = {query: {names[0]: value} for query, (value,) in zip(ids, rows, strict=True)}
    else:
        table = {query: dict(zip(names, values, strict=True)) for query, values in zip(ids, rows, strict=True)}
    for row in np.flatnonzero(~has_value.all(axis=1)).tolist():
        table[ids[row]] = dict(compress(table[ids[row]].items(), has_value[row].tolist()))
    return table


def rank_documents(documents: Sequence[str]) -> dict[str, int]:
    """Return the first rank of each document of a list."""
    # From the last to the first: a dict keeps the last rank of a key.
    return dict(zip(reversed(documents), range(len(documents), 0, -1), strict=True))


def _list_channels(hits: Iterable[Hit]) -> list[dict[str, int]]:
    """Return the ranks of each hit by channel."""
    return [{name: place.rank for name, place in hit.channels.items()} if hit.channels else _NONE for hit in hits]


def _left(
    titles: Mapping[str, str], before: Sequence[str], ranks: Mapping[str, int], grades: Mapping[str, int]
) -> tuple[LeftRow, ...]:
    """Return the documents that were among the first of the baseline and are no longer found."""
    return tuple(
        LeftRow(document=id_, title=titles.get(id_, ""), was=rank, grade=grades.get(id_))
        for rank, id_ in enumerate(before, 1)
        if id_ not in ranks
    )


def find_passages(golden: GoldenSet, traces: Sequence[Trace]) -> dict[str, Passage]:
    """Return title and beginning of everything that was found, by the id of the hit."""
    passages: dict[str, Passage] = {}
    texts: dict[str, bytes] = {}  # of documents of which parts were found, encoded once
    for hits in _list_distinct(_list_first_hits(traces)):
        if isinstance(hits, HitList) and passages.keys() >= set(hits.ids):
            continue  # as of most queries, if there are very many
        for hit in hits:
            if hit.id not in passages:
                passages[hit.id] = Passage(title=_title(golden, hit.document), snippet=_snippet(golden, hit, texts))
    return passages


def _list_first_hits(traces: Sequence[Trace]) -> Sequence[Sequence[Hit]]:
    """Return the hits of each query in its original wording and first repeat."""
    if isinstance(traces, TraceTable):  # which has no others
        return traces.hits.lists
    return [trace.listed for trace in traces if not trace.paraphrase and not trace.repeat]


def _list_distinct(lists: Sequence[Sequence[Hit]]) -> Sequence[Sequence[Hit]]:
    """Return the lists; of rows of one table, one list with the first row of each id, in their order."""
    selection = find_table_rows(lists)
    if selection is None:
        return lists
    table, rows = selection.table, np.arange(len(selection.table.id))[selection.rows]
    first = np.full(len(table.names), len(table.id))
    first[table.id[rows[::-1]]] = np.arange(len(rows))[::-1]  # of several values, the last stays
    chosen = rows[np.sort(first[first < len(table.id)])]
    ids, documents = ([table.names[i] for i in column[chosen].tolist()] for column in (table.id, table.document))
    return [make_hits(ids, table.score[chosen].tolist(), documents)]


def _title(golden: GoldenSet, id_: str) -> str:
    document = golden.document_by_id.get(id_)
    return document.title if document else ""


def _snippet(golden: GoldenSet, hit: Hit, texts: dict[str, bytes]) -> str:
    """Return the beginning of a hit's own text, of its span of the document, or of the document."""
    if hit.content:
        return hit.content[:_SNIPPET]
    document = golden.document_by_id.get(hit.document)
    if document is None:
        return ""
    text = document.text
    if hit.span:
        if hit.document not in texts:
            texts[hit.document] = text.encode()
        text = texts[hit.document][hit.span.start : hit.span.end].decode(errors="ignore")
    return " ".join(text[: 2 * _SNIPPET].split())[:_SNIPPET]


def _expected(judged: _Judged, ranks: Mapping[str, int], grades: Mapping[str, int]) -> tuple[ExpectedRow, ...]:
    """Return the relevant documents, the best first, with the rank at which each was found."""
    least = judged.relevant
    relevant = sorted([(-grade, id_) for id_, grade in grades.items() if grade >= least])
    title_of, rank_of = judged.titles.get, ranks.get
    return tuple([ExpectedRow(id_, title_of(id_, ""), -negative, rank_of(id_)) for negative, id_ in relevant])
