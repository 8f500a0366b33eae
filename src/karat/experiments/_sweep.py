"""A sweep: many variants of one configuration, each asked, scored and gated, and all of them judged together.

Runs are kept as ``karat eval`` keeps them, so that a sweep that was killed goes on where it was. Embeddings are shared
through the project's cache: variants that cut the documents alike embed them once.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from karat.evaluation import Evaluation
from karat.experiments._log import LOG, Experiment, append_log, read_log
from karat.experiments._sweep_bench import Bench, Progress, Say, SweepSettings, Tried
from karat.experiments._sweepfile import Sweep, Variant
from karat.experiments._verdicts import REJECTED, Claims, Judged, Objective, claims, judge, undominated
from karat.gate import Baseline, Check, Policy, lower_is_better


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A variant that was tried, and what came of it."""

    variant: Variant
    judged: Judged
    error: str = ""
    """Why there is no result."""
    run: Path | None = None
    evaluation: Evaluation | None = None
    checks: tuple[Check, ...] = ()
    """What the gate says, rule by rule."""
    claims: Claims = field(default_factory=Claims)
    pareto: bool = False
    """Whether no other variant is at least as good in quality and latency, and better in one of them."""
    before: bool = False
    """Whether it was answered before this sweep was begun."""
    id: str = ""
    """In the log."""

    @property
    def latency(self) -> float | None:
        """The 95th percentile in milliseconds."""
        return None if self.evaluation is None else number(self.evaluation.latency_of("p95"))


@dataclass(frozen=True, kw_only=True)
class Swept:
    """A sweep that was finished."""

    sweep: Sweep
    policy: Policy
    objective: Objective
    baseline: Baseline | None
    trials: tuple[Trial, ...]
    log: Path
    earlier: int = 0
    """How many other variants the log has that were held against this baseline, and are not corrected for."""

    @property
    def tested(self) -> int:
        """For how many variants the verdicts are corrected: those of which something had to be shown."""
        return sum(trial.judged.p is not None for trial in self.trials)

    @property
    def unreached(self) -> tuple[str, ...]:
        """The measures of which the baseline itself is below the floor."""
        if self.baseline is None:
            return ()
        means = self.baseline.evaluation.means
        floors = {rule.metric: rule.min for rule in self.policy.rules if rule.where is None and rule.min is not None}
        return tuple(name for name, floor in floors.items() if means.get(name, floor) < floor)

    @property
    def measures(self) -> tuple[str, ...]:
        """All that was measured of the variants."""
        return tuple(dict.fromkeys(name for one in self.trials if one.evaluation for name in one.evaluation.means))


def run_sweep(
    sweep: Sweep,
    settings: SweepSettings = SweepSettings(),  # noqa: B008 (a frozen value)
    *,
    say: Say | None = None,
    progress: Progress | None = None,
) -> Swept:
    """Try all variants of a sweep, judge them together, and write what came of it into the log.

    Everything that can be checked is checked before the first question is asked. A variant that fails is recorded with
    its error, and the others go on.
    """
    bench = Bench(sweep, settings, say or (lambda _: None), progress or (lambda *_: None))
    log = settings.log or bench.project.config.folder / LOG
    known = read_log(log) if os.path.lexists(log) else ()  # a damaged one should be known of now, not in an hour
    tried = [bench.tried(number) for number in range(len(sweep.variants))]
    swept = Swept(
        sweep=sweep,
        policy=bench.policy,
        objective=bench.objective,
        baseline=bench.baseline,
        trials=_judged(tried, bench.objective, settings.seed),
        log=log,
    )
    ids = append_log(log, [_entry(swept, trial) for trial in swept.trials])
    bench.journal.forget()
    trials = tuple(replace(one, id=name) for one, name in zip(swept.trials, ids, strict=True))
    return replace(swept, trials=trials, earlier=_earlier(known, swept))


def _earlier(log: Sequence[Experiment], swept: Swept) -> int:
    """Count the systems that were held against this baseline before, and are none of those of this sweep."""
    if swept.baseline is None:
        return 0
    against = _against(swept.baseline)
    ours = {trial.evaluation.provenance.fingerprint for trial in swept.trials if trial.evaluation}
    return len({one.record.get("fingerprint") for one in log if one.record.get("baseline") == against} - ours)


def _judged(tried: Sequence[Tried], objective: Objective, seed: int) -> tuple[Trial, ...]:
    decided = [one.decision for one in tried if one.decision]
    found = [claims(one, objective.measure, variants=len(decided), seed=seed) for one in decided]
    judged = iter(zip(found, judge(decided, found, objective), strict=True))
    trials = []
    for one in tried:
        if one.decision is None:
            failed = Judged(verdict=REJECTED, reason=f"failed: {one.error}")
            trials.append(Trial(variant=one.variant, judged=failed, error=one.error))
            continue
        weighed, verdict = next(judged)
        trials.append(
            Trial(
                variant=one.variant,
                judged=verdict,
                run=one.run,
                evaluation=one.decision.candidate,
                claims=weighed,
                checks=one.decision.checks,
                before=one.before,
            )
        )
    front = undominated([_point(one, objective.measure) for one in trials])
    return tuple(replace(one, pareto=first) for one, first in zip(trials, front, strict=True))


