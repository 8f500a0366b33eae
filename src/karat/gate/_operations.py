"""Operational rules: whether a run worked at all, before anybody looks at its scores.

A run in which many questions failed says nothing about quality, and one that returns empty lists, or takes three times
as long, would not be called inconclusive by anybody. These rules are part of every policy, and come first in every
decision, unless ``[gate.operations]`` switches one off by its name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from karat.core import Measure, UsageError, did_you_mean, shorten
from karat.evaluation import Evaluation
from karat.stats import Outcome

KINDS = ("failed", "unasked", "empty", "slow")
"""The kinds of the operational checks, in their order."""
WARN = 1.5
"""The latency, as a multiple of the baseline's, from which there is a warning."""
LEAST_MS = 50.0
"""Milliseconds below which no latency fails: there the clock and the machine decide more than the system."""
_MOST_EMPTY = 0.5
UNANSWERED = ("nothing retrieved", "no chunks returned", "fewer than two results")
"""Why a measure has no value: the answer is to blame, and not the golden set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """The limits of the operational rules; None switches a rule off."""

    failed: float | None = 0.02
    """The share of the queries that may fail, and always one query. With more there is no decision."""
    empty: float | None = 0.02
    """The share of the answerable queries that may return nothing where the baseline returned something, and always
    one query."""
    latency: float | None = 3.0
    """How many times the p95 latency of the baseline that of the run may be."""

    def __post_init__(self) -> None:
        for name in ("failed", "empty"):
            share = getattr(self, name)
            if share is not None and not 0 <= share < _MOST_EMPTY:
                raise UsageError(
                    f"operations: {name} = {share:g}; write a share such as 0.02, or false to switch it off"
                )
        if self.latency is not None and not 1 < self.latency < math.inf:
            raise UsageError(
                f"operations: latency = {self.latency:g}; write how many times the baseline's p95 it may be, such "
                "as 3, or false to switch it off"
            )

    @property
    def off(self) -> tuple[str, ...]:
        """The names of the rules that are switched off."""
        return tuple(field.name for field in fields(self) if getattr(self, field.name) is None)


def read_operations(table: Any, default: Operations) -> Operations:
    """Return the limits of a table ``[gate.operations]``: for each rule a number, true for its default, or false."""
    names = [field.name for field in fields(Operations)]
    if not isinstance(table, Mapping):
        raise UsageError(f"operations = {shorten(table)}; write a table with {', '.join(names)}")
    limits: dict[str, float | None] = {}
    for name, value in table.items():
        if name not in names:
            raise UsageError(
                f"operations has no key {shorten(name)}{did_you_mean(name, names) or '; it has ' + ', '.join(names)}"
            )
        if isinstance(value, bool):
            limits[name] = getattr(Operations(), name) if value else None
        elif isinstance(value, int | float):
            limits[name] = float(value)
        else:
            raise UsageError(f"operations: {name} = {shorten(value)}; write a number, or false to switch it off")
    return replace(default, **limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What an operational rule found; the fields are those of a check."""

    metric: str
    kind: str
    outcome: Outcome
    reason: str
    current: float | None = None
    baseline: float | None = None
    limit: float | None = None
    n: int | None = None


def inspect_operations(
    candidate: Evaluation, baseline: Evaluation | None, operations: Operations
) -> Iterator[Operation]:
    """Yield what the operational rules say about a run: one result for each rule that is on and can be applied.

    An evaluation of scores alone, without lists, has no answers to look at.
    """
    if operations.failed is not None and (candidate.lists or candidate.failures):
        yield _inspect_failed(candidate, operations.failed)
        yield from _inspect_unasked(candidate, operations.failed)
    if operations.empty is not None and candidate.lists:
        yield from _inspect_empty(candidate, baseline, operations.empty)
    if operations.latency is not None and baseline is not None and candidate.lists:
        yield from _inspect_latency(candidate, baseline, operations.latency)


