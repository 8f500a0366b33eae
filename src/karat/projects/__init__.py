"""Projects: a folder with karat.toml, and one function for each thing that people do with it."""

from karat.projects._check import (
    CHOICES,
    as_path,
    as_policy,
    check,
    check_project,
    checked_project,
    chosen_settings,
)
from karat.projects._failure import explain, summarise, verdict
from karat.projects._gating import (
    Gated,
    baseline_path,
    carried_over,
    check_complete,
    find_baseline,
    gate_run,
    policy_of,
    project_of,
)
from karat.projects._project import SETTINGS, Project, evaluate, open_project, run_identity, run_path
from karat.projects._report import report_document
from karat.projects._subjects import Subject, Subjects, read_subjects

__all__ = [
    "CHOICES",
    "SETTINGS",
    "Gated",
    "Project",
    "Subject",
    "Subjects",
    "as_path",
    "as_policy",
    "baseline_path",
    "carried_over",
    "check",
    "check_complete",
    "check_project",
    "checked_project",
    "chosen_settings",
    "evaluate",
    "explain",
    "find_baseline",
    "gate_run",
    "open_project",
    "policy_of",
    "project_of",
    "read_subjects",
    "report_document",
    "run_identity",
    "run_path",
    "summarise",
    "verdict",
]
