"""Projects: a folder with karat.toml, and a function for each use case of the command line and the pytest plugin."""

from karat.projects._acceptance import Acceptance, accept_run, summarise_acceptance
from karat.projects._baselines import (
    ChosenRun,
    choose_run,
    diff_baseline,
    read_project_baseline,
    summarise_baseline,
)
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
from karat.projects._comparing import compare_runs
from karat.projects._evaluations import Evaluations, read_evaluations
from karat.projects._failure import describe_failure, explain, summarise
from karat.projects._gating import (
    GateResult,
    baseline_path,
    evaluate_run,
    find_baseline,
    find_project,
    gate_evaluation,
    gate_run,
    project_policy,
    require_complete,
    revise_baseline,
)
from karat.projects._policy_document import policy_document, show_policy
from karat.projects._power import plan_gate_power, plan_power
from karat.projects._project import Project, evaluate, open_project, run_identity, run_path
from karat.projects._proposal import propose_rules
from karat.projects._query import show_query
from karat.projects._rebasing import Rebase, rebase_baseline, rebase_document
from karat.projects._report import check_row, report_document
from karat.projects._report_files import name_reports
from karat.projects._runs import describe_saved_run, find_run, list_runs, prune_runs
from karat.projects._saved_runs import RunFile, find_runs, name_file, newest_run, read_saved_run
from karat.projects._soundness import require_scorable

__all__ = [
    "CHOICES",
    "Acceptance",
    "ChosenRun",
    "Evaluations",
    "GateResult",
    "Project",
    "Rebase",
    "RunFile",
    "accept_run",
    "ask_project",
    "baseline_path",
    "check",
    "check_project",
    "check_row",
    "choose_run",
    "choose_settings",
    "compare_runs",
    "describe_failure",
    "describe_saved_run",
    "diff_baseline",
    "evaluate",
    "evaluate_run",
    "explain",
    "find_baseline",
    "find_project",
    "find_run",
    "find_runs",
    "gate_evaluation",
    "gate_run",
    "list_runs",
    "name_file",
    "name_reports",
    "newest_run",
    "open_project",
    "open_sound_project",
    "parse_path",
    "parse_policy",
    "plan_gate_power",
    "plan_power",
    "policy_document",
    "project_policy",
    "propose_rules",
    "prune_runs",
    "read_evaluations",
    "read_project_baseline",
    "read_saved_run",
    "rebase_baseline",
    "rebase_document",
    "report_document",
    "require_complete",
    "require_scorable",
    "revise_baseline",
    "run_identity",
    "run_path",
    "show_policy",
    "show_query",
    "summarise",
    "summarise_acceptance",
    "summarise_baseline",
]