def _inspect_failed(candidate: Evaluation, share: float) -> Operation:
    asked, failed = len(candidate.queries), sum(query in candidate.failures for query in candidate.queries)
    allowed = _allow(share, asked)
    wrong = failed > allowed or failed == asked
    reason = f"{_count(failed, asked)} failed"
    if wrong:
        errors = (candidate.failures[query] for query in candidate.queries if query in candidate.failures)
        reason += f" or timed out, so there is no decision: {next(errors)}"
    return Operation(
        metric="failed", kind="failed", outcome=Outcome.ERROR if wrong else Outcome.PASS, reason=reason,
        current=failed, limit=allowed, n=asked,
    )  # fmt: skip


def _inspect_unasked(candidate: Evaluation, share: float) -> Iterator[Operation]:
    """Yield what is not known of a run on an older golden set: nobody asked it the questions that are new."""
    if candidate.revision is None or not candidate.revision.new:
        return
    new = candidate.revision.new
    total = candidate.revision.common + len(new)
    allowed = _allow(share, total)
    yield Operation(
        metric="unasked", kind="unasked", outcome=Outcome.INCONCLUSIVE if len(new) > allowed else Outcome.PASS,
        reason=f"{_count(len(new), total, 'questions')} of the golden set were not asked: {_name(list(new))}",
        current=len(new), limit=allowed, n=total,
    )  # fmt: skip


def _inspect_empty(candidate: Evaluation, baseline: Evaluation | None, share: float) -> Iterator[Operation]:
    """Yield what became of answerable queries. A failed one counts, too: it also returned nothing."""
    answerable = [query for query in candidate.queries if not _may_be_empty(candidate, query)]
    if not answerable:
        return
    empty = [query for query in answerable if not candidate.lists.get(query) or query in candidate.failures]
    then: Mapping[str, tuple[str, ...]] = {} if baseline is None else baseline.lists
    lost = [query for query in empty if then.get(query)]
    unknown = [query for query in empty if query not in then]
    allowed = _allow(share, len(answerable))
    counted = _count(len(empty), len(answerable), "answerable queries")
    if len(empty) > _MOST_EMPTY * len(answerable):
        outcome, reason = Outcome.FAIL, f"{counted} returned nothing at all"
    elif len(lost) > allowed:
        outcome = Outcome.FAIL
        reason = f"{counted} returned nothing at all, {len(lost):,} of them had results in the baseline: {_name(lost)}"
    elif len(lost) + len(unknown) > allowed:
        why = "there is no baseline" if baseline is None else "the baseline has no lists of them"
        outcome = Outcome.INCONCLUSIVE
        reason = f"{counted} returned nothing at all, and {why} to tell whether they ever did: {_name(empty)}"
    else:
        outcome, reason = Outcome.PASS, f"{counted} returned nothing"
    yield Operation(
        metric="empty", kind="empty", outcome=outcome, reason=reason, current=len(empty),
        baseline=sum(not then[query] for query in answerable if query in then) if then else None,
        limit=allowed, n=len(answerable),
    )  # fmt: skip


def _inspect_latency(candidate: Evaluation, baseline: Evaluation, factor: float) -> Iterator[Operation]:
    now, then = candidate.latency_of("p95"), baseline.latency_of("p95")
    if math.isnan(now) or math.isnan(then):  # list_unchecked() says so
        return
    slow = now > factor * then and now > LEAST_MS
    times = f", {now / then:.1f} times the baseline's {_milliseconds(then)}" if then > 0 else ""
    yield Operation(
        metric="latency.p95", kind="slow", outcome=Outcome.FAIL if slow else Outcome.PASS,
        reason=f"p95 is {_milliseconds(now)}{times}" + (f"; {_compare_machines(candidate, baseline)}" if slow else ""),
        current=now, baseline=then, limit=factor,
    )  # fmt: skip