def _point(trial: Trial, measure: str) -> tuple[float, float] | None:
    """Give quality, of which more is better, and latency; None where one of them is not known."""
    if trial.evaluation is None or trial.latency is None or math.isnan(quality := trial.evaluation.mean(measure)):
        return None
    return -quality if lower_is_better(measure) else quality, trial.latency


def number(value: float | None) -> float | None:
    """Give what JSON can hold."""
    return None if value is None or not math.isfinite(value) else value


def _entry(swept: Swept, trial: Trial) -> dict[str, Any]:
    """Give a trial as experiments.json has it: the six keys of source 000, then what tells how it came about."""
    sweep, variant, judged = swept.sweep, trial.variant, trial.judged
    entry: dict[str, Any] = {
        "date": f"{datetime.now(tz=UTC):%Y-%m-%d}",
        "description": ": ".join(part for part in (sweep.description, variant.description or variant.name) if part),
        "config_changes": {**sweep.base, **variant.changes},
        "results": _results(trial),
        "verdict": f"{judged.verdict} ({judged.reason})",
        "variant": variant.name,
        "sweep": Path(sweep.source).name,
        "policy": swept.policy.name,
    }
    if trial.error:
        return {**entry, "error": trial.error}
    assert trial.evaluation is not None
    assert trial.run is not None
    return {
        **entry,
        "objective": _change(swept, trial),
        "tests": {"p": judged.p, "p_corrected": judged.corrected, "correction": "holm", "variants": swept.tested},
        "golden": dict(trial.evaluation.provenance.golden),
        "baseline": swept.baseline and _against(swept.baseline),
        "fingerprint": trial.evaluation.provenance.fingerprint,
        "run": _beside(trial.run, swept.log.parent),
    }


def _results(trial: Trial) -> dict[str, float | None]:
    """Give the means of a trial by measure, and its latency."""
    return {} if trial.evaluation is None else _means(trial.evaluation)


def _means(evaluation: Evaluation) -> dict[str, float | None]:
    latency = number(evaluation.latency_of("p95"))
    means = {name: number(value) for name, value in evaluation.means.items()}
    return means if latency is None else {**means, "latency.p95": latency}


def _change(swept: Swept, trial: Trial) -> dict[str, Any]:
    """Give what became of the objective, as JSON has it."""
    change = trial.claims.change
    found: dict[str, Any] = {"measure": swept.objective.measure, "required": swept.objective.required}
    if change is not None:
        found |= {name: number(getattr(change, name)) for name in ("difference", "low", "high")}
        found |= {"p_gain": trial.claims.gain, "n": change.n}
    return found


def _against(known: Baseline) -> dict[str, Any]:
    """Say against what the variants were held."""
    return {
        "name": known.evaluation.name,
        "recorded": known.recorded,
        "fingerprint": known.evaluation.provenance.fingerprint,
    }


def _beside(path: Path, folder: Path) -> str:
    """Give a path as seen from a folder, so that the log can be read on another machine."""
    return Path(os.path.relpath(path, folder)).as_posix()


def sweep_document(swept: Swept) -> dict[str, Any]:
    """Give a sweep as JSON has it."""
    known = swept.baseline
    return {
        "sweep": swept.sweep.source,
        "project": str(swept.sweep.project),
        "base": dict(swept.sweep.base),
        "policy": swept.policy.name,
        "alpha": swept.policy.drop.alpha,
        "baseline": known and {**_against(known), "results": _means(known.evaluation)},
        "objective": swept.objective.measure,
        "require_gain": swept.objective.required,
        "correction": {"method": "holm", "variants": swept.tested, "not_counted": swept.earlier},
        "log": str(swept.log),
        "variants": [_document(swept, trial) for trial in swept.trials],
    }


def _document(swept: Swept, trial: Trial) -> dict[str, Any]:
    return {
        "id": trial.id,
        "name": trial.variant.name,
        "config_changes": dict(trial.variant.changes),
        "verdict": trial.judged.verdict,
        "reason": trial.judged.reason,
        "error": trial.error or None,
        "results": _results(trial),
        "objective": _change(swept, trial),
        "p": trial.judged.p,
        "p_corrected": trial.judged.corrected,
        "pareto": trial.pareto,
        "answered_before": trial.before,
        "run": None if trial.run is None else str(trial.run),
        "checks": [check.to_dict() for check in trial.checks],
    }
