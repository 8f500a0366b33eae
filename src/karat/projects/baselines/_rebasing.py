"""Rebasing a baseline: bring it to the golden set as it is now, and show what that changes."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import numpy as np

from karat.core import GateFailed, GoldenSet, InputError, Run, Scores, UsageError, shorten
from karat.evaluation import Evaluation, Segment, Segments, require_comparable
from karat.gate import VERSION, Baseline, add_contents, describe_growth, list_queries, write_baseline
from karat.projects._gating import evaluate_run, revise_baseline
from karat.projects._project import Project
from karat.projects.baselines._summary import read_project_baseline
from karat.schema import BaselineRebase, RebasedQuestion, RebasedValue

T = TypeVar("T")
_TIE = 1e-12
_INCONCLUSIVE = 4
_LEAST_KEPT = 0.5
"""The share of a baseline's questions below which a rebase makes another baseline of it, and needs a reason."""


@dataclass(frozen=True, kw_only=True)
class Rebase:
    """A baseline, and the same baseline on the golden set as it is now."""

    path: Path
    before: Baseline
    after: Baseline
    written: bool = False

    @property
    def is_needed(self) -> bool:
        """Whether the golden set changed since the baseline, or a run has scores that it lacks."""
        before, after = self.before.evaluation, self.after.evaluation
        same_set = before.provenance.golden == after.provenance.golden
        return not same_set or before.queries != after.queries or self.before.format < VERSION


def rebase_baseline(
    project: Project,
    *,
    baseline: str | Path | None = None,
    run: Run | None = None,
    write: bool = True,
    force: str | None = None,
) -> Rebase:
    """Bring the baseline of a project to its golden set as it is now; without ``write`` the file stays as it is.

    Where judgments changed, the stored lists are scored again. Questions that the set no longer has are dropped. New
    ones have no scores until the next accepted run, unless ``run``, a run of the same system, was asked them. A
    baseline that is up to date is not written. One that would lose most of its questions is written only if ``force``
    is a reason, which is recorded.
    """
    if force is not None and not force.strip():
        raise UsageError("--force needs a reason, which is recorded: --force 'the old questions were wrong'")
    path, before = read_project_baseline(project, baseline)
    if not before.evaluation.has_queries:
        raise InputError("has means only, and nothing to score again", source=str(path), hint="record it again")
    after = revise_baseline(project, before)
    evaluation = after.evaluation
    if run is not None:
        evaluation = _take_new(evaluation, evaluate_run(project, run, evaluation.scores.measures), project.golden)
    objection = _object(evaluation)
    if objection and write and force is None:
        raise objection
    after = replace(
        after,
        evaluation=add_contents(evaluation, project.golden),
        rebased=f"{datetime.now(tz=UTC):%Y-%m-%d}",
        shrunk=force.strip() if objection and force else after.shrunk,
    )
    rebase = Rebase(path=path, before=before, after=after)
    if write and rebase.is_needed:
        write_baseline(after, path)
        return replace(rebase, written=True)
    return rebase


def _object(evaluation: Evaluation) -> GateFailed | None:
    """Return the objection to a rebase that leaves too little of a baseline to be one."""
    revision = evaluation.revision
    if revision is None or revision.common - len(revision.unscored) >= _LEAST_KEPT * revision.asked:
        return None
    gone = [*revision.removed, *revision.unscored, *revision.unmatched]
    objection = GateFailed(
        f"{len(gone):,} of the {revision.asked:,} questions of the baseline would go, since they are no longer in the "
        f"golden set, have no relevant document any more, or found documents that are gone: {list_queries(gone)}; "
        "--dry-run shows them, and --force 'why' drops them"
    )
    objection.exit_code = _INCONCLUSIVE
    return objection


def _take_new(baseline: Evaluation, candidate: Evaluation, golden: GoldenSet) -> Evaluation:
    """Return a baseline with the answers of a run to the questions that it lacks."""
    require_comparable(candidate, baseline)
    if candidate.provenance.fingerprint != baseline.provenance.fingerprint:
        raise InputError(
            f"{shorten(candidate.name)} is a run of another system than the baseline",
            hint="take new questions from a run of the accepted system, or record the whole run with 'karat baseline "
            "update'",
        )
    if len(candidate.repeats) != len(baseline.repeats):
        raise InputError(
            f"{shorten(candidate.name)} was repeated {max(1, len(candidate.repeats))} times, and the baseline "
            f"{max(1, len(baseline.repeats))}",
            hint="repeat it as often",
        )
    known = set(baseline.queries)
    new = [query for query in candidate.queries if query not in known]
    if not new:
        return baseline
    both = {*known, *new}
    queries = tuple(query.id for query in golden.queries if query.id in both)
    scores = _join(baseline.scores, candidate.scores, queries)
    return replace(
        baseline,
        scores=scores,
        repeats=tuple(
            _join(ours, theirs, queries) for ours, theirs in zip(baseline.repeats, candidate.repeats, strict=True)
        ),
        means={**baseline.means, **scores.mean()},
        queries=queries,
        lists={**baseline.lists, **_select(candidate.lists, new)},
        segments=_join_segments(baseline.segments, candidate.segments, set(new)),
        empties={**baseline.empties, **_select(candidate.empties, new)},
        failures={**baseline.failures, **_select(candidate.failures, new)},
        unfound=baseline.unfound | (candidate.unfound & set(new)),
        questions={**baseline.questions, **_select(candidate.questions, new)},
    )


