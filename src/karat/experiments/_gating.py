"""The gate of a project: its policy, its baseline, and the decision on a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.core import InputError, Run, shorten
from karat.experiments._evaluate import same_golden
from karat.experiments._evaluation import MEASURES, Evaluation, score_run
from karat.experiments._project import Project, open_project
from karat.experiments._segments import groups
from karat.experiments._snapshot import snapshot
from karat.gate import Baseline, Decision, Policy, Snapshot, caveats, decide, read_baseline, read_policy

BASELINE = "baseline.json"


@dataclass(frozen=True, kw_only=True)
class Gated:
    """A run with its scores, and what the gate says of it."""

    project: Project
    evaluation: Evaluation
    snapshot: Snapshot
    decision: Decision
    baseline: Baseline | None = None
    caveats: tuple[str, ...] = ()


def project_of(path: str | Path) -> Path:
    """Find the project that a run belongs to: the nearest folder above it with a configuration, or the current one.

    A golden set without a configuration is a project too.
    """
    for folder in Path(path).resolve().parents:
        if any((folder / name).is_file() for name in ("karat.toml", "golden.toml")):
            return folder
    return Path()


def policy_of(project: Project, chosen: str | None = None) -> Policy:
    """Give the policy that was chosen, or the one of the configuration, for what the project measures."""
    config = project.config
    floors = dict(project.golden.gate)
    measures = () if floors else tuple(config.eval.get("measures", (one for one in MEASURES if one[0] != "J")))
    return read_policy(chosen, config.gate, measures=measures, floors=floors, source=f"{config.folder}, [gate]")


def baseline_path(project: Project, chosen: str | Path | None = None) -> Path:
    """Give the file of the baseline: the one that was chosen, or named in ``[gate]``, or baseline.json."""
    if chosen is not None:
        return Path(chosen)
    name = project.config.gate.get("baseline", BASELINE)
    if not isinstance(name, str) or not name:
        raise InputError(f"[gate] baseline = {shorten(name)}; name a file", source=str(project.config.folder))
    return project.config.folder / name


def find_baseline(project: Project, chosen: str | Path | None = None) -> Baseline | None:
    """Read the baseline; None where there is none yet. One that was named and is not there is a mistake."""
    path = baseline_path(project, chosen)
    if chosen is None and not path.exists():
        return None
    return read_baseline(path)


def gate_run(
    project: Project | str | Path,
    run: Run,
    *,
    policy: str | None = None,
    baseline: str | Path | None = None,
    seed: int = 0,
) -> Gated:
    """Score a run with what the policy looks at, and decide on it against the baseline."""
    if not isinstance(project, Project):
        project = open_project(project)
    same_golden(project.golden, run)
    chosen = policy_of(project, policy)
    known = find_baseline(project, baseline)
    unit: Any = project.config.eval.get("unit", "document")
    measures = dict.fromkeys((*chosen.measures, *project.config.eval.get("measures", ())))
    evaluation = score_run(project.golden, run, measures or None, unit=unit)
    taken = snapshot(evaluation, project.golden, unit=unit)
    decision = decide(taken, known.snapshot if known else None, chosen, groups(project.golden), seed=seed)
    return Gated(
        project=project,
        evaluation=evaluation,
        snapshot=taken,
        decision=decision,
        baseline=known,
        caveats=tuple(caveats(decision, project.golden, unit=unit)),
    )
