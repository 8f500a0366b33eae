"""Accepting a run as the baseline: it has to pass its own gate, unless a reason is given to accept it anyway."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from karat.core import GateFailed, InputError, KaratError, Run, UsageError, shorten
from karat.evaluation import require_comparable
from karat.gate import FIT, Baseline, Check, Decision, decide, read_baseline, write_baseline, write_fit
from karat.projects._gating import baseline_path, gate_run, revise_baseline
from karat.projects._project import Project
from karat.projects._proposal import propose_rules
from karat.schema import AcceptanceReport, RuleProposal
from karat.stats import Outcome

_NAMED = 5


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """A recorded baseline, and the decision on its run."""

    path: Path
    baseline: Baseline
    proposal: RuleProposal | None = None
    """Floors and must-pass queries that the run suggests; None if the policy has floors."""
    decision: Decision
    """The decision against the replaced baseline; if there was none, the one without a baseline."""

    @property
    def inconclusive(self) -> tuple[Check, ...]:
        """The inconclusive checks against the replaced baseline, in spite of which the run was accepted."""
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
    """Record a run as the baseline of a project. A run that fails its gate is refused unless ``force`` is a reason.

    The run is checked against the floors of the policy and against the baseline that it replaces. With
    ``format="fit"`` the file is fit's ``baseline-metrics.json``, which has means only.
    """
    if force is not None and not force.strip():
        raise UsageError("--force needs a reason, which is recorded: --force 'first baseline'")
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
    proposal = None if accepted.forced else propose_rules(decision.candidate, decision.policy)
    return Acceptance(path=path, baseline=accepted, decision=decision, proposal=proposal)


def summarise_acceptance(acceptance: Acceptance) -> AcceptanceReport:
    """Return what ``karat baseline update --json`` prints."""
    evaluation = acceptance.baseline.evaluation
    return AcceptanceReport(
        path=str(acceptance.path),
        name=evaluation.name,
        queries=len(evaluation.queries),
        forced=acceptance.baseline.forced,
        inconclusive=tuple(f"{check.name}: {check.reason}" for check in acceptance.inconclusive),
        proposal=acceptance.proposal,
    )


def _decide(
    project: Project, run: Run, path: Path, policy: str | None, measures: tuple[str, ...]
) -> tuple[Decision, KaratError | None]:
    """Return the decision on a run, and the objection to recording it, which only a forced update overrules.

    A baseline that cannot be read is never replaced. One that the run cannot be compared with, because it has other
    questions or settings, can be replaced by force; then only the floors are checked.
    """
    decision = gate_run(project, run, policy=policy, alone=True, measures=measures).decision
    if not os.path.lexists(path):
        return decision, _object(decision)
    recorded = read_baseline(path)
    try:
        before = revise_baseline(project, recorded).evaluation
        require_comparable(decision.candidate, before)
    except InputError as error:
        return decision, InputError(error.what, source=str(path), hint="--force 'why' replaces the baseline")
    decision = decide(decision.candidate, before, decision.policy)
    return decision, _object(decision)


def _object(decision: Decision) -> GateFailed | None:
    """Return the gate's objection to a run, or None. Being inconclusive is an objection only against a baseline."""
    checks = tuple(check for check in decision.failures if not _is_new(check, decision))
    if not checks and decision.baseline is not None and decision.exit_code:
        checks = tuple(check for check in decision.checks if check.outcome is Outcome.INCONCLUSIVE)
    if not checks:
        return None
    if decision.outcome is Outcome.ERROR:
        return _refuse(decision, [check for check in checks if check.outcome is Outcome.ERROR])
    return _refuse(decision, checks)


def _refuse(decision: Decision, checks: Sequence[Check]) -> GateFailed:
    named = "; ".join(f"{shorten(check.name)[1:-1]}: {check.reason}" for check in checks[:_NAMED])
    more = f"; and {len(checks) - _NAMED:,} more" if len(checks) > _NAMED else ""
    objection = GateFailed(
        f"the run does not pass its own gate and is not recorded: {named}{more}; --force 'why' does it"
    )
    objection.exit_code = decision.exit_code
    return objection


def _is_new(check: Check, decision: Decision) -> bool:
    """Return whether a check failed only because the replaced baseline does not have the measure."""
    return (
        decision.baseline is not None
        and decision.baseline.has_queries  # a baseline of means alone lacks what the tests need for every measure
        and check.metric not in decision.baseline.means
        and check.metric in decision.candidate.means
        and check.kind not in ("min", "max", "must_pass")
    )
