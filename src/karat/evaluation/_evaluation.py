"""What a run is worth: scores, latency, duplicates, failures, and the same by kinds of queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from karat.core import GoldenSet, Hit, InputError, Measure, Run, Scores, Trace, Unit, shorten
from karat.evaluation._latency import Latency, latencies
from karat.evaluation._segments import FIELDS, segments
from karat.measures import document, pass_at_k, score_hits
from karat.text import resolver

Variant = tuple[int, int]
"""Which wording (0 is the query as it stands) and which repeat."""
MEASURES = ("R@5", "P@5", "RR@10", "nDCG@5", "nDCG@10", "Judged@10", "DupRate@10")


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A run with its scores."""

    run: Run
    scores: Scores
    """Per query; over paraphrases and repeats the mean."""
    variants: Mapping[Variant, Scores] = field(default_factory=dict)
    """One table for each wording and repeat."""
    latency: Mapping[str, Latency] = field(default_factory=dict)
    """By stage; ``total`` is all of it."""
    groups: Mapping[str, Mapping[str, Scores]] = field(default_factory=dict)
    """By field of the queries and its value."""
    failed: tuple[Trace, ...] = ()
    unfound: tuple[str, ...] = ()
    """Queries for which nothing relevant was among the hits, however they were asked, and nothing failed."""

    @property
    def repeats(self) -> tuple[Scores, ...]:
        """One table for each repeat, its wordings averaged, of the queries that all have; or none."""
        parts = self._split(lambda variant: variant[1])
        shared = set.intersection(*(set(scores.queries) for scores in parts)) if parts else set()
        return tuple(scores.select(shared) for scores in parts) if shared else ()

    @property
    def wordings(self) -> tuple[Scores, ...]:
        """One table for the queries as they stand and one for each paraphrase, of the queries that have it."""
        return self._split(lambda variant: variant[0])

    def _split(self, by: Callable[[Variant], int]) -> tuple[Scores, ...]:
        parts: dict[int, list[Scores]] = {}
        for variant, scores in self.variants.items():
            parts.setdefault(by(variant), []).append(scores)
        return tuple(_asked(_averaged(parts[part])) for part in sorted(parts)) if len(parts) > 1 else ()

    @property
    def noise(self) -> dict[str, float]:
        """The standard deviation of each mean from repeat to repeat; empty where nothing was repeated."""
        means = [scores.mean() for scores in self.repeats]
        return {name: float(np.std([mean[name] for mean in means], ddof=1)) for name in self.scores.measures if means}

    def to_dict(self, *, per_query: bool = False, success: float = 1.0) -> dict[str, Any]:
        """Give it in the shape of ``karat score --json``, with latency and what failed.

        Where queries were asked several times, ``trials`` has for each measure the share of queries that reached
        ``success`` in any of the repeats, and in all of them.
        """
        found = document([self.scores], per_query=per_query)
        one = found["runs"][0]
        if self.groups:
            one["by"] = {
                name: {
                    value: {"measures": document([scores])["runs"][0]["measures"]} for value, scores in groups.items()
                }
                for name, groups in self.groups.items()
            }
        one["latency"] = {stage: times.to_dict() for stage, times in self.latency.items()}
        one["failed"] = [{"query": trace.query, "error": trace.error} for trace in self.failed]
        one["unfound"] = list(self.unfound)
        if self.noise:
            one["noise"] = {name: None if value != value else value for name, value in self.noise.items()}
            one["trials"] = self._trials(success)
        if self.wordings:
            one["wordings"] = [document([scores])["runs"][0]["measures"] for scores in self.wordings]
        return {"golden": dict(self.run.golden), "fingerprint": self.run.fingerprint, **found}

    def _trials(self, success: float) -> dict[str, Any]:
        n = len(self.repeats)
        means = list(trials(self, n, success).mean().values())
        rated = [name for name in self.scores.measures if _more_is_better(name)]
        return {
            "success": success,
            "columns": [f"pass@{n}", f"pass^{n}"],
            "measures": {name: means[2 * i : 2 * i + 2] for i, name in enumerate(rated)},
        }


def score_run(
    golden: GoldenSet, run: Run, measures: Iterable[str | Measure] | None = None, *, unit: Unit = "document"
) -> Evaluation:
    """Score a run that was made on this golden set."""
    asked = {trace.query for trace in run.traces}
    golden = replace(
        golden,
        queries=tuple(query for query in golden.queries if query.id in asked),
        judgments=tuple(judgment for judgment in golden.judgments if judgment.query in asked),
    )
    # As they were written: R(rel=1)@5 is called R@5, and must not become R(rel=2)@5 where the set counts from 2.
    asked_for = {str(Measure.parse(measure)): measure for measure in measures or MEASURES}
    wanted = tuple(asked_for)
    found = f"Success@{max(1, run.settings.get('k', 0), *(len(trace.hits) for trace in run.traces))}"
    everything = {
        variant: score_hits(
            golden, hits, (asked_for | {found: found}).values(),
            unit=unit, resolve=resolver(golden), name=run.name,
        )
        for variant, hits in _variants(run).items()
    }  # fmt: skip
    variants = {variant: _columns(scores, wanted) for variant, scores in everything.items()}
    scores = _averaged(list(variants.values()))
    _refuse_strangers(golden, run, scores)
    failed = tuple(trace for trace in run.traces if trace.error)
    return Evaluation(
        run=run,
        scores=replace(scores, not_judged=scores.not_judged + run.settings.get("not_in_golden", 0)),
        variants=variants,
        latency=latencies(run),
        groups={name: parts for name in FIELDS if (parts := segments(golden, scores, name))},
        failed=failed,
        unfound=_unfound(_averaged(list(everything.values())), found, failed),
    )


