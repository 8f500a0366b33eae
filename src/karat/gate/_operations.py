"""Operational rules: whether a run worked at all, before anybody looks at its scores.

A run in which many questions failed says nothing about quality, and one that returns empty lists, or takes three times
as long, would not be called inconclusive by anybody. These rules are part of every policy, and come first in every
decision, unless ``[gate.operations]`` switches one off by its name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from karat.core import UsageError, did_you_mean, format_ms, is_missing, shorten
from karat.evaluation import Evaluation, Revision, Segment
from karat.stats import Outcome

KINDS = ("failed", "unscored", "unasked", "removed", "new", "moved", "empty", "texts", "slow")
"""The kinds of the operational checks, in their order."""
CHANGED_QUESTIONS = ("unasked", "removed", "new", "moved")
"""The kinds of checks on which questions are compared: to delete what fails must not pass with a warning."""
WARN = 1.5
"""The latency, as a multiple of the baseline's, from which there is a warning."""
LEAST_MS = 50.0
"""Milliseconds below which no latency fails: there the clock and the machine decide more than the system."""
MOST_TIMES = 100.0
"""How many times a latency may rise at most: a larger limit is none."""
LEAST_RATIO_MS = 1.0
"""Milliseconds of a baseline below which no ratio is told: it would be one of two rounding errors."""
_MOST_EMPTY = 0.5
_DEFAULT_FAILED = 0.02
ALLOWED = 0.02
"""The share of the baseline's questions that may leave the golden set, or a segment, and always one question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """The limits of the operational rules; None switches a rule off."""

    failed: float | None = _DEFAULT_FAILED
    """The share of the queries that may fail, and always one query. With more there is no decision. If it is above the
    default, as many of the slowest questions are left out of the rule on latency."""
    empty: float | None = 0.02
    """The share of the answerable queries that may return nothing where the baseline returned something, and always
    one query."""
    latency: float | None = 3.0
    """How many times the p95 latency of the baseline that of the run may be."""
    texts: float | None = 0.02
    """The share of the queries that may have a hit with a text that is not in its document, and always one query; of
    systems that answer, and runs that were judged."""

    def __post_init__(self) -> None:
        for name in ("failed", "empty", "texts"):
            share = getattr(self, name)
            if share is not None and not 0 <= share < _MOST_EMPTY:
                raise UsageError(
                    f"operations: {name} = {share:g}; write a share such as 0.02, or false to switch it off"
                )
        if self.latency is not None and not 1 < self.latency <= MOST_TIMES:
            raise UsageError(
                f"operations: latency = {self.latency:g}; write how many times the baseline's p95 it may be, such "
                f"as 3 and at most {MOST_TIMES:g}, or false to switch it off"
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
    where: Segment | None = None


def inspect_operations(
    candidate: Evaluation, baseline: Evaluation | None, operations: Operations
) -> Iterator[Operation]:
    """Yield what the operational rules say about a run: one result for each rule that is on and can be applied.

    An evaluation of scores alone, without lists, has no answers to look at.
    """
    if operations.failed is not None and (candidate.lists or candidate.failures):
        yield _inspect_failed(candidate, operations.failed)
        yield from _inspect_unasked(candidate, operations.failed)
    yield from _inspect_removed(baseline)
    if operations.empty is not None and candidate.lists:
        yield from _inspect_empty(candidate, baseline, operations)
    if operations.texts is not None:
        yield from _inspect_texts(candidate, operations.texts)
    if operations.latency is not None and baseline is not None and candidate.lists:
        yield from _inspect_latency(candidate, baseline, operations)


def _inspect_failed(candidate: Evaluation, share: float) -> Operation:
    total, failed = len(candidate.queries), len(candidate.failures.keys() & candidate.query_set)
    allowed = allow(share, total)
    wrong = failed > allowed or failed == total
    errors = [candidate.failures[query] for query in candidate.queries if query in candidate.failures]
    missing = bool(errors) and all(map(is_missing, errors))
    reason = f"{count_of(failed, total)} {'not in the run' if missing else 'failed'}"
    if wrong:
        most = min(allowed, total - 1)  # a run in which every query failed is never good enough
        limit = f"at most {most:,}" if most else "none"
        reason += f", and {limit} may be missing" if missing else f" or timed out, and {limit} may: {errors[0]}"
    return Operation(
        metric="failed", kind="failed", outcome=Outcome.ERROR if wrong else Outcome.PASS, reason=reason,
        current=failed, limit=allowed, n=total,
    )  # fmt: skip


def _inspect_unasked(candidate: Evaluation, share: float) -> Iterator[Operation]:
    """Yield what is not known of a run on an older golden set: nobody asked it the questions that are new."""
    if candidate.revision is None or not (candidate.revision.new or candidate.revision.unmatched):
        return
    new = (*candidate.revision.new, *candidate.revision.unmatched)  # nobody asked these where the documents are now
    total = candidate.revision.common + len(new)
    gone = ", or returned documents that are gone" if candidate.revision.unmatched else ""
    allowed = allow(share, total)
    yield Operation(
        metric="unasked", kind="unasked", outcome=Outcome.INCONCLUSIVE if len(new) > allowed else Outcome.PASS,
        reason=f"{count_of(len(new), total, 'questions')} of the golden set were not asked{gone}: {name_first(new)}",
        current=len(new), limit=allowed, n=total,
    )  # fmt: skip


def _inspect_removed(baseline: Evaluation | None) -> Iterator[Operation]:
    """Yield what became of the baseline's questions: one that fails must not pass by deleting it, or its judgments.

    No setting switches this off. ``karat baseline rebase`` accepts the smaller set, and shows what that removes.
    """
    revision = baseline.revision if baseline is not None else None
    if revision is None or not (revision.removed or revision.unscored or revision.unmatched):
        return
    gone, total = sum(map(len, (revision.removed, revision.unscored, revision.unmatched))), revision.asked
    allowed = allow(ALLOWED, total)
    reasons = []
    if removed := list(revision.removed):
        reworded = f", {len(revision.reworded):,} of them with another text" if revision.reworded else ""
        reasons.append(f"are no longer in the golden set{reworded}: {name_first(removed)}")
    if unscored := list(revision.unscored):
        number = f"{len(unscored):,} " if removed else ""
        reasons.append(
            f"{number}have no relevant document any more{_explain_unscored(revision)}: {name_first(unscored)}"
        )
    if unmatched := list(revision.unmatched):
        number = f"{len(unmatched):,} " if reasons else ""
        reasons.append(f"{number}cannot be compared, since documents that it found are gone: {name_first(unmatched)}")
    counted = count_of(len(removed) or len(unscored) or gone, total, "questions")
    yield Operation(
        metric="removed", kind="removed", outcome=Outcome.INCONCLUSIVE if gone > allowed else Outcome.PASS,
        reason=f"{counted} that the baseline scored {'; '.join(reasons)}",
        current=gone, limit=allowed, n=total,
    )  # fmt: skip


def _explain_unscored(revision: Revision) -> str:
    """Return which grades count as relevant, if others did when the baseline was recorded."""
    was, now = revision.relevant or (0, 0)
    return f", since the lowest grade that counts as relevant is {now}, and was {was}" if was < now else ""


def _inspect_empty(candidate: Evaluation, baseline: Evaluation | None, operations: Operations) -> Iterator[Operation]:
    """Yield what became of answerable queries.

    A failed one counts as empty, so that to fail is never better than to return nothing, unless ``failed`` tolerates
    more than ``empty``: as many as that are left to ``failed``.
    """
    rightly = candidate.unanswerable | candidate.unjudged
    answerable = [query for query in candidate.queries if query not in rightly]
    if not answerable or operations.empty is None:
        return
    then: Mapping[str, bool] = {} if baseline is None else _find_answered(baseline)
    unsteady, failures, answered = candidate.empties, candidate.failures, candidate.answered
    empty = [query for query in answerable if (not answered.get(query) or query in unsteady) and query not in failures]
    failed = [query for query in answerable if query in failures] if failures else []
    allowed = allow(operations.empty, len(answerable))
    tolerated = allowed if operations.failed is None else allow(operations.failed, len(answerable))
    failed.sort(key=lambda query: not then.get(query))  # those that had results are the first to be tolerated
    counted = [*empty, *failed[max(0, tolerated - allowed) :]]
    lost = [query for query in counted if then.get(query)]
    unknown = [query for query in counted if query not in then]
    noun = "queries that have something relevant" if candidate.unjudged else "answerable queries"
    reason = f"{count_of(len(empty), len(answerable), noun)} returned nothing"
    reason += _describe_unsteady([query for query in empty if answered.get(query)], candidate)
    if counted[len(empty) :]:
        reason += f", and {len(failed):,} failed"
    outcome = Outcome.PASS
    if len(empty) + len(failed) > _MOST_EMPTY * len(answerable):
        outcome = Outcome.FAIL
    elif len(lost) > allowed:
        outcome = Outcome.FAIL
        reason += f"; {len(lost):,} of them had results in the baseline: {name_first(lost)}"
    elif len(lost) + len(unknown) > allowed:
        outcome = Outcome.INCONCLUSIVE
        why = "there is no baseline" if baseline is None else f"the baseline has no list of {len(unknown):,} of them"
        reason += f", and {why} to tell whether they ever did: {name_first(unknown)}"
    yield Operation(
        metric="empty", kind="empty", outcome=outcome, reason=reason, current=len(counted),
        baseline=[then.get(query) for query in answerable].count(False) if then else None,
        limit=allowed, n=len(answerable),
    )  # fmt: skip


def _inspect_texts(candidate: Evaluation, share: float) -> Iterator[Operation]:
    """Yield in how many queries a system returned texts under the ids of documents that do not have them.

    Such texts support whatever an answer says, and judges believe them.
    """
    if not candidate.altered:
        return
    foreign, total = list(candidate.altered), len(candidate.queries)
    allowed = allow(share, total)
    wrong = len(foreign) > allowed
    hits = sum(candidate.altered.values())
    advice = "; return the document's own text as the content of a hit, or none" if wrong else ""
    yield Operation(
        metric="texts", kind="texts", outcome=Outcome.FAIL if wrong else Outcome.PASS,
        reason=f"{count_of(len(foreign), total)} have {'a hit' if hits == 1 else f'{hits:,} hits'} with a text that is "
        f"not in the document: {name_first(foreign)}{advice}",
        current=len(foreign), limit=allowed, n=total,
    )  # fmt: skip


def _find_answered(evaluation: Evaluation) -> Mapping[str, bool]:
    """Return whether each query had results, in all of its wordings and repeats."""
    if not evaluation.empties:
        return evaluation.answered
    return {query: some and query not in evaluation.empties for query, some in evaluation.answered.items()}


def _describe_unsteady(queries: Sequence[str], candidate: Evaluation) -> str:
    """Return how many queries returned nothing in some of their wordings and repeats only."""
    if not queries:
        return ""
    empty, tries = candidate.empties[queries[0]]
    example = f"{name_first(queries[:1])} in {empty:,} of {tries:,}"
    return f", {len(queries):,} of them in some of their wordings or repeats ({example})"


def _inspect_latency(candidate: Evaluation, baseline: Evaluation, operations: Operations) -> Iterator[Operation]:
    """Yield how slow the run is. If the p95 falls among failed questions it is not known, which fails."""
    (now, name), then, factor = _measure_p95(candidate, operations), baseline.latency_of("p95"), operations.latency
    if factor is None or math.isnan(now) or math.isnan(then):  # list_unchecked() says so
        return
    unknown = math.isinf(now)
    if unknown:
        now = candidate.latency_of("p95")
    if unknown and not _fails_alike(candidate, baseline):
        yield Operation(
            metric="latency.p95", kind="slow", outcome=Outcome.FAIL, reason=explain_latency(candidate, "p95"),
            current=now, baseline=then, limit=factor,
        )  # fmt: skip
        return
    slow = now > factor * then and now > LEAST_MS
    limit = f"may be {factor:g} times as long, and {LEAST_MS:g} ms in any case (latency in [gate.operations])"
    machines = f"; it {limit}; {_compare_machines(candidate, baseline)}" if slow else ""
    yield Operation(
        metric="latency.p95", kind="slow", outcome=Outcome.FAIL if slow else Outcome.PASS,
        reason=f"{name} is {_compare_times(now, then, name)}{machines}", current=now, baseline=then, limit=factor,
    )  # fmt: skip


def _measure_p95(candidate: Evaluation, operations: Operations) -> tuple[float, str]:
    """Return the time that the rule on latency is about, and its name; infinite if it falls among failed questions.

    It is p95, unless that falls among the questions that ``failed`` was relaxed to allow: then the slowest of the
    others. These are excused whether they fail or are slow, or else a slow answer could pass by failing.
    """
    total, share = candidate.latency_of("n"), operations.failed or 0.0
    excused = allow(share, int(total)) if total > 0 and share > _DEFAULT_FAILED else 0
    if excused > 0.05 * (total - 1) and not math.isnan(slowest := candidate.slowest(excused)):
        return slowest, f"the slowest question but for the {excused:,} that may fail"
    return math.inf if candidate.lacks_latency("p95") else candidate.latency_of("p95"), "p95"


def hides_latency(candidate: Evaluation, baseline: Evaluation, name: str) -> bool:
    """Return whether a statistic of the latency falls among failed questions, some of which the baseline answered.

    A run that fails where its baseline fails is not slower than it.
    """
    return candidate.lacks_latency(name) and not _fails_alike(candidate, baseline)


def _fails_alike(candidate: Evaluation, baseline: Evaluation) -> bool:
    """Return whether a run failed only where its baseline did."""
    return candidate.failures.keys() <= baseline.failures.keys()


def explain_latency(candidate: Evaluation, name: str) -> str:
    """Return why a statistic of the latency that falls among failed questions cannot hold."""
    stage, _, statistic = name.rpartition(".")
    times = candidate.latency[stage or "total"]
    failed, total = int(times["failed"]), int(times["n"])
    return (
        f"{count_of(failed, total, 'questions')} failed, and each counts as slower than any answer: {statistic} is not "
        f"known, and at least {format_ms(times[statistic])}"
    )


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
    (now, name), then = _measure_p95(candidate, operations), baseline.latency_of("p95")
    if math.isnan(now) or math.isnan(then):
        side = "run" if math.isnan(now) else "baseline"
        yield f"the {side} has no latency, so nobody checked whether the system became slower"
    elif WARN * then < now and LEAST_MS < now <= operations.latency * then:
        yield f"latency: {name} is {_compare_times(now, then, name)}; {_compare_machines(candidate, baseline)}"


def _compare_times(now: float, then: float, name: str) -> str:
    """Return a time beside the baseline's p95, which is named if the time is not a p95 itself."""
    times = f"{now / then:.1f} times " if then >= LEAST_RATIO_MS else ""
    return f"{format_ms(now)}, {times}the baseline's {'' if name == 'p95' else 'p95 of '}{format_ms(then)}"


