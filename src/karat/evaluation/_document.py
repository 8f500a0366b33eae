"""The JSON document of an evaluation, which ``karat eval --json`` prints."""

from __future__ import annotations

import math
from typing import Any

from karat.core import Scores
from karat.evaluation._evaluation import Evaluation
from karat.evaluation._scoring import pass_rates, rated_measures
from karat.measures import document


def evaluation_document(evaluation: Evaluation, *, per_query: bool = False, success: float = 1.0) -> dict[str, Any]:
    """Return the document of an evaluation: that of ``karat score --json``, with latency, failures and segments.

    If queries were asked several times, ``trials`` has for each measure the share of queries that reached ``success``
    in any of the repeats, and the share that reached it in all of them.
    """
    scores = document([evaluation.scores], per_query=per_query)
    run = scores["runs"][0]
    if segments := _segments(evaluation):
        run["by"] = segments
    run["latency"] = {stage: dict(times) for stage, times in evaluation.latency.items()}
    run["failed"] = [{"query": trace.query, "error": trace.error} for trace in evaluation.traces if trace.error]
    left_out = evaluation.failures.keys() | evaluation.unanswerable
    run["unfound"] = [query for query in evaluation.queries if query in evaluation.unfound and query not in left_out]
    if noise := evaluation.noise:
        run["noise"] = {name: None if math.isnan(value) else value for name, value in noise.items()}
        run["trials"] = _trials(evaluation, success)
    if evaluation.wordings:
        run["wordings"] = [_measures(table) for table in evaluation.wordings]
    provenance = evaluation.provenance
    return {"golden": dict(provenance.golden), "fingerprint": provenance.fingerprint, **scores}


def _segments(evaluation: Evaluation) -> dict[str, dict[str, Any]]:
    """Return the measures of each segment by field. A field with a single value is left out: it divides nothing."""
    fields: dict[str, dict[str, Any]] = {}
    for (field, value), queries in evaluation.segments.items():
        scores = evaluation.scores.select(queries)
        if scores.queries:  # a sample may have no query of the segment
            fields.setdefault(field, {})[value] = {"measures": _measures(scores)}
    return {field: values for field, values in fields.items() if len(values) > 1}


def _measures(scores: Scores) -> Any:
    return document([scores])["runs"][0]["measures"]


def _trials(evaluation: Evaluation, success: float) -> dict[str, Any]:
    n = len(evaluation.repeats)
    means = list(pass_rates(evaluation, n, success).mean().values())
    return {
        "success": success,
        "columns": [f"pass@{n}", f"pass^{n}"],
        "measures": {name: means[2 * i : 2 * i + 2] for i, name in enumerate(rated_measures(evaluation.scores))},
    }