def deepest(measures: Iterable[str | Measure]) -> int:
    """Give the highest cut-off of some measures; 0 where none has one. A measure that does not exist is a mistake.

    >>> deepest(["nDCG@10", "R@100", "AP"])
    100
    """
    return max((math.ceil(Measure.parse(measure).cutoff or 0) for measure in measures), default=0)


def _columns(scores: Scores, wanted: Sequence[str]) -> Scores:
    at = [scores.measures.index(name) for name in wanted]
    return replace(scores, measures=tuple(wanted), values=scores.values[:, at], codes=scores.codes[:, at])


def _unfound(scores: Scores, measure: str, failed: Sequence[Trace]) -> tuple[str, ...]:
    errors = {trace.query for trace in failed}
    return tuple(query for query in scores.queries if scores.value(query, measure) == 0 and query not in errors)


def _variants(run: Run) -> dict[Variant, dict[str, tuple[Hit, ...]]]:
    """Give the hits by paraphrase and repeat."""
    found: dict[Variant, dict[str, tuple[Hit, ...]]] = {}
    for trace in run.traces:
        found.setdefault((trace.paraphrase, trace.repeat), {})[trace.query] = _ordered(trace.hits)
    return found


def _ordered(hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """Keep the system's own order, whatever its scores say."""
    if all(a.score >= b.score for a, b in pairwise(hits)):
        return hits
    return tuple(replace(hit, score=float(len(hits) - i)) for i, hit in enumerate(hits))


def _averaged(variants: Sequence[Scores]) -> Scores:
    """Average each query over the variants that have a value for it (a query without paraphrases has one)."""
    first = variants[0]
    if len(variants) == 1:
        return first
    rows = {query: i for i, query in enumerate(first.queries)}
    total, count = np.zeros(first.values.shape), np.zeros(first.values.shape)
    for variant in variants:
        at = [rows[query] for query in variant.queries]
        there = ~np.isnan(variant.values) & ~np.isin(variant.queries, variant.not_in_run)[:, None]
        total[at] += np.where(there, variant.values, 0.0)
        count[at] += there
    absent = set.intersection(*(set(variant.not_in_run) for variant in variants))
    # A variant that lacks a query has a 0 there, and no reason why the others have no value.
    codes = np.max([variant.codes for variant in variants], axis=0)
    return replace(
        first,
        values=np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0),
        codes=np.where(count > 0, 0, codes).astype(np.uint8),
        not_in_run=tuple(query for query in first.queries if query in absent),
        judged_retrieved=sum(variant.judged_retrieved or 0 for variant in variants),
    )


def _asked(scores: Scores) -> Scores:
    """Leave the queries out that were not asked there: they are no failures."""
    return scores.select(set(scores.queries) - set(scores.not_in_run))


def _refuse_strangers(golden: GoldenSet, run: Run, scores: Scores) -> None:
    """Refuse a run in which no document of the set occurs at all: both sides name documents differently."""
    if scores.judged_retrieved or not golden.judgments:
        return
    found = dict.fromkeys(hit.document for trace in run.traces for hit in trace.hits)
    theirs = list(found)[:3]
    # A document of the set that nobody judged is a miss, and 0 is the truth.
    if theirs and golden.document_by_id.keys().isdisjoint(found):
        ours = list(dict.fromkeys(judgment.target.document for judgment in golden.judgments))[:3]
        raise InputError(
            "no document that the system returned is judged",
            source=golden.name,
            hint=f"the gold has {', '.join(map(shorten, ours))}; the system gives {', '.join(map(shorten, theirs))}",
        )


def trials(evaluation: Evaluation, k: int, threshold: float = 1.0) -> Scores:
    """Give pass@k and pass^k over the repeats of a run, of the measures of which more is better."""
    repeats = evaluation.repeats or (evaluation.scores,)
    rated = [name for name in evaluation.scores.measures if _more_is_better(name)]
    return pass_at_k([_columns(scores, rated) for scores in repeats], k, threshold=threshold)


def _more_is_better(measure: str) -> bool:
    return Measure.parse(measure).definition.higher_is_better is not False
