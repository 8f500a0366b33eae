"""A comparison as plain data: what JSON prints, and what tables are rendered from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from karat.core import GoldenSet, Measure
from karat.evaluation import Evaluation, Segments, system_changes
from karat.gate._comparison import (
    ALPHA,
    LEVEL,
    RESAMPLES,
    Compared,
    Correction,
    Pair,
    compare_all,
    differences,
    shared_measures,
)
from karat.gate._lists import compare_lists, list_document, rr_deltas, summary_document
from karat.gate._movers import KEPT, moved, movers
from karat.stats import RankSimilarity

_FEW = 50  # below it bootstrap intervals are too short, and a change has to be large to be seen
_LEAST_CHANGED = 6  # two-sided, five flips of signs reach 2/32 at best


def compare_document(
    evaluations: Sequence[Evaluation],
    golden: GoldenSet,
    *,
    measures: Sequence[str] | None = None,
    segments: Segments | None = None,
    correction: Correction = "holm",
    seed: int = 0,
    per_query: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Compare runs pair by pair, with all that can be said of them; the first is the baseline of all others.

    Whole ranked lists are compared, or with a baseline file, which keeps no more, the first ten documents. The golden
    set has the texts of the queries.
    """
    wanted = list(measures) if measures is not None else shared_measures(evaluations)
    pairs = compare_all(
        evaluations, wanted, segments=segments, correction=correction, seed=seed, progress=progress
    )  # fmt: skip
    return {
        "karat": "comparison",
        "kind": "eval.regression_diff",
        "runs": [_run(i, evaluation, wanted) for i, evaluation in enumerate(evaluations)],
        "golden": dict(evaluations[-1].provenance.golden),
        "measures": wanted,
        "correction": correction,
        "tests": sum(one.p is not None for pair in pairs for one in pair.measures),
        "alpha": ALPHA,
        "level": LEVEL,
        "resamples": RESAMPLES,
        "seed": seed,
        "pairs": [_pair(pair, evaluations, golden, wanted, per_query=per_query) for pair in pairs],
    }


