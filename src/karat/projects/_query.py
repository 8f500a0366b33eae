"""One query of a run: what was expected, what was returned, what moved against the baseline, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from karat.core import GoldenSet, InputError, Measure, did_you_mean, shorten
from karat.evaluation import Evaluation, default_measures
from karat.projects._gating import evaluate_run, find_baseline
from karat.projects._project import open_project
from karat.projects._query_rows import find_passages, query_rows, rank_documents
from karat.projects.saved_runs import choose_run
from karat.runs import read_any_run
from karat.schema import QueryRow, ShownDocument, ShownHit, ShownQuery

_WORDS = 80  # characters of a hit's text


def show_query(
    path: str | Path, query: str, *, golden: str | Path | None = None, baseline: str | Path | None = None
) -> ShownQuery:
    """Return one query of a run; ``path`` is the run's file, or a project, whose newest complete run is meant.

    ``baseline`` is the file to compare with, by default that of the project, if there is one.
    """
    chosen = choose_run(path, golden=golden)
    project = open_project(chosen.project)
    run = read_any_run(chosen.path, project.golden)
    names = dict.fromkeys(
        str(Measure.parse(name)) for name in project.config.eval.measures or default_measures(project.golden)
    )
    candidate = evaluate_run(project, run, names)
    recorded = find_baseline(project, baseline)
    before = recorded.evaluation if recorded else None
    rows = query_rows(project.golden, candidate, before, only=[query])
    if not rows:
        ids = [known.id for known in project.golden.queries if known.id in candidate.scores.rows]
        known = did_you_mean(query, ids) or f"; it has {', '.join(map(shorten, ids[:3]))} ..."
        raise InputError(f"the run has no query {shorten(query)}{known}", source=str(chosen.path))
    row = rows[-1]
    then = before if before is not None and (row.baseline or query in before.lists) else None
    return ShownQuery(
        run=candidate.provenance.title,
        file=str(chosen.path),
        baseline=then.provenance.title if then else None,
        query=row.id,
        text=row.text,
        answerable=row.unanswerable is not True,
        error=row.error,
        milliseconds=row.ms,
        scores={name: row.scores.get(name) for name in names},
        before={name: row.baseline[name] for name in names if name in row.baseline},
        expected=_list_expected(project.golden, row, then),
        returned=_list_hits(project.golden, row, candidate),
        left=row.left,
        reasons=tuple(_explain(row, list(names))),
    )


def _list_expected(golden: GoldenSet, row: QueryRow, before: Evaluation | None) -> tuple[ShownDocument, ...]:
    """Return the judged documents, the best first."""
    grades = golden.grades_by_query.by_document(row.id)
    ranks = rank_documents([hit.document for hit in row.hits])
    ranking = before.lists.get(row.id, ()) if before else ()
    places = rank_documents(ranking)
    documents = golden.document_by_id
    return tuple(
        ShownDocument(
            document=id_,
            title=documents[id_].title if id_ in documents else "",
            grade=grade,
            relevant=grade >= golden.relevant,
            rank=ranks.get(id_),
            was=places.get(id_),
        )
        for id_, grade in sorted(grades.items(), key=lambda pair: (-pair[1], pair[0]))
    )


def _list_hits(golden: GoldenSet, row: QueryRow, candidate: Evaluation) -> tuple[ShownHit, ...]:
    passages = find_passages(golden, [trace for trace in candidate.traces if trace.query == row.id])
    return tuple(
        ShownHit(
            rank=hit.rank,
            id=hit.id,
            document=hit.document,
            score=hit.score,
            grade=hit.grade,
            relevant=None if hit.grade is None else hit.grade >= golden.relevant,
            was=hit.was,
            words=" ".join(passages[hit.id].snippet.split())[:_WORDS] if hit.id in passages else "",
        )
        for hit in row.hits
    )


def _explain(row: QueryRow, measures: list[str]) -> Iterator[str]:
    """Yield why a query scored as it did: what failed, what is missing, and what nobody judged."""
    if row.error:
        yield f"the system failed: {row.error}"
        return
    if row.unanswerable is True:  # it may be UNSET
        if row.hits:
            hits = "1 hit was" if len(row.hits) == 1 else f"{len(row.hits):,} hits were"
            yield f"the question has no answer, and {hits} returned"
        yield from _explain_change(row, measures)
        return
    if not row.expected:
        yield "no document is judged relevant, so that there is nothing to find"
    if not row.hits:
        yield "the system returned nothing"
    depth = max((hit.rank for hit in row.hits), default=0)
    cutoffs = sorted({cutoff for name in measures if (cutoff := _find_cutoff(name))})
    was: Mapping[str, int] = {left.document: left.was for left in row.left}
    for expected in row.expected:
        name = f"{expected.document} (grade {expected.grade})"
        if expected.rank is None and row.hits:
            before = f"; the baseline had it at rank {was[expected.document]}" if expected.document in was else ""
            yield f"{name} is not among the {depth:,} returned{before}"
        elif expected.rank is not None:
            missed = [cutoff for cutoff in cutoffs if expected.rank > cutoff]
            if missed:
                yield f"{name} is at rank {expected.rank}, below the cutoff of {', '.join(f'@{c}' for c in missed)}"
    unjudged = [hit for hit in row.hits if hit.grade is None]
    if unjudged:
        yield f"{len(unjudged):,} of {len(row.hits):,} hits are not judged, and count as not relevant"
    yield from _explain_change(row, measures)


def _explain_change(row: QueryRow, measures: list[str]) -> Iterator[str]:
    for name in measures:
        change = row.scores.get(name, 0.0) - row.baseline[name] if name in row.baseline and name in row.scores else 0.0
        if abs(change) > 1e-9:
            yield f"{name} went from {row.baseline[name]:.4g} to {row.scores[name]:.4g} against the baseline"


def _find_cutoff(name: str) -> int | None:
    cutoff = Measure.parse(name).cutoff
    return cutoff if isinstance(cutoff, int) else None
