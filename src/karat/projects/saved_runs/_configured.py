"""Whether a run is of the system that karat.toml configures: a baseline should not be a trial of something else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from karat.core import KaratError, Run, shorten
from karat.evaluation import system_changes
from karat.projects._project import Project

_NAMED = 4
_UNCONFIGURED = ("source", "bm25s", "pystemmer")
"""Parts of a description that karat.toml does not configure: the digest of the code, and versions of packages."""


def describe_difference(project: Project, run: Run) -> str:
    """Return how a run differs from one of the configured system, in words; "" if it is of that system.

    Its code may be another by now. A sample that is not configured counts as a difference, too.
    """
    provenance = run.provenance
    changes = _compare_systems(project, provenance.name, provenance.system)
    sample = provenance.settings.get("sample")
    configured = project.config.eval.settings.get("sample")
    changes += [("sample", sample, configured)] if sample != configured else []
    named = [f"{key} is {_word(now)} (karat.toml: {_word(then)})" for key, now, then in changes[:_NAMED]]
    return "; ".join(named) + (f" and {len(changes) - _NAMED:,} more" if len(changes) > _NAMED else "")


def describe_outdated(project: Project, run: Run) -> str:
    """Return how the project's system differs from the one that made a run, in words; "" if it is not known to differ.

    The code of the user's own system is read, and not imported.
    """
    path, source = project.config.eval.system, run.provenance.system.get("source")
    difference = describe_difference(project, run)
    if difference or not path or not source:
        return difference
    from karat.systems import hash_code  # most runs are named, and need no system

    now = hash_code([path.partition(":")[0]])
    return f"the code of {path} is another" if now and now != source else ""


def _compare_systems(project: Project, name: str, system: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return (dotted key, value in the run, value in karat.toml) of everything that differs."""
    config = project.config
    if config.eval.system:
        if name != config.eval.system:
            return [("system", name, config.eval.system)]
        return system_changes(_plain(system.get("parameters")), _plain(config.eval.parameters))
    from karat.runs import describe_run

    try:
        expected = describe_run(project.golden, project.system(cache=False), project.settings()).system
    except KaratError:  # it cannot be made here, as without an extra that the machine of the run had
        expected = {"kind": "http" if config.system else "pipeline"}
        system = {"kind": system.get("kind")}
    if system.get("kind") != expected.get("kind"):
        return [("system", system.get("kind") or name, expected.get("kind"))]
    return [change for change in system_changes(system, expected) if change[0].split(".")[-1] not in _UNCONFIGURED]


def _plain(parameters: Any) -> dict[str, Any]:
    """Return parameters as a run file holds them."""
    return {"parameters": json.loads(json.dumps(dict(parameters or {}), default=str))} if parameters else {}


def _word(value: Any) -> str:
    return "not set" if value is None else shorten(value)
