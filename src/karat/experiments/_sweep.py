"""Sweeps: many variants of one configuration, each asked, scored and gated, and all of them decided on together.

Runs are kept as ``karat eval`` keeps them, so that a sweep that was killed goes on where it stopped. Embeddings are
shared through the project's cache: variants that split the documents alike embed them once.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from msgspec import UNSET, structs

from karat.evaluation import Evaluation
from karat.experiments._bench import Attempt, Bench, Progress, Say, SweepSettings
from karat.experiments._log import LOG, Experiment, append_log, read_log
from karat.experiments._sweepfile import Sweep, Variant
from karat.experiments._verdicts import (
    REJECTED,
    Claims,
    Objective,
    VariantVerdict,
    decide_variants,
    undominated,
    weigh_claims,
)
from karat.files import shorten_path
from karat.gate import Baseline, Check, Policy, lower_is_better
from karat.projects import check_row
from karat.schema import (
    ObjectiveChange,
    SweepBaseline,
    SweepCorrection,
    SweepEntry,
    SweepReference,
    SweepReport,
    SweepTests,
    VariantResult,
    to_plain,
)

LATENCY = "latency.p95"


@dataclass(frozen=True, kw_only=True)
class VariantOutcome:
    """A variant that was tried, and what came of it."""

    variant: Variant
    verdict: VariantVerdict
    error: str = ""
    """Why there is no result."""
    run: Path | None = None
    evaluation: Evaluation | None = None
    checks: tuple[Check, ...] = ()
    """The checks of the gate."""
    claims: Claims = field(default_factory=Claims)
    pareto: bool = False
    """Whether no other variant is at least as good in quality and latency, and better in one of them."""
    answered_before: bool = False
    """Whether its run was made before this sweep began."""
    id: str = ""
    """In the log."""

    @property
    def latency(self) -> float | None:
        """The 95th percentile in milliseconds."""
        return None if self.evaluation is None else _finite(self.evaluation.latency_of("p95"))


@dataclass(frozen=True, kw_only=True)
class SweepResult:
    """A finished sweep."""

    sweep: Sweep
    policy: Policy
    objective: Objective
    baseline: Baseline | None
    outcomes: tuple[VariantOutcome, ...]
    log: Path
    earlier: int = 0
    """How many other variants in the log were held against this baseline; they are not corrected for."""

    @property
    def tested(self) -> int:
        """The number of variants that the verdicts are corrected for: those that had something to show."""
        return sum(outcome.verdict.p is not None for outcome in self.outcomes)


def run_sweep(
    sweep: Sweep,
    settings: SweepSettings = SweepSettings(),  # noqa: B008 (a frozen value)
    *,
    say: Say | None = None,
    progress: Progress | None = None,
) -> SweepResult:
    """Try all variants of a sweep, decide on them together, and add the results to the log.

    Everything that can be checked is checked before the first question is asked. A variant that fails is recorded with
    its error, and the others go on.
    """
    bench = Bench(sweep, settings, say or (lambda _: None), progress or (lambda *_: None))
    log = settings.log.absolute() if settings.log else bench.project.config.folder / LOG
    experiments = read_log(log) if os.path.lexists(log) else ()  # a damaged log is found now, not in an hour
    attempts = [bench.attempt(number) for number in range(len(sweep.variants))]
    result = SweepResult(
        sweep=sweep,
        policy=bench.policy,
        objective=bench.objective,
        baseline=bench.baseline,
        outcomes=_decide(attempts, bench.objective, settings.seed),
        log=log,
    )
    ids = append_log(log, [to_plain(_entry(result, outcome)) for outcome in result.outcomes])
    bench.finished.forget()
    outcomes = tuple(replace(outcome, id=id_) for outcome, id_ in zip(result.outcomes, ids, strict=True))
    return replace(result, outcomes=outcomes, earlier=_count_earlier(experiments, result))


def _count_earlier(log: Sequence[Experiment], result: SweepResult) -> int:
    """Count the systems in the log that were held against this baseline, without those of this sweep."""
    if result.baseline is None:
        return 0
    reference = to_plain(_reference(result.baseline))
    own = {outcome.evaluation.provenance.fingerprint for outcome in result.outcomes if outcome.evaluation}
    earlier = (entry.record for entry in log if entry.record.get("baseline") == reference)
    return len({str(record.get("fingerprint")) for record in earlier} - own)


def _decide(attempts: Sequence[Attempt], objective: Objective, seed: int) -> tuple[VariantOutcome, ...]:
    decisions = [attempt.decision for attempt in attempts if attempt.decision]
    claims = [weigh_claims(decision, objective.measure, seed=seed) for decision in decisions]
    decided = iter(zip(claims, decide_variants(decisions, claims, objective, seed=seed), strict=True))
    outcomes = []
    for attempt in attempts:
        if attempt.decision is None:
            failed = VariantVerdict(word=REJECTED, reason=f"failed: {attempt.error}")
            outcomes.append(VariantOutcome(variant=attempt.variant, verdict=failed, error=attempt.error))
            continue
        claim, verdict = next(decided)
        outcomes.append(
            VariantOutcome(
                variant=attempt.variant,
                verdict=verdict,
                run=attempt.run,
                evaluation=attempt.decision.candidate.summary(),
                claims=claim,
                checks=attempt.decision.checks,
                answered_before=attempt.answered_before,
            )
        )
    front = undominated([_quality_and_latency(outcome, objective.measure) for outcome in outcomes])
    return tuple(replace(outcome, pareto=first) for outcome, first in zip(outcomes, front, strict=True))


def _quality_and_latency(outcome: VariantOutcome, measure: str) -> tuple[float, float] | None:
    """Return quality, where more is better, and latency; None where one of them is not known."""
    if outcome.evaluation is None or outcome.latency is None:
        return None
    quality = outcome.evaluation.mean(measure)
    if math.isnan(quality):
        return None
    return -quality if lower_is_better(measure) else quality, outcome.latency


def _finite(value: float | None) -> float | None:
    """Return None for what JSON cannot hold."""
    return None if value is None or not math.isfinite(value) else value


def _entry(result: SweepResult, outcome: VariantOutcome) -> SweepEntry:
    """Return an outcome as experiments.json has it: the six keys of ``fit``, then how it came about."""
    sweep, variant, verdict = result.sweep, outcome.variant, outcome.verdict
    entry = SweepEntry(
        date=f"{datetime.now(tz=UTC):%Y-%m-%d}",
        description=": ".join(part for part in (sweep.description, variant.description or variant.name) if part),
        config_changes={**sweep.base, **variant.changes},
        results=_results(outcome.evaluation),
        verdict=f"{verdict.word} ({verdict.reason})",
        variant=variant.name,
        sweep=Path(sweep.source).name,
        policy=result.policy.name,
    )
    if outcome.error:
        return structs.replace(entry, error=outcome.error)
    assert outcome.evaluation is not None
    assert outcome.run is not None
    return structs.replace(
        entry,
        objective=_objective(result, outcome),
        tests=SweepTests(
            p=verdict.p, p_corrected=verdict.corrected, variants=result.tested, untested=verdict.untested or UNSET
        ),
        golden=dict(outcome.evaluation.provenance.golden),
        baseline=result.baseline and _reference(result.baseline),
        fingerprint=outcome.evaluation.provenance.fingerprint,
        run=_relative(outcome.run, result.log.parent),
    )


def _results(evaluation: Evaluation | None) -> dict[str, float | None]:
    """Return the means by measure, and the latency if it was measured."""
    if evaluation is None:
        return {}
    latency = _finite(evaluation.latency_of("p95"))
    means = {name: _finite(value) for name, value in evaluation.means.items()}
    return means if latency is None else {**means, LATENCY: latency}


def _objective(result: SweepResult, outcome: VariantOutcome) -> ObjectiveChange:
    """Return how the objective changed; without a baseline there are no numbers."""
    change, objective = outcome.claims.change, result.objective
    if change is None:
        return ObjectiveChange(measure=objective.measure, required=objective.required)
    return ObjectiveChange(
        measure=objective.measure,
        required=objective.required,
        difference=_finite(change.difference),
        low=_finite(change.low),
        high=_finite(change.high),
        p_gain=outcome.claims.gain,
        n=change.n,
    )


def _reference(baseline: Baseline) -> SweepReference:
    provenance = baseline.evaluation.provenance
    return SweepReference(name=provenance.name, recorded=baseline.recorded, fingerprint=provenance.fingerprint)


def _relative(path: Path, folder: Path) -> str:
    """Return a path as seen from a folder, so that the log can be read on another machine."""
    return Path(os.path.relpath(path, folder)).as_posix()


def sweep_document(result: SweepResult) -> SweepReport:
    """Return a sweep as the document that ``karat sweep --json`` prints."""
    return SweepReport(
        sweep=result.sweep.source,
        project=str(result.sweep.project),
        base=dict(result.sweep.base),
        policy=result.policy.name,
        alpha=result.policy.drop.alpha,
        baseline=_baseline(result.baseline),
        objective=result.objective.measure,
        require_gain=result.objective.required,
        correction=SweepCorrection(variants=result.tested, not_counted=result.earlier),
        log=str(shorten_path(result.log)),
        variants=tuple(_variant(result, outcome) for outcome in result.outcomes),
    )


def _baseline(baseline: Baseline | None) -> SweepBaseline | None:
    if baseline is None:
        return None
    provenance = baseline.evaluation.provenance
    return SweepBaseline(
        name=provenance.name,
        recorded=baseline.recorded,
        fingerprint=provenance.fingerprint,
        results=_results(baseline.evaluation),
    )


def _variant(result: SweepResult, outcome: VariantOutcome) -> VariantResult:
    return VariantResult(
        id=outcome.id,
        name=outcome.variant.name,
        config_changes=dict(outcome.variant.changes),
        verdict="REJECTED" if outcome.verdict.word == REJECTED else "ACCEPTED",
        reason=outcome.verdict.reason,
        error=outcome.error or None,
        results=_results(outcome.evaluation),
        objective=_objective(result, outcome),
        p=outcome.verdict.p,
        p_corrected=outcome.verdict.corrected,
        untested=None if outcome.verdict.p is not None else outcome.verdict.untested or "the variant failed",
        pareto=outcome.pareto,
        answered_before=outcome.answered_before,
        run=None if outcome.run is None else str(shorten_path(outcome.run)),
        checks=tuple(map(check_row, outcome.checks)),
    )