def _join_segments(known: Segments, segments: Segments, new: Collection[str]) -> dict[Segment, list[str]]:
    """Return the segments of a baseline with its new questions; those of the others are as they were recorded."""
    return {
        segment: [*known.get(segment, ()), *(query for query in segments.get(segment, ()) if query in new)]
        for segment in dict.fromkeys((*known, *segments))
    }


def _select(table: Mapping[str, T], queries: Collection[str]) -> dict[str, T]:
    return {query: table[query] for query in queries if query in table}


def _join(scores: Scores, more: Scores, queries: Iterable[str]) -> Scores:
    """Return a table with the rows of two; a row that both have is that of the first."""
    tables = [(query, scores if query in scores.rows else more) for query in queries]
    rows = [(query, table) for query, table in tables if query in table.rows]
    columns: dict[str, dict[str, float]] = {name: {} for name in scores.measures}
    reasons: dict[tuple[str, str], str] = {}
    for name in scores.measures:
        for query, table in rows:
            value, reason = table.value(query, name), table.reason(query, name)
            columns[name][query] = math.nan if value is None else value
            if reason is not None:
                reasons[query, name] = reason
    return Scores.from_columns(
        scores.name, columns, reasons=reasons, definitions=scores.definitions, aggregates=scores.aggregates
    )


def rebase_document(rebase: Rebase, golden: GoldenSet) -> BaselineRebase:
    """Return what a rebase changes as the document that ``karat baseline rebase --json`` prints."""
    before, after = rebase.before.evaluation, rebase.after.evaluation
    revision = after.revision
    texts = {query.id: query.text for query in golden.queries}
    new = revision.new if revision else ()
    removed = dict(revision.removed) if revision else {}
    removed |= {query: texts.get(query, "") for query in revision.unmatched} if revision else {}
    stale = _list_stale(after)
    marked = {*stale, *(revision.rejudged if revision else ())}
    rejudged = [query for query in before.queries if query in marked and query not in removed]
    return BaselineRebase(
        file=str(rebase.path),
        written=rebase.written,
        name=after.name,
        golden=dict(after.provenance.golden),
        was=dict(before.provenance.golden),
        queries=RebasedValue(before=_count_scored(before.scores), after=_count_scored(after.scores)),
        means={
            name: RebasedValue(before=_number(before.mean(name)), after=_number(after.mean(name)))
            for name in after.scores.measures
        },
        added=tuple(
            RebasedQuestion(query=query, text=texts[query], measures=_differences(None, after, query)) for query in new
        ),
        removed=tuple(
            RebasedQuestion(query=query, text=text, measures=_differences(before, None, query))
            for query, text in removed.items()
        ),
        rejudged=tuple(
            RebasedQuestion(
                query=query,
                text=texts.get(query, ""),
                measures=_differences(before, after, query),
                stale=tuple(stale.get(query, ())),
            )
            for query in rejudged
        ),
        documents=revision.touched if revision else (),
        notes=tuple(describe_growth(after, "baseline")),
    )


def _count_scored(scores: Scores) -> int:
    """Return how many questions have a value of any measure."""
    return int((~np.isnan(scores.values)).any(axis=1).sum())


def _list_stale(after: Evaluation) -> dict[str, list[str]]:
    """Return the measures of each question that keep their old score."""
    stale: dict[str, list[str]] = {}
    for name, queries in after.revision.stale.items() if after.revision else ():
        for query in queries:
            stale.setdefault(query, []).append(name)
    return stale


def _differences(before: Evaluation | None, after: Evaluation | None, query: str) -> dict[str, RebasedValue]:
    """Return the measures on which a question has another value than before, or has one on one side only."""
    measures = [name for evaluation in (before, after) if evaluation for name in evaluation.scores.measures]
    values = {name: (_value(before, query, name), _value(after, query, name)) for name in measures}
    return {name: RebasedValue(before=old, after=now) for name, (old, now) in values.items() if not _is_same(old, now)}


def _value(evaluation: Evaluation | None, query: str, measure: str) -> float | None:
    if evaluation is None or query not in evaluation.scores.rows:
        return None
    return evaluation.scores.value(query, measure)


def _is_same(old: float | None, now: float | None) -> bool:
    return old == now or (old is not None and now is not None and abs(old - now) < _TIE)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