def list_unchecked(candidate: Evaluation, baseline: Evaluation | None, operations: Operations) -> Iterator[str]:
    """Yield which operational rules were switched off or could not be applied, and a warning about a slower run."""
    for name in operations.off:
        yield f"the operational rule {name!r} is switched off by [gate.operations]"
    if baseline is None or not candidate.lists:
        return
    if operations.empty is not None and not baseline.lists:
        yield "the baseline has no ranked lists: empty ones are not compared with it until it is recorded again"
    if operations.latency is None:
        return
    now, then = candidate.latency_of("p95"), baseline.latency_of("p95")
    if math.isnan(now) or math.isnan(then):
        side = "run" if math.isnan(now) else "baseline"
        yield f"the {side} has no latency: nobody looked whether the system became slower"
    elif WARN * then < now and now > LEAST_MS and not now > operations.latency * then:
        yield (
            f"latency p95 is {_milliseconds(now)}, {now / then:.1f} times the baseline's {_milliseconds(then)}; "
            f"{_compare_machines(candidate, baseline)}"
        )


def _compare_machines(candidate: Evaluation, baseline: Evaluation) -> str:
    """Return what is known of the machines on which the two were timed."""
    now, then = _name_machine(candidate), _name_machine(baseline)
    if now and then:
        same = "both ran on" if now == then else f"machines differ: now {now}, then"
        return f"{same} {then}"
    known = f"now {now}, then unknown" if now else f"now unknown, then {then}" if then else "neither is recorded"
    return f"machines differ in speed, and they may not be the same ({known})"


def _name_machine(evaluation: Evaluation) -> str:
    provenance = evaluation.provenance
    machine = getattr(provenance, "machine", None) or provenance.versions.get("machine", "")
    if isinstance(machine, Mapping):
        return ", ".join(str(value) for value in machine.values() if value)
    return str(machine or "")


def count_failures(evaluation: Evaluation) -> Evaluation:
    """Return an evaluation in which a query without an answer has the worst value of each measure that needs one.

    Measures such as ``Judged@10`` and ``DupRate@10`` are undefined for an empty list. Left out of the mean, a failed
    query would make them better. A value that is missing because of the golden set stays missing, and an unanswerable
    query may return nothing.
    """
    scores = evaluation.scores
    lost = [
        scores.rows[query]
        for query in scores.queries
        if query in evaluation.failures
        or (query in evaluation.lists and not evaluation.lists[query] and not _may_be_empty(evaluation, query))
    ]
    if not lost or not scores.measures:
        return evaluation
    worst = np.array([_find_worst(measure) for measure in scores.measures])
    blamed = [number for number, reason in enumerate(scores.reasons, 1) if reason in UNANSWERED]
    missing = np.zeros(scores.values.shape, bool)
    missing[lost] = np.isin(scores.codes[lost], blamed)
    missing &= ~np.isnan(worst)
    if not missing.any():
        return evaluation
    filled = replace(
        scores,
        values=np.where(missing, worst, scores.values),
        codes=np.where(missing, 0, scores.codes).astype(np.uint8),
    )
    changed = {name for i, name in enumerate(scores.measures) if missing[:, i].any()}
    means = {name: mean for name, mean in filled.mean().items() if name in changed}
    return replace(evaluation, scores=filled, means={**evaluation.means, **means})


def _may_be_empty(evaluation: Evaluation, query: str) -> bool:
    """Return whether no result may be the right answer to a query: it is unanswerable, or nobody judged it."""
    return query in evaluation.unanswerable or query in evaluation.unjudged


def _find_worst(measure: str) -> float:
    """Return the worst value of a measure; NaN for a count, where neither more nor less is better."""
    higher = Measure.parse(measure).definition.higher_is_better
    return math.nan if higher is None else 0.0 if higher else 1.0


def _allow(share: float, total: int) -> int:
    return max(1, math.floor(share * total + 1e-9))


def _count(number: int, total: int, noun: str = "queries") -> str:
    return f"{number:,} of {total:,} {noun}"


def _name(queries: list[str]) -> str:
    return ", ".join(shorten(query)[1:-1] for query in queries[:5]) + (" ..." if len(queries) > 5 else "")


def _milliseconds(value: float) -> str:
    return f"{value:,.1f} ms"
