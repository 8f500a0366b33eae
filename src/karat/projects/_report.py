"""The document of a decision: all that it rests on, as plain data; every report is rendered from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from karat.core import GoldenSet, Hit, Trace
from karat.evaluation import Evaluation, segment_queries, system_changes
from karat.gate import Check, Compared, compare, generator, lower_is_better, moved, movers
from karat.projects._gating import GateResult
from karat.reports import FORMAT, conclude
from karat.stats import Outcome, bootstrap

_SNIPPET = 300  # characters of a hit's document, so that a report can be read without the documents
_BINS = 24


def report_document(gated: GateResult, *, created: str | None = None) -> dict[str, Any]:
    """Give a decision and everything that a report may show of it; :func:`karat.reports.schema` describes it.

    Two identical runs give the same document, apart from ``created``, the day.
    """
    decision, taken, golden = gated.decision, gated.evaluation, gated.project.golden
    before = gated.baseline.evaluation if gated.baseline else None
    compared = _compared(taken, before)
    facts = {
        "karat": "report",
        "kind": "eval.retrieval_report",
        "format": FORMAT,
        "created": created or f"{datetime.now(tz=UTC):%Y-%m-%d}",
        "verdict": {
            "outcome": decision.outcome.value,
            "exit_code": decision.exit_code,
            "passed": decision.exit_code == 0,
            "policy": decision.policy.name,
            "on_inconclusive": decision.policy.on_inconclusive,
            "list_below": dict(decision.policy.list_below),
            "failures": [_failure(check) for check in decision.failures],
        },
        "run": _run(taken),
        "golden": {
            **dict(taken.provenance.golden),
            "documents": len(golden.documents),
            "queries": len(golden.queries),
            "judgments": len(golden.judgments),
        },
        "baseline": None if gated.baseline is None else {
            "name": gated.baseline.evaluation.name,
            "fingerprint": gated.baseline.evaluation.provenance.fingerprint,
            "recorded": gated.baseline.recorded,
            "forced": gated.baseline.forced,
            "changes": [
                {"key": key, "now": now, "was": was}
                for key, now, was in system_changes(
                    taken.provenance.system, gated.baseline.evaluation.provenance.system
                )
            ],
        },
        "measures": [_measure(gated, name, compared.get(name)) for name in taken.means],
        "checks": [check.to_dict() for check in decision.checks],
        "caveats": list(gated.caveats),
        "movers": _movers(gated),
        "segments": _segments(golden, taken, before),
        "latency": _latency(gated),
        "queries": _queries(gated, before),
        "passages": _passages(gated),
    }  # fmt: skip
    return conclude(facts)


def _failure(check: Check) -> dict[str, Any]:
    """Give a failure as source 000 records it: what it is held against is a threshold, or the baseline."""
    found = {"metric": check.name, "current": check.current}
    if check.baseline is None:
        found["threshold"] = check.limit
    else:
        found["baseline"] = check.baseline
        if check.baseline and check.difference is not None:
            found["degradation"] = f"{abs(check.difference / check.baseline):.1%}"
    return {**found, "message": check.reason}


def _movers(gated: GateResult) -> list[dict[str, Any]]:
    if gated.baseline is None:
        return []
    taken, before = gated.evaluation, gated.baseline.evaluation
    return [
        {
            "query": one.query,
            "measure": one.measure,
            "baseline": one.baseline,
            "candidate": one.candidate,
            "moved": list(moved(taken.lists.get(one.query, ()), before.lists.get(one.query, ()))),
        }
        for one in movers(taken, before, gated.decision.policy.measures)
    ]


def _run(taken: Evaluation) -> dict[str, Any]:
    return {
        "name": taken.name,
        "fingerprint": taken.provenance.fingerprint,
        "system": dict(taken.provenance.system),
        "settings": dict(taken.provenance.settings),
        "versions": dict(taken.provenance.versions),
        "queries": len(taken.queries),
        "failed": len(taken.failures),
        "unfound": sorted(taken.unfound - taken.failures.keys()),
        "coverage": _number(taken.coverage),
    }


def _compared(taken: Evaluation, before: Evaluation | None) -> dict[str, Compared]:
    if before is None or not before.has_queries:
        return {}
    shared = [name for name in taken.scores.measures if name in before.scores.measures]
    return {one.measure: one for one in compare(taken, before, shared)}


def _measure(gated: GateResult, name: str, compared: Compared | None) -> dict[str, Any]:
    """Give a measure with what it is held against, and how it compares."""
    taken = gated.evaluation
    checks = [
        check for check in gated.decision.checks if check.metric == name and check.where is None and not check.query
    ]
    floor = next((check.limit for check in checks if check.kind == "min"), None)
    was = gated.baseline.evaluation.mean(name) if gated.baseline else math.nan
    values = sorted(taken.values(name).values())
    found: dict[str, Any] = {
        "name": name,
        "definition": taken.scores.definitions.get(name, name),
        "lower_is_better": lower_is_better(name),
        "mean": _number(taken.mean(name)),
        "interval": _interval(name, values),
        "n": len(values),
        "baseline": _number(was),
        "floor": floor,
        "status": _status(checks, compared),
        "values": [round(value, 6) for value in values],
    }
    if compared is not None:
        found |= {
            key: value
            for key, value in compared.to_dict().items()
            if key not in ("measure", "segment", "n", "baseline", "candidate")
        }
    return found


def _interval(name: str, values: Sequence[float]) -> list[float] | None:
    """Give the 95 % interval of a mean."""
    if len(values) < 2:
        return None
    found = bootstrap(values, rng=generator(0, name), method="bca")
    return [found.low, found.high]


def _status(checks: Sequence[Check], compared: Compared | None) -> str:
    """Say what became of a measure; to call a pass what nothing was proved of would be a promise."""
    if any(check.outcome is Outcome.FAIL for check in checks):
        return "FAIL"
    if compared is not None and compared.gain < -1e-9:
        return "DEGRADED"
    if any(check.outcome is Outcome.INCONCLUSIVE for check in checks):
        return "INCONCLUSIVE"
    return "PASS" if checks else "UNCHECKED"


def _segments(golden: GoldenSet, taken: Evaluation, before: Evaluation | None) -> list[dict[str, Any]]:
    return [
        {
            "field": field,
            "value": value,
            "queries": len(queries),
            "ids": list(queries),
            "means": {name: _number(taken.mean(name, queries)) for name in taken.scores.measures},
            "baseline": None
            if before is None
            else {name: _number(before.mean(name, queries)) for name in before.scores.measures},
        }
        for (field, value), queries in segment_queries(golden).items()
    ]


def _latency(gated: GateResult) -> dict[str, Any]:
    times = [
        trace.timings["total"] for trace in gated.evaluation.traces if "total" in trace.timings and not trace.error
    ]
    counts, edges = np.histogram(times, bins=_BINS) if times else (np.zeros(0, int), np.zeros(0))
    return {
        "stages": _stages(gated.evaluation),
        "baseline": _stages(gated.baseline.evaluation) if gated.baseline else {},
        "histogram": {"edges": [round(float(edge), 4) for edge in edges], "counts": [int(count) for count in counts]},
    }


def _stages(taken: Evaluation) -> dict[str, dict[str, float]]:
    """Give the stages of which all is known: a baseline may have been written by hand."""
    return {stage: dict(one) for stage, one in taken.latency.items() if all(map(math.isfinite, one.values()))}


def _queries(gated: GateResult, before: Evaluation | None) -> list[dict[str, Any]]:
    golden, taken = gated.project.golden, gated.evaluation
    grades: dict[str, dict[str, int]] = {}
    for (query, target), grade in golden.decided.items():
        known = grades.setdefault(query, {})
        known[target.document] = max(grade, known.get(target.document, 0))
    first = {
        trace.query: trace for trace in reversed(gated.evaluation.traces) if not trace.paraphrase and not trace.repeat
    }
    now = {name: taken.values(name) for name in taken.scores.measures}
    then = {name: before.values(name) for name in before.scores.measures} if before else {}
    asked = set(taken.queries)
    return [
        {
            "id": query.id,
            "text": query.text,
            **{name: value for name in ("category", "type", "intent") if (value := getattr(query, name))},
            "scores": {name: column[query.id] for name, column in now.items() if query.id in column},
            "baseline": {name: column[query.id] for name, column in then.items() if query.id in column},
            "error": taken.failures.get(query.id, ""),
            "unfound": query.id in taken.unfound,
            "ms": None if (trace := first.get(query.id)) is None else trace.timings.get("total"),
            "hits": _hits(trace, grades.get(query.id, {}), before.lists.get(query.id, ()) if before else ()),
            "left": _left(golden, trace, grades.get(query.id, {}), before.lists.get(query.id, ()) if before else ()),
            "expected": _expected(golden, trace, grades.get(query.id, {})),
        }
        for query in golden.queries
        if query.id in asked
    ]  # fmt: skip


def _hits(trace: Trace | None, grades: Mapping[str, int], before: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "rank": rank,
            "id": hit.id,
            "document": hit.document,
            "score": round(hit.score, 6),
            "grade": grades.get(hit.document),
            "was": before.index(hit.document) + 1 if hit.document in before else None,
            **({"channels": {name: place.rank for name, place in hit.channels.items()}} if hit.channels else {}),
        }
        for rank, hit in enumerate(trace.hits if trace else (), 1)
    ]


def _left(
    golden: GoldenSet, trace: Trace | None, grades: Mapping[str, int], before: Sequence[str]
) -> list[dict[str, Any]]:
    """Give what was among the first documents before, and is not found any more."""
    found = {hit.document for hit in trace.hits} if trace else set()
    return [
        {
            "document": id_,
            "title": there.title if (there := golden.document_by_id.get(id_)) else "",
            "was": rank,
            "grade": grades.get(id_),
        }
        for rank, id_ in enumerate(before, 1)
        if id_ not in found
    ]


def _passages(gated: GateResult) -> dict[str, dict[str, str]]:
    """Give title and beginning of everything that was found, once, by the id of the hit."""
    golden = gated.project.golden
    found: dict[str, dict[str, str]] = {}
    for trace in gated.evaluation.traces:
        for hit in trace.hits if not trace.paraphrase and not trace.repeat else ():
            if hit.id not in found:
                document = golden.document_by_id.get(hit.document)
                found[hit.id] = {"title": document.title if document else "", "snippet": _snippet(golden, hit)}
    return found


def _snippet(golden: GoldenSet, hit: Hit) -> str:
    """Give the beginning of what was found: the hit's own text, its span of the document, or the document."""
    if hit.content:
        return hit.content[:_SNIPPET]
    document = golden.document_by_id.get(hit.document)
    if document is None:
        return ""
    text = document.text.encode()[hit.span.start : hit.span.end].decode(errors="ignore") if hit.span else document.text
    return " ".join(text[: 2 * _SNIPPET].split())[:_SNIPPET]


def _expected(golden: GoldenSet, trace: Trace | None, grades: Mapping[str, int]) -> list[dict[str, Any]]:
    """Give what is relevant, the best first, with the rank at which it came, if it did."""
    ranks: dict[str, int] = {}
    for rank, hit in enumerate(trace.hits if trace else (), 1):
        ranks.setdefault(hit.document, rank)
    wanted = sorted(
        (id_ for id_, grade in grades.items() if grade >= golden.relevant), key=lambda id_: (-grades[id_], id_)
    )
    return [
        {
            "document": id_,
            "title": there.title if (there := golden.document_by_id.get(id_)) else "",
            "grade": grades[id_],
            "rank": ranks.get(id_),
        }
        for id_ in wanted
    ]


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
