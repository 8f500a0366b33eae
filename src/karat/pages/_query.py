"""The page of one query: its judgments, and what became of it in every run."""

from __future__ import annotations

import math
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from karat.core import did_you_mean
from karat.index import RANKED, Columns, Index, IndexedQuery, IndexedRun, Mark
from karat.pages._errors import NotThere
from karat.pages._live import read_use
from karat.pages._ranking import read_ranking, read_trace
from karat.pages._run import sort_judgments
from karat.pages._store import LiveStore
from karat.projects.saved_runs import find_variants
from karat.schema.pages import QueryJudgment, QueryPage, QueryRun

_RUNS = 100
_DOCUMENTS = RANKED  # whose ranks are shown


class QueryRequest(Struct, frozen=True, kw_only=True):
    """Which query, and the run whose ranking is shown."""

    query: Annotated[str, Meta(min_length=1, max_length=2_000, description="The id of the query.")]
    run: Annotated[str, Meta(max_length=500, description="The run whose ranking is shown; by default the newest.")] = ""


def show_query(index: Index, store: LiveStore, request: QueryRequest) -> QueryPage:
    """Return a query with its judgments, its scores and the ranks of its relevant documents in every run."""
    query = index.find_query(request.query)
    if query is None:
        near = did_you_mean(request.query[:100], [known.id for known in index.read_queries(range(2_000))])
        raise NotThere(f"the golden set has no query {request.query[:100]!r}{near}")
    pairs = sorted(index.read_query_columns(query.position).values(), key=lambda pair: pair[0].line.order, reverse=True)
    grades = query.grades
    relevant = query.list_relevant(index.relevant)[:_DOCUMENTS]
    chosen = _choose_run(index, [run for run, _ in pairs], request.run)
    if request.run and chosen is None:
        raise NotThere(f"there is no run {request.run[:100]!r} with this query")
    titles = index.read_documents(grades)
    return QueryPage(
        project=index.meta.get("name", index.folder.name),
        query=query.id,
        text=query.text,
        category=query.category,
        type=query.type,
        intent=query.intent,
        answer=query.answer,
        answerable=query.answerable,
        paraphrases=query.paraphrases,
        judgments=tuple(
            QueryJudgment(
                target=judgment.target,
                document=judgment.document,
                title=titles[judgment.document].title if judgment.document in titles else "",
                grade=judgment.grade,
                decided=judgment.decided,
                decides=judgment.decides,
                relevant=judgment.decided >= index.relevant,
                source=judgment.source,
                annotator=judgment.annotator,
                date=judgment.date,
                words=judgment.excerpt,
            )
            for judgment in sort_judgments(query)
        ),
        measures=msgspec.json.decode(index.meta.get("measures", "[]"), type=tuple[str, ...]),
        relevant=tuple(relevant),
        runs=tuple(_describe(index, run, columns, query, relevant) for run, columns in pairs[:_RUNS]),
        more=max(0, len(pairs) - _RUNS),
        ranking=read_ranking(index, chosen, query) if chosen else None,
        live=read_use(index, store, query.id),
    )


def _choose_run(index: Index, runs: list[IndexedRun], name: str) -> IndexedRun | None:
    """Return the run of an id, or the newest that is no variant of a sweep, if there is one."""
    if name:
        return next((run for run in runs if run.line.id == name), None)
    variants = find_variants(index.folder)
    return next((run for run in runs if run.line.file not in variants), runs[0] if runs else None)


def _describe(index: Index, run: IndexedRun, columns: Columns, query: IndexedQuery, relevant: list[str]) -> QueryRun:
    """Return a query in a run; only what an error says has to be read from the run file."""
    has_failed = bool(columns.marks[0] & Mark.ERROR)
    trace, problem = read_trace(index, run, query) if has_failed else (None, "")
    scores = {name: float(columns.values[row, 0]) for row, name in enumerate(run.measures)}
    codes = {name: int(columns.codes[row, 0]) for row, name in enumerate(run.measures)}
    return QueryRun(
        run=run.line.id,
        title=run.line.title,
        date=run.line.begun or run.line.date,
        outcome=run.line.outcome,
        scores={name: None if math.isnan(value) else value for name, value in scores.items()},
        ranks={id_: int(rank) or None for id_, rank in zip(relevant, columns.ranks[:, 0], strict=False)},
        error=trace.error if trace else "",
        problem=problem,
        missing={name: run.reasons[code - 1] for name, code in codes.items() if code},
    )
