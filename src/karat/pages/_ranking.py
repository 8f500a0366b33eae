"""What a run returned for a query, with titles and grades."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan

from karat.core import GoldenSet, InputError, Judgment, MeasureError, Query, Target, Trace
from karat.files import name_paths
from karat.index import Index, IndexedQuery, IndexedRun
from karat.measures import score_hits
from karat.pages._moving import rank_hits
from karat.pages._run import describe_query
from karat.schema.pages import RankedHit, Ranking, ScoreBounds

_SHOWN = 50  # hits of a ranking
_SAME = 1e-9


def read_ranking(
    index: Index, run: IndexedRun, query: IndexedQuery, beside: Trace | None = None, movers: Mapping[str, str] = {}
) -> Ranking:
    """Return the ranking of a query in a run.

    ``beside`` is that of another run, and ``movers`` says what moved documents between the two.
    """
    trace, problem = read_trace(index, run, query)
    line = describe_query(run, index.read_columns(run, [query.position]), 0, query)
    hits = trace.hits[:_SHOWN] if trace else ()
    documents, grades = index.read_documents(hit.document for hit in hits), query.grades
    other = rank_hits(beside.hits if beside else ())
    rows = []
    for rank, hit in enumerate(hits, 1):
        known, grade = documents.get(hit.document), grades.get(hit.document)
        rows.append(
            RankedHit(
                rank=rank,
                id=hit.id,
                document=hit.document,
                title=known.title if known else "",
                beginning=hit.content[:300] or (known.beginning if known else ""),
                score=hit.score,
                grade=grade,
                relevant=None if grade is None else grade >= index.relevant,
                other=other.get(hit.document),
                mover=movers.get(hit.document, "") if other.get(hit.document) != rank else "",
            )
        )
    return Ranking(
        run=run.line,
        error=trace.error if trace else "",
        answer=trace.answer if trace else "",
        hits=tuple(rows),
        total=len(trace.hits) if trace else 0,
        scores=line.scores,
        milliseconds=line.milliseconds,
        problem=problem,
        bounds=_find_bounds(trace, query, index.relevant, line.scores) if trace else {},
    )


def _find_bounds(
    trace: Trace, query: IndexedQuery, relevant: int, scores: Mapping[str, float | None]
) -> dict[str, ScoreBounds]:
    """Return how far unjudged documents could move the scores that the list of documents alone decides.

    Other scores come from parts of documents, several wordings or answers: to score the list does not give them.
    """
    names = [name for name, value in scores.items() if value is not None]
    if not names or not query.judgments:
        return {}
    judgments = [Judgment(query=query.id, target=Target(document=id_), grade=g) for id_, g in query.grades.items()]
    golden = GoldenSet(queries=(Query(id=query.id, text=query.text),), judgments=tuple(judgments), relevant=relevant)
    try:
        table = score_hits(golden, {query.id: trace.hits}, names, bounds=True)
    except MeasureError:  # one that needs more than a list
        return {}
    assert table.bounds is not None
    bounds = {}
    for column, name in enumerate(table.columns):
        worst, best = float(table.bounds.worst[0, column]), float(table.bounds.best[0, column])
        if not isnan(worst) and not isnan(best) and abs(float(table.values[0, column]) - (scores[name] or 0.0)) < _SAME:
            unjudged = int(table.bounds.unjudged[0, column])
            bounds[name] = ScoreBounds(worst=worst, best=best, unjudged=unjudged)
    return bounds


def read_trace(index: Index, run: IndexedRun, query: IndexedQuery) -> tuple[Trace | None, str]:
    """Return what a run answered, or why that cannot be shown."""
    try:
        trace = index.read_trace(run, query)
    except InputError as error:
        return None, name_paths(str(error), index.folder)
    return trace, "" if trace is not None else "the run was not asked this query"
