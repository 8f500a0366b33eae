"""Accepting a run as the baseline: it has to pass its own gate, unless a reason is given to accept it anyway."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from karat.core import GateFailed, InputError, KaratError, Measure, MeasureError, Run, UsageError, shorten
from karat.evaluation import Evaluation, require_comparable
from karat.gate import (
    FIT,
    TESTS,
    Baseline,
    Check,
    Decision,
    Policy,
    Rule,
    add_contents,
    decide,
    is_unasked,
    lacks_baseline_labels,
    lower_is_better,
    read_baseline,
    write_baseline,
    write_fit,
)
from karat.projects._gating import apply_policy, baseline_path, evaluate_run, gate_run, revise_baseline
from karat.projects._project import Project
from karat.projects.baselines._proposal import propose_rules
from karat.schema import AcceptanceReport, RuleProposal
from karat.stats import Outcome

_NAMED = 5
_INCONCLUSIVE = 4  # the exit code
_TIE = 1e-9


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
        """The inconclusive checks in spite of which the run was accepted."""
        return () if self.baseline.forced else _find_unknown(self.decision)


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

    So is one that got worse than the baseline by more than is tolerated, even if the gate cannot tell that from chance:
    a baseline that follows each such drop would go down step by step without anybody's reason.
    The run is checked against the floors of the policy and against the baseline that it replaces. With
    ``format="fit"`` the file is fit's ``baseline-metrics.json``, which has means only.
    """
    if force is not None and not force.strip():
        raise UsageError("--force needs a reason, which is recorded: --force 'first baseline'")
    path = baseline_path(project, baseline)
    decision, objection = _decide(project, run, path, policy, FIT if format == "fit" else ())
    if objection and force is None:
        raise objection
    forced = force.strip() if objection and force is not None else ""
    accepted = Baseline(
        evaluation=add_contents(decision.candidate, project.golden),
        recorded=f"{datetime.now(tz=UTC):%Y-%m-%d}",
        forced=forced,
        inconclusive=() if forced else tuple(f"{check.name}: {check.reason}" for check in _find_unknown(decision)),
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
        inconclusive=acceptance.baseline.inconclusive,
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
        before = revise_baseline(project, recorded, decision.policy.measures).evaluation
        require_comparable(decision.candidate, before)
    except InputError as error:
        return decision, InputError(error.what, source=str(path), hint="--force 'why' replaces the baseline")
    decision = apply_policy(project, decision.candidate, before, decision.policy)
    return decision, _object(decision) or _object_unchecked(project, run, before, decision.policy)


def _find_unknown(decision: Decision) -> tuple[Check, ...]:
    """Return the inconclusive checks against a baseline.

    Without one it is no news that nothing is known, unless the means that are recorded are those of few questions.
    """
    unsure = [check for check in decision.checks if check.outcome is Outcome.INCONCLUSIVE]
    return tuple(check for check in unsure if decision.baseline is not None or check.kind == "unscored")


def _object(decision: Decision) -> GateFailed | None:
    """Return the gate's objection to a run, or None. Being inconclusive is an objection only against a baseline."""
    failures = [check for check in decision.failures if not _is_new(check, decision)]
    if decision.outcome is Outcome.ERROR:
        failures = [check for check in failures if check.outcome is Outcome.ERROR]
    unknown = [check for check in _find_unknown(decision) if not _is_new(check, decision)]
    if failures or (unknown and decision.policy.on_inconclusive == "fail"):
        problem = "the run does not pass its own gate and is not recorded"
        return _refuse(problem, failures or unknown, decision.exit_code)
    if moved := [check for check in unknown if check.kind == "moved"]:
        problem = "the baseline of a segment with a rule would lose questions, and the run is not recorded"
        return _refuse(problem, moved, _INCONCLUSIVE)
    if removed := [check for check in unknown if check.kind == "removed"]:
        problem = "nothing is recorded until 'karat baseline rebase' has shown what goes"
        return _refuse(problem, removed, _INCONCLUSIVE)
    if drops := _find_drops(decision):
        problem = (
            "the run is worse than the baseline by more than is tolerated, which may be chance, and is not recorded"
        )
        return _refuse(problem, drops, _INCONCLUSIVE)
    return None


def _object_unchecked(project: Project, run: Run, before: Evaluation, policy: Policy) -> GateFailed | None:
    """Return the objection to a drop in a measure of the baseline whose change no rule of the policy limits.

    Otherwise a policy with floors alone would let the baseline follow every drop down to them.
    """
    limited = {rule.metric for rule in policy.rules if rule.limits_change and rule.where is None}
    names = [name for name in before.scores.measures if name not in limited and _has_direction(name)]
    if not names:
        return None
    rules = tuple(Rule(metric=name, non_inferior=True) for name in names)
    candidate = evaluate_run(project, run, names)
    drops = _find_drops(decide(candidate, before, replace(policy, rules=rules, must_pass=())))
    problem = "the run is worse than the baseline in measures that no rule compares with it, and is not recorded"
    return _refuse(problem, drops, _INCONCLUSIVE) if drops else None


def _has_direction(name: str) -> bool:
    """Return whether a measure has a better and a worse; Judged tells of the judgments, and not of the system."""
    try:
        measure = Measure.parse(name)
    except MeasureError:  # of a package that is not installed here
        return False
    return measure.definition.higher_is_better is not None and measure.name != "Judged"


def _find_drops(decision: Decision) -> list[Check]:
    """Return the checks that did not fail although the mean got worse by more than is tolerated."""
    return [
        check
        for check in decision.checks
        if check.kind in TESTS
        and check.difference is not None
        and check.limit is not None
        and (check.difference if lower_is_better(check.metric) else -check.difference) > check.limit + _TIE
    ]


def _refuse(problem: str, checks: Sequence[Check], exit_code: int) -> GateFailed:
    named = "; ".join(f"{shorten(check.name)[1:-1]}: {check.reason}" for check in checks[:_NAMED])
    more = f"; and {len(checks) - _NAMED:,} more" if len(checks) > _NAMED else ""
    objection = GateFailed(f"{problem}: {named}{more}; --force 'why' records it all the same")
    objection.exit_code = exit_code
    return objection


def _is_new(check: Check, decision: Decision) -> bool:
    """Return whether nothing is known because the replaced baseline lacks the measure, its questions or its labels."""
    candidate, before = decision.candidate, decision.baseline
    if lacks_baseline_labels(check):
        return True
    if before is None or not before.has_queries or check.kind in ("min", "max", "must_pass"):
        return False  # a baseline of means alone lacks what the tests need for every measure
    if check.metric not in before.means and check.metric in candidate.means:
        return True
    return is_unasked(candidate, before, check.metric, None if check.where is None else candidate.segments[check.where])
