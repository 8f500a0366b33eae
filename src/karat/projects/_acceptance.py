"""Accepting a run: it becomes the baseline, if it passes its own gate or somebody says why it is accepted anyway."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from karat.core import GateFailed, InputError, KaratError, Run, UsageError, shorten
from karat.evaluation import require_comparable
from karat.gate import FIT, Baseline, Check, Decision, decide, read_baseline, write_baseline, write_fit
from karat.projects._gating import baseline_path, carry_over, gate_run
from karat.projects._project import Project
from karat.stats import Outcome

_NAMED = 5


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """A baseline that was recorded, and the decision that it rests on."""

    path: Path
    baseline: Baseline
    decision: Decision
    """Against the baseline that was replaced, or without one."""

    @property
    def inconclusive(self) -> tuple[Check, ...]:
        """The checks against the replaced baseline that decided nothing; nobody was asked about them."""
        if self.decision.baseline is None or self.baseline.forced:
            return ()
        return tuple(check for check in self.decision.checks if check.outcome is Outcome.INCONCLUSIVE)


def accept_run(
    project: Project,
    run: Run,
    *,
    baseline: str | Path | None = None,
    policy: str | None = None,
    force: str | None = None,
    format: Literal["karat", "fit"] = "karat",
) -> Acceptance:
    """Record a run as the baseline of a project; refuse one that fails its gate, unless ``force`` says why not.

    The run is held against the floors of the policy and against the baseline that it replaces. ``fit`` writes fit's
    ``baseline-metrics.json``, which has means only.
    """
    if force is not None and not force.strip():
        raise UsageError("--force needs a reason")
    path = baseline_path(project, baseline)
    decision, objection = _decide(project, run, path, policy, FIT if format == "fit" else ())
    if objection and force is None:
        raise objection
    accepted = Baseline(
        evaluation=decision.candidate,
        recorded=f"{datetime.now(tz=UTC):%Y-%m-%d}",
        forced=force.strip() if objection and force is not None else "",
    )
    (write_fit if format == "fit" else write_baseline)(accepted, path)
    return Acceptance(path=path, baseline=accepted, decision=decision)


def _decide(
    project: Project, run: Run, path: Path, policy: str | None, measures: tuple[str, ...]
) -> tuple[Decision, KaratError | None]:
    """Return the decision on a run, and the objection to recording it, which only force overrules.

    A baseline that cannot be read is left alone, whatever is forced. One that the run cannot be compared with, because
    the golden set has changed, can be replaced by force: then only floors are checked.
    """
    decision = gate_run(project, run, policy=policy, alone=True, measures=measures).decision
    if not os.path.lexists(path):
        return decision, _object(decision)
    before = carry_over(read_baseline(path).evaluation, decision.candidate, decision.policy)
    try:
        require_comparable(decision.candidate, before)
    except InputError as error:
        return decision, InputError(error.what, source=str(path), hint="--force 'why' replaces the baseline")
    decision = decide(decision.candidate, before, decision.policy)
    return decision, _object(decision)


def _object(decision: Decision) -> GateFailed | None:
    """Return what the gate has against a run. Without a baseline it cannot be sure of much, which is no objection."""
    checks = tuple(check for check in decision.failures if not _is_new(check, decision))
    if not checks and decision.baseline is not None and decision.exit_code:
        checks = tuple(check for check in decision.checks if check.outcome is Outcome.INCONCLUSIVE)
    if not checks:
        return None
    named = "; ".join(f"{shorten(check.name)[1:-1]}: {check.reason}" for check in checks[:_NAMED])
    more = f"; and {len(checks) - _NAMED:,} more" if len(checks) > _NAMED else ""
    objection = GateFailed(
        f"the run does not pass its own gate and is not recorded: {named}{more}; --force 'why' does it"
    )
    objection.exit_code = decision.exit_code
    return objection


def _is_new(check: Check, decision: Decision) -> bool:
    """Return whether a check failed only because the replaced baseline does not have the measure yet."""
    return (
        decision.baseline is not None
        and decision.baseline.has_queries  # one of means alone has no measure as a gate needs it
        and check.metric not in decision.baseline.means
        and check.metric in decision.candidate.means
        and check.kind not in ("min", "max", "must_pass")
    )
