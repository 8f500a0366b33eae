"""Golden set, system and gate in one call, as ``karat check`` does it in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from karat.core import GateFailed, InputError
from karat.experiments._evaluate import make_run
from karat.experiments._failure import explain
from karat.experiments._gating import Gated, find_baseline, gate_run, policy_of
from karat.experiments._project import Project, open_project
from karat.golden import check as lint
from karat.stats import Outcome


def check(
    system: object = None,
    golden: str | Path = ".",
    *,
    baseline: str | Path | None = None,
    policy: str | None = None,
    output: str | Path | None = None,
    seed: int = 0,
    **settings: Any,
) -> Gated:
    """Ask a system every question of a project, gate its answers, and raise GateFailed where it may not ship.

    ``golden`` is a folder with karat.toml, or a golden set. ``system`` is an object with ``retrieve(query, k)`` or such
    a function, and without one the project's own. ``baseline`` and ``policy`` are those of the project unless others
    are named. With ``output`` the run is kept in that file. ``settings`` are those of :class:`Settings`.
    """
    __tracebackhide__ = True  # pytest shows the line of the test, not ours
    gated = check_project(
        checked_project(golden), system, baseline=baseline, policy=policy, output=output, seed=seed, **settings
    )
    if gated.decision.exit_code:
        refusal = GateFailed(verdict(gated))
        refusal.exit_code = gated.decision.exit_code
        raise refusal
    return gated


def checked_project(folder: str | Path) -> Project:
    """Open a project whose golden set has no errors."""
    project = open_project(folder)
    if errors := lint(project.golden).errors:
        found = "; ".join(f"{one.rule}: {one.message}" for one in errors[:3])
        more = f"; and {len(errors) - 3:,} more" if len(errors) > 3 else ""
        hint = f"'karat golden check {folder}' says how to mend them"
        raise InputError(f"the golden set has errors: {found}{more}", source=str(folder), hint=hint)
    return project


def check_project(
    project: Project,
    system: object = None,
    *,
    baseline: str | Path | None = None,
    policy: str | None = None,
    output: str | Path | None = None,
    seed: int = 0,
    **settings: Any,
) -> Gated:
    """Ask a system every question of a project and gate its answers, whatever comes of it."""
    policy_of(project, policy)  # a mistake in either is told before anything is asked
    find_baseline(project, baseline)
    asked = project.system() if system is None else system
    run = make_run(project.golden, asked, project.settings(**settings), output=None if output is None else Path(output))
    return gate_run(project, run, policy=policy, baseline=baseline, seed=seed)


def verdict(gated: Gated) -> str:
    """Say what did not pass, each with its numbers and queries."""
    decision = gated.decision
    wrong = decision.failures or tuple(one for one in decision.checks if one.outcome is Outcome.INCONCLUSIVE)
    head = f"{decision.outcome.value} by policy {decision.policy.name}: {len(wrong)} of {len(decision.checks)} checks"
    return f"{head}\n{explain(gated, wrong)}"