def _compare_machines(candidate: Evaluation, baseline: Evaluation) -> str:
    """Return what is known of the machines on which the two were timed."""
    now, then = _name_machine(candidate), _name_machine(baseline)
    if now and then:
        same = "both ran on" if now == then else f"machines differ: now {now}, then"
        return f"{same} {then}"
    known = f"now {now}, then unknown" if now else f"now unknown, then {then}" if then else "neither is recorded"
    return f"machines differ in speed, and they may not be the same ({known})"


def _name_machine(evaluation: Evaluation) -> str:
    """Return the class of the machine on which a run was made; "" if it is not recorded."""
    machine = evaluation.provenance.origin.machine
    return ", ".join(f"{value} cores" if key == "cores" else str(value) for key, value in machine.items() if value)


def allow(share: float, total: int) -> int:
    """Return how many queries a share is: always one, even of a few."""
    return max(1, math.floor(share * total + 1e-9))


def count_of(number: int, total: int, noun: str = "queries") -> str:
    """Return how many of how many there are, in words."""
    return f"{number:,} of {total:,} {noun}"


def name_first(queries: Sequence[str]) -> str:
    """Return the names of the first five queries."""
    return ", ".join(shorten(query)[1:-1] for query in queries[:5]) + (" ..." if len(queries) > 5 else "")