def label(place: int) -> str:
    """Give a run a short name by its place.

    >>> label(0), label(1), label(26)
    ('A', 'B', 'A1')
    """
    return chr(ord("A") + place % 26) + (str(place // 26) if place >= 26 else "")


def _run(place: int, evaluation: Evaluation, measures: Sequence[str]) -> dict[str, Any]:
    return {
        "label": label(place),
        "name": evaluation.name,
        "fingerprint": evaluation.provenance.fingerprint,
        "queries": len(evaluation.queries),
        "failed": len(evaluation.failures),
        "means": {name: _null(evaluation.mean(name)) for name in measures},
        "latency": {
            stage: {name: _null(value) for name, value in times.items()} for stage, times in evaluation.latency.items()
        },
    }


def _pair(
    pair: Pair, evaluations: Sequence[Evaluation], golden: GoldenSet, measures: Sequence[str], *, per_query: bool
) -> dict[str, Any]:
    baseline, candidate = evaluations[pair.baseline], evaluations[pair.candidate]
    similar = _similar(candidate, baseline)
    found: dict[str, Any] = {
        "baseline": label(pair.baseline),
        "candidate": label(pair.candidate),
        "measures": [one.to_dict() for one in pair.measures],
        "segments": [one.to_dict() for one in pair.segments],
        "changes": [
            {"key": key, "now": now, "was": was}
            for key, now, was in system_changes(candidate.provenance.system, baseline.provenance.system)
        ],
        "lists": summary_document(similar) if similar else None,
        "movers": _movers(candidate, baseline, golden, measures),
        "notes": list(_notes(pair, baseline, candidate, similar)),
    }
    if per_query:
        found["queries"] = _queries(candidate, baseline, measures, similar)
    return found


def _similar(candidate: Evaluation, baseline: Evaluation) -> dict[str, RankSimilarity]:
    """Compare whole lists if both runs have them, otherwise as many documents as a baseline file keeps."""
    depth = None if candidate.traces and baseline.traces else KEPT
    return compare_lists(candidate.lists, baseline.lists, k=depth, rr_deltas=rr_deltas(candidate, baseline))


def _movers(
    candidate: Evaluation, baseline: Evaluation, golden: GoldenSet, measures: Sequence[str]
) -> list[dict[str, Any]]:
    """Give the queries that changed, the greatest losses first; a measure that is neither good nor bad has none."""
    rated = [one for one in measures if Measure.parse(one).definition.higher_is_better is not None]
    texts = {query.id: query.text for query in golden.queries}
    return [
        {
            "query": one.query, "text": texts.get(one.query, ""), "measure": one.measure, "baseline": one.baseline,
            "candidate": one.candidate, "gain": one.gain, "failed": candidate.failures.get(one.query, ""),
            "moved": list(moved(candidate.lists.get(one.query, ()), baseline.lists.get(one.query, ()))),
        }
        for one in movers(candidate, baseline, rated)
    ]  # fmt: skip


def _queries(
    candidate: Evaluation, baseline: Evaluation, measures: Sequence[str], similar: Mapping[str, RankSimilarity]
) -> list[dict[str, Any]]:
    """Give every query that both have a value for, those first that changed most on any measure."""
    found: dict[str, dict[str, Any]] = {}
    for measure in measures:
        for query, (then, now) in differences(candidate, baseline, measure).items():
            row = found.setdefault(query, {"query": query, "measures": {}})
            row["measures"][measure] = {"baseline": then, "candidate": now, "difference": now - then}
    for query, row in found.items():
        row["list"] = list_document(similar[query]) if query in similar else None
    # Nine digits: a tie is no matter of rounding. Equal ones stay in the order of the set.
    return sorted(
        found.values(), key=lambda row: -round(max(abs(one["difference"]) for one in row["measures"].values()), 9)
    )


def _notes(
    pair: Pair, baseline: Evaluation, candidate: Evaluation, similar: Mapping[str, RankSimilarity]
) -> Iterator[str]:
    names = (label(pair.baseline), baseline), (label(pair.candidate), candidate)
    for name, one in names:
        if not one.has_queries:
            yield f"{name} has means only, so that nothing can be tested and no list compared"
        if one.failures:
            yield f"{name}: {len(one.failures):,} of {len(one.queries):,} queries failed, and count as 0"
    if not (baseline.has_queries and candidate.has_queries):
        return
    yield from _alone(names)
    yield from _weak(pair.measures)
    if not similar:
        without = " and ".join(name for name, one in names if not one.lists)
        yield f"lists are not compared: there are none of {without or 'the same queries'}"
    elif next(iter(similar.values())).k:
        yield f"of the lists the first {KEPT} documents are compared: a baseline file holds no more"


def _alone(names: Sequence[tuple[str, Evaluation]]) -> Iterator[str]:
    """Say how many queries only one of the runs was asked."""
    for (name, one), (_, other) in (names, tuple(reversed(names))):
        alone = len(set(one.queries) - set(other.queries))
        if alone:
            yield f"{alone:,} {'query is' if alone == 1 else 'queries are'} in {name} only, and left out"


def _weak(tests: Sequence[Compared]) -> Iterator[str]:
    """Say where too little is there for a test to find anything."""
    most = max((one.n for one in tests), default=0)
    if 0 < most < _FEW:
        yield f"with {most} queries the bootstrap's intervals are somewhat too short, and only large changes are found"
    few = [one.measure for one in tests if 0 < one.wins + one.losses < _LEAST_CHANGED]
    if few:
        yield (
            f"fewer than {_LEAST_CHANGED} queries changed in {', '.join(few)}: the sign-flip test cannot reach {ALPHA}"
        )


def _null(value: float) -> float | None:
    return None if math.isnan(value) else value
