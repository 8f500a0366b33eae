"""What a run is worth: scores, latency, duplicates, failures, and the same by kinds of queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from karat.core import GoldenSet, Hit, InputError, Measure, Run, Scores, Trace, Unit, shorten
from karat.experiments._evaluate import Settings, make_run
from karat.golden import canonical, outline, resolver
from karat.golden.text import Outline
from karat.measures import document, pass_at_k, score_hits

MEASURES = ("R@5", "P@5", "RR@10", "nDCG@5", "nDCG@10", "Judged@10", "DupRate@10")
FIELDS = ("category", "type", "intent", "tier", "block")


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Milliseconds around the system, over all questions that it answered."""

    n: int
    mean: float
    p50: float
    p95: float
    p99: float

    def to_dict(self) -> dict[str, float]:
        """Give it as JSON has it."""
        return {"n": self.n, "mean": self.mean, "p50": self.p50, "p95": self.p95, "p99": self.p99}


def latency(milliseconds: Sequence[float]) -> Latency | None:
    """Give mean and percentiles, linearly interpolated; None of nothing.

    >>> found = latency(range(1, 21))
    >>> found.p95, found.p99
    (19.05, 19.81)
    """
    if not milliseconds:
        return None
    p50, p95, p99 = (float(value) for value in np.percentile(np.asarray(milliseconds, float), [50, 95, 99]))
    return Latency(n=len(milliseconds), mean=float(np.mean(milliseconds)), p50=p50, p95=p95, p99=p99)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A run with its scores."""

    run: Run
    scores: Scores
    """Per query; over paraphrases and repeats the mean."""
    variants: tuple[Scores, ...] = ()
    """One table for each paraphrase and repeat, where there are several."""
    latency: Mapping[str, Latency] = field(default_factory=dict)
    """By stage; ``total`` is all of it."""
    groups: Mapping[str, Mapping[str, Scores]] = field(default_factory=dict)
    """By field of the queries and its value."""
    failed: tuple[Trace, ...] = ()

    @property
    def noise(self) -> dict[str, float]:
        """The standard deviation of each mean from repeat to repeat; empty where nothing was repeated."""
        if len(self.variants) < 2:
            return {}
        means = [variant.mean() for variant in self.variants]
        return {name: float(np.std([mean[name] for mean in means], ddof=1)) for name in self.scores.measures}

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:
        """Give it in the shape of ``karat score --json``, with latency and what failed."""
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
        if self.noise:
            one["noise"] = {name: None if value != value else value for name, value in self.noise.items()}
        return {"golden": dict(self.run.golden), "fingerprint": self.run.fingerprint, **found}


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
    wanted = tuple(measures or MEASURES)
    variants = [
        score_hits(golden, hits, wanted, unit=unit, resolve=resolver(golden), name=run.name)
        for hits in _variants(run).values()
    ]
    scores = variants[0] if len(variants) == 1 else _averaged(variants)
    _refuse_strangers(golden, run, scores)
    return Evaluation(
        run=run,
        scores=scores,
        variants=tuple(variants) if len(variants) > 1 else (),
        latency=_latencies(run),
        groups={name: found for name in FIELDS if (found := _grouped(golden, scores, name))},
        failed=tuple(trace for trace in run.traces if trace.error),
    )


def _variants(run: Run) -> dict[tuple[int, int], dict[str, tuple[Hit, ...]]]:
    """Give the hits by paraphrase and repeat."""
    found: dict[tuple[int, int], dict[str, tuple[Hit, ...]]] = {}
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
    rows = {query: i for i, query in enumerate(first.queries)}
    total, count = np.zeros(first.values.shape), np.zeros(first.values.shape)
    for variant in variants:
        at = [rows[query] for query in variant.queries]
        there = ~np.isnan(variant.values) & ~np.isin(variant.queries, variant.not_in_run)[:, None]
        total[at] += np.where(there, variant.values, 0.0)
        count[at] += there
    values = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return replace(first, values=values, codes=np.where(count > 0, 0, first.codes).astype(np.uint8))


def _refuse_strangers(golden: GoldenSet, run: Run, scores: Scores) -> None:
    """Refuse a run in which no judged document occurs at all: both sides name documents differently."""
    if scores.judged_retrieved or not golden.judgments:
        return
    theirs = list(dict.fromkeys(hit.document for trace in run.traces for hit in trace.hits))[:3]
    if theirs:
        ours = list(dict.fromkeys(judgment.target.document for judgment in golden.judgments))[:3]
        raise InputError(
            "no document that the system returned is judged",
            source=golden.name,
            hint=f"the gold has {', '.join(map(shorten, ours))}; the system gives {', '.join(map(shorten, theirs))}",
        )


def _latencies(run: Run) -> dict[str, Latency]:
    stages: dict[str, list[float]] = {}
    for trace in run.traces:
        if not trace.error:
            for stage, milliseconds in trace.timings.items():
                stages.setdefault(stage, []).append(milliseconds)
    return {stage: times for stage, values in stages.items() if (times := latency(values))}


def _grouped(golden: GoldenSet, scores: Scores, name: str) -> dict[str, Scores]:
    """Give the scores of the queries with each value of a field; one value is no grouping."""
    members: dict[str, list[str]] = {}
    for query, values in _values(golden, name).items():
        for value in values:
            members.setdefault(value, []).append(query)
    return {value: scores.select(members[value]) for value in sorted(members)} if len(members) > 1 else {}


def _values(golden: GoldenSet, name: str) -> dict[str, set[str]]:
    """Give each query its values of a field: its own, or the tiers and block types of what answers it."""
    if name in ("category", "type", "intent"):
        return {query.id: {value} for query in golden.queries if (value := getattr(query, name))}
    found: dict[str, set[str]] = {}
    for (query, target), grade in golden.decided.items():
        if grade < golden.relevant or (there := golden.document_by_id.get(target.document)) is None:
            continue
        if name == "tier" and there.tier:
            found.setdefault(query, set()).add(there.tier)
        elif name == "block" and target.span is not None:
            blocks = _outline(there.text).at(target.span)
            found.setdefault(query, set()).update(block.type for block in blocks)
    return found


@lru_cache(maxsize=1024)
def _outline(text: str) -> Outline:
    """Keep outlines: many judgments point into one document."""
    return outline(canonical(text))


def trials(evaluation: Evaluation, k: int, threshold: float = 1.0) -> Scores:
    """Give pass@k and pass^k over the repeats of a run."""
    return pass_at_k(list(evaluation.variants), k, threshold=threshold)


def evaluate(
    golden: GoldenSet | str | Path,
    system: object = None,
    measures: Iterable[str | Measure] | None = None,
    *,
    output: str | Path | None = None,
    unit: Unit = "document",
    **settings: Any,
) -> Scores:
    """Ask a system every question of a golden set, and score what it answers.

    ``golden`` is a set or its path; ``system`` an object with ``retrieve(query, k)`` or such a function, plain or
    async, and without one the built-in pipeline over the set's documents. ``settings`` are those of
    :class:`Settings`: k, paraphrases, repeat, sample, seed, concurrency, timeout, warm_up, fail_fast. With ``output``
    the run is kept there.

    >>> from karat.core import Document, Judgment, Query, Target
    >>> made = GoldenSet(documents=(Document(id="pool", text="The pool opens at six."),),
    ...                  queries=(Query(id="q", text="When does the pool open?"),),
    ...                  judgments=(Judgment(query="q", target=Target(document="pool"), grade=3),))
    >>> evaluate(made, lambda query, k: ["pool"], ["RR@10"]).mean()
    {'RR@10': 1.0}
    """
    from karat.golden import read
    from karat.systems import Pipeline

    found = golden if isinstance(golden, GoldenSet) else read(golden)
    asked = Pipeline() if system is None else system
    run = make_run(found, asked, Settings(**settings), output=None if output is None else Path(output))
    return score_run(found, run, measures, unit=unit).scores
