"""Projects: a folder with karat.toml, and one function for each thing that people do with it."""

from karat.projects._advice import advice
from karat.projects._check import (
    CHOICES,
    as_path,
    as_policy,
    check,
    check_project,
    checked_project,
    chosen_settings,
    verdict,
)
from karat.projects._comparing import compare_runs
from karat.projects._failure import explain
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
from karat.projects._power import plan_power
from karat.projects._project import SETTINGS, Project, evaluate, open_project, run_identity, run_path
from karat.projects._report import report_document
from karat.projects._saved_runs import RunFile, find_runs, name_file, newest_run, read_saved_run
from karat.projects._subjects import Subject, Subjects, read_subjects

__all__ = [
    "CHOICES",
    "SETTINGS",
    "Gated",
    "Project",
    "RunFile",
    "Subject",
    "Subjects",
    "advice",
    "as_path",
    "as_policy",
    "baseline_path",
    "carried_over",
    "check",
    "check_complete",
    "check_project",
    "checked_project",
    "chosen_settings",
    "compare_runs",
    "evaluate",
    "explain",
    "find_baseline",
    "find_runs",
    "gate_run",
    "name_file",
    "newest_run",
    "open_project",
    "plan_power",
    "policy_of",
    "project_of",
    "read_saved_run",
    "read_subjects",
    "report_document",
    "run_identity",
    "run_path",
    "verdict",
]
