"""A session as a document, with the ranks of what is right where the golden set knows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from karat.core import GoldenSet
from karat.feedback._sessions import AskedQuery, Session
from karat.text import folded

if TYPE_CHECKING:
    from karat.schema.feedback import SessionQuery, SessionSummary

Relevant = dict[str, frozenset[str]]
"""The relevant documents of golden queries, by their folded texts."""


def summarise_sessions(sessions: Iterable[Session], golden: GoldenSet | None = None) -> Iterator[SessionSummary]:
    """Yield each session as a document.

    The reciprocal rank of a query is that of the first relevant document, 0 if none came back, and null if ``golden``
    does not have the query in the same words, or no relevant document for it.
    """
    from karat.schema.feedback import SessionSummary

    relevant = _index_relevant(golden)
    for session in sessions:
        queries = tuple(_describe(search, relevant) for search in session.queries)
        ranks = [query.reciprocal_rank for query in queries if query.reciprocal_rank is not None]
        yield SessionSummary(
            session=session.id,
            queries=queries,
            task_outcomes=tuple({"value": event.value, **event.attributes} for event in session.outcomes),
            searches=len(queries),
            accessed=len(session.accessed),
            mean_reciprocal_rank=sum(ranks) / len(ranks) if ranks else None,
            repeat_rate=session.repeat_rate,
            minutes=session.seconds / 60,
            unvalidated=session.unvalidated,
        )


def _index_relevant(golden: GoldenSet | None) -> Relevant:
    if golden is None:
        return {}
    grades = golden.qrels()
    right = {
        query: frozenset(document for document, grade in own.items() if grade >= golden.relevant)
        for query, own in grades.items()
    }
    forms = ((form, query.id) for query in golden.queries for form in (query.text, *query.paraphrases))
    return {folded(form): right[name] for form, name in forms if right[name]}


def _describe(search: AskedQuery, relevant: Relevant) -> SessionQuery:
    from karat.schema.feedback import SessionQuery, SessionValidation

    query = search.query
    results = tuple(dict.fromkeys(query.documents))
    right = relevant.get(folded(query.text))
    first = next((1 / rank for rank, name in enumerate(results, 1) if right and name in right), 0.0)
    return SessionQuery(
        id=query.id,
        text=query.text,
        intent=query.intent,
        results=results,
        selected=tuple(search.read),
        validated=tuple(
            SessionValidation(document=document, useful=useful)
            for documents, useful in ((search.useful, True), (search.not_useful, False))
            for document in documents
        ),
        repeats=search.repeats,
        outcome=search.outcome,
        reciprocal_rank=None if right is None else first,
    )
