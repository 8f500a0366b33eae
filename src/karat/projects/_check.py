"""Golden set, system and gate in one call, as ``karat check`` does it in one command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, get_args, get_type_hints

from karat.core import GateFailed, InputError, UsageError, did_you_mean, shorten
from karat.golden import check as lint
from karat.projects._failure import explain
from karat.projects._gating import GateResult, find_baseline, gate_run, project_policy
from karat.projects._project import Project, open_project
from karat.runs import Settings, make_run
from karat.stats import Outcome

CHOICES = tuple(name for name in get_type_hints(Settings) if name != "seed")
"""What can be chosen besides the seed, which the gate has too."""
_KINDS = {int: "a whole number", float: "a number of seconds", bool: "True or False"}


def check(
    golden: str | Path = ".",
    system: object = None,
    *,
    baseline: str | Path | None = None,
    policy: str | Path | None = None,
    output: str | Path | None = None,
    seed: int = 0,
    **settings: Any,
) -> GateResult:
    """Ask a system every question of a project, gate its answers, and raise GateFailed where it may not ship.

    ``golden`` is a folder with karat.toml, or a golden set. ``system`` is an object with ``retrieve(query, k)`` or such
    a function, and without one the project's own. ``baseline`` and ``policy`` are those of the project unless others
    are named. With ``output`` the run is kept in that file. ``seed`` draws the sample, if there is one, and is that of
    the tests. The other ``settings`` are those of :class:`Settings`.
    """
    __tracebackhide__ = True  # pytest shows the line of the test, not ours
    project = checked_project(as_path("golden", golden))
    policy = as_policy(Path(), policy)
    gated = check_project(project, system, baseline=baseline, policy=policy, output=output, seed=seed, **settings)
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


def as_path(name: str, value: object) -> Path:
    """Take what was given as a path, or refuse it by its name."""
    if not isinstance(value, str | os.PathLike):
        raise UsageError(f"{name}={shorten(value)}; name a file or folder")
    return Path(value)


def as_policy(root: Path, value: object) -> str | None:
    """Take a policy by name as it is, and one in a file by its path from a folder."""
    if value is None or (isinstance(value, str) and not value.endswith(".toml") and "/" not in value):
        return value
    if not isinstance(value, str | os.PathLike):
        raise UsageError(f"policy={shorten(value)}; name a policy, or a file")
    return os.path.join(root, value)  # noqa: PTH118 (./strict is a file; pathlib would make it strict, a name)


def chosen_settings(
    project: Project,
    *,
    baseline: str | Path | None = None,
    policy: str | None = None,
    seed: int = 0,
    **settings: Any,
) -> Settings:
    """Give how a system is to be asked; a mistake in what was chosen is told here, before anything is asked."""
    _check_kind("seed", seed, int)
    hints = get_type_hints(Settings)
    for name, value in settings.items():
        if name not in hints:
            raise UsageError(
                f"there is no setting {name!r}{did_you_mean(name, CHOICES) or '; known: ' + ', '.join(CHOICES)}"
            )
        if value is not None:  # which leaves it as it is
            _check_kind(name, value, (get_args(hints[name]) or (hints[name],))[0])
    project_policy(project, policy)
    find_baseline(project, None if baseline is None else as_path("baseline", baseline))
    size = settings.get("sample")
    if size is not None and not 1 <= size <= len(project.golden.queries):
        raise UsageError(f"sample={size}; the golden set has {len(project.golden.queries):,} queries")
    return project.settings(**settings, seed=None if size is None else seed)


def _check_kind(name: str, value: object, kind: type) -> None:
    if not isinstance(value, (int, float) if kind is float else kind) or isinstance(value, bool) != (kind is bool):
        raise UsageError(f"{name}={shorten(value)}; it is {_KINDS[kind]}")


def check_project(
    project: Project,
    system: object = None,
    *,
    baseline: str | Path | None = None,
    policy: str | None = None,
    output: str | Path | None = None,
    seed: int = 0,
    **settings: Any,
) -> GateResult:
    """Ask a system every question of a project and gate its answers, whatever comes of it."""
    how = chosen_settings(project, baseline=baseline, policy=policy, seed=seed, **settings)
    asked = project.system() if system is None else system
    run = make_run(project.golden, asked, how, output=None if output is None else as_path("output", output))
    return gate_run(project, run, policy=policy, baseline=baseline, seed=seed)


def verdict(gated: GateResult) -> str:
    """Say what did not pass, each with its numbers and queries."""
    decision = gated.decision
    wrong = decision.failures or tuple(one for one in decision.checks if one.outcome is Outcome.INCONCLUSIVE)
    head = f"{decision.outcome.value} by policy {decision.policy.name}: {len(wrong)} of {len(decision.checks)} checks"
    return f"{head}\n{explain(gated, wrong)}"
