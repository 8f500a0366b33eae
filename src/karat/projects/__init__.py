"""Projects: a folder with karat.toml, and one function for each thing that people do with it."""

from karat.projects._acceptance import Acceptance, accept_run
from karat.projects._check import (
    CHOICES,
    ask_project,
    check,
    check_project,
    choose_settings,
    open_sound_project,
    parse_path,
    parse_policy,
)
from karat.projects._evaluations import Evaluations, read_evaluations
from karat.projects._failure import describe_failure, explain, summarise
from karat.projects._gating import (
    GateResult,
    baseline_path,
    carry_over,
    evaluate_run,
    find_baseline,
    find_project,
    gate_evaluation,
    gate_run,
    project_policy,
    require_complete,
)
from karat.projects._project import Project, evaluate, open_project, run_identity, run_path
from karat.projects._report import report_document

__all__ = [
    "CHOICES",
    "Acceptance",
    "Evaluations",
    "GateResult",
    "Project",
    "accept_run",
    "ask_project",
    "baseline_path",
    "carry_over",
    "check",
    "check_project",
    "choose_settings",
    "describe_failure",
    "evaluate",
    "evaluate_run",
    "explain",
    "find_baseline",
    "find_project",
    "gate_evaluation",
    "gate_run",
    "open_project",
    "open_sound_project",
    "parse_path",
    "parse_policy",
    "project_policy",
    "read_evaluations",
    "report_document",
    "require_complete",
    "run_identity",
    "run_path",
    "summarise",
]
