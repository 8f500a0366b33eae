"""The document of an evaluation, which ``karat eval --json`` prints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from msgspec import UNSET

from karat.evaluation._counts import count_queries, list_facts, summarise_spread
from karat.evaluation._distances import list_distances
from karat.evaluation._evaluation import Evaluation
from karat.evaluation._scoring import pass_rates, rated_measures
from karat.measures import count_bands, run_scores
from karat.schema import EvaluatedRun, EvaluationReport, FailedQuestion, LabelCorrection, SegmentScores, SuccessRates


def evaluation_report(
    evaluation: Evaluation,
    *,
    per_query: bool = False,
    success: float = 1.0,
    caveats: Sequence[str] = (),
    by_labels: Mapping[str, LabelCorrection] | None = None,
    run_id: str = "",
) -> EvaluationReport:
    """Return the document of an evaluation: that of ``karat score --json``, with latency, failures and segments.

    If queries were asked several times, ``trials`` has for each measure the share of queries that reached ``success``
    in any of the repeats, and the share that reached it in all of them. ``caveats`` say what is wrong with the golden
    set. ``by_labels`` has the means of judges that people's labels correct. If the scores have bounds, each measure has
    the worst and the best mean over all grades of unjudged documents. ``run_id`` is that of the run's file.
    """
    scores = run_scores(evaluation.scores, per_query)
    left_out = evaluation.failures.keys() | evaluation.unjudged
    noise = {name: _replace_nan(value) for name, value in evaluation.noise.items()}
    run = EvaluatedRun(
        name=scores.name,
        id=run_id or UNSET,
        measures=scores.measures,
        not_in_run=scores.not_in_run,
        not_judged=scores.not_judged,
        spread={
            name: summarise_spread(evaluation.scores.present(name)[1].tolist()) for name in evaluation.scores.measures
        },
        counts=count_queries(evaluation),
        queries=scores.queries,
        facts=list_facts(evaluation) if per_query else UNSET,
        by=_segments(evaluation) or UNSET,
        latency={stage: dict(times) for stage, times in evaluation.latency.items()},
        failed=[FailedQuestion(query=trace.query, error=trace.error) for trace in evaluation.traces if trace.error],
        unfound=[query for query in evaluation.queries if query in evaluation.unfound and query not in left_out],
        false_answers=[query for query in evaluation.queries if query in evaluation.false_answers] or UNSET,
        invented={query: list(ids) for query, ids in evaluation.invented.items()} or UNSET,
        bands={name: count_bands(evaluation.values(name).values()) for name in list_distances(evaluation.scores)}
        or UNSET,
        noise=noise or UNSET,
        trials=_success_rates(evaluation, success) if noise else UNSET,
        wordings=[run_scores(replace(table, bounds=None)).measures for table in evaluation.wordings] or UNSET,
        by_labels=dict(by_labels) if by_labels else UNSET,
    )
    provenance = evaluation.provenance
    return EvaluationReport(
        golden=dict(provenance.golden), fingerprint=provenance.fingerprint, runs=[run], caveats=list(caveats) or UNSET
    )


def _segments(evaluation: Evaluation) -> dict[str, dict[str, SegmentScores]]:
    """Return the measures of each segment by field. A field with a single value is left out: it divides nothing."""
    fields: dict[str, dict[str, SegmentScores]] = {}
    for (field, value), queries in evaluation.segments.items():
        scores = evaluation.scores.select(queries)
        if scores.queries:  # a sample may have no query of the segment
            fields.setdefault(field, {})[value] = SegmentScores(measures=run_scores(scores).measures)
    return {field: values for field, values in fields.items() if len(values) > 1}


def _success_rates(evaluation: Evaluation, success: float) -> SuccessRates:
    n = len(evaluation.repeats)
    means = [_replace_nan(mean) for mean in pass_rates(evaluation, n, success).mean().values()]
    return SuccessRates(
        success=success,
        columns=[f"pass@{n}", f"pass^{n}"],
        measures={name: means[2 * i : 2 * i + 2] for i, name in enumerate(rated_measures(evaluation.scores))},
    )


def _replace_nan(value: float) -> float | None:
    return None if math.isnan(value) else value
