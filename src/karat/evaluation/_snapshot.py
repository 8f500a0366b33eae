"""From an evaluation to a snapshot: what a gate, a comparison and a baseline need of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from karat.core import GoldenSet, Measure, Run, Unit
from karat.evaluation._evaluation import Evaluation, score_run
from karat.evaluation._values import Snapshot

_KEPT = 10  # documents for each query, so that a gate can say what moved


def snapshot(evaluation: Evaluation, golden: GoldenSet, *, unit: Unit = "document") -> Snapshot:
    """Take from an evaluation its scores by query and repeat, its latency and what it was made of."""
    run, scores = evaluation.run, evaluation.scores
    repeats = [(one, {query: row for row, query in enumerate(one.queries)}) for one in evaluation.repeats] or [
        (scores, {query: row for row, query in enumerate(scores.queries)})
    ]
    failed = {trace.query: trace.error for trace in evaluation.failed}
    return Snapshot(
        name=run.name,
        golden=dict(run.golden),
        system=dict(run.system),
        fingerprint=run.fingerprint,
        settings={**run.settings, "unit": unit, "normaliser": golden.normaliser},
        versions=dict(run.versions),
        definitions={name: scores.definitions[name] for name in scores.measures if name in scores.definitions},
        values={
            measure: {
                # One that was not asked in every repeat has its mean: without a value it would drop out of every test.
                query: tuple(float(one.values[rows[query], column]) for one, rows in repeats if query in rows)
                or (float(scores.values[row, column]),)
                for row, query in enumerate(scores.queries)
            }
            for column, measure in enumerate(scores.measures)
        },
        means=scores.mean(),
        latency={stage: times.to_dict() for stage, times in evaluation.latency.items()},
        queries=scores.queries,
        total=len(golden.queries),
        hits=_documents(run),
        failed=failed,
        unfound=frozenset((*evaluation.unfound, *failed, *_unanswerable(scores.queries, golden))),
    )


def _unanswerable(queries: Iterable[str], golden: GoldenSet) -> Iterator[str]:
    """Give the queries that nothing relevant is known for: of them nothing can be found."""
    known = {query for (query, _), grade in golden.decided.items() if grade >= golden.relevant}
    return (query for query in queries if query not in known)


def _documents(run: Run) -> dict[str, tuple[str, ...]]:
    """Give the first documents of each query, as it stands and asked for the first time."""
    return {
        trace.query: tuple(dict.fromkeys(hit.document for hit in trace.hits))[:_KEPT]
        for trace in run.traces
        if not trace.paraphrase and not trace.repeat
    }


def snapshot_run(
    golden: GoldenSet, run: Run, measures: Iterable[str | Measure] | None = None, *, unit: Unit = "document"
) -> Snapshot:
    """Score a run that was made on this golden set, and take the snapshot."""
    return snapshot(score_run(golden, run, measures, unit=unit), golden, unit=unit)
