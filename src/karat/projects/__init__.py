"""Projects: a folder with karat.toml, and a function for each use case of the command line and the pytest plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core import open_lazily

if TYPE_CHECKING:
    from karat.projects import baselines as baselines
    from karat.projects._attempts import describe_attempt
    from karat.projects._check import (
        CHOICES,
        AskedRun,
        ask_project,
        check,
        check_project,
        choose_settings,
        decide_asked,
        open_sound_project,
        parse_path,
        parse_policy,
        read_gate,
    )
    from karat.projects._comparing import compare_runs
    from karat.projects._deciding import decide_run
    from karat.projects._evaluations import read_evaluations
    from karat.projects._failure import describe_failure, explain, find_drops, summarise
    from karat.projects._failure_causes import make_listed_run
    from karat.projects._gating import (
        GateResult,
        baseline_path,
        correct_by_labels,
        find_baseline,
        find_project,
        gate_evaluation,
        gate_run,
        is_project,
        project_policy,
        require_complete,
        revise_baseline,
    )
    from karat.projects._policy_document import show_policy
    from karat.projects._power import plan_gate_power, plan_power
    from karat.projects._project import Project, evaluate, open_project, run_identity, run_path
    from karat.projects._query import show_query
    from karat.projects._report import check_row, report_document
    from karat.projects._report_files import name_reports, require_writable
    from karat.projects._soundness import describe_finding, is_unjudged, refuse_golden, require_scorable
    from karat.projects._stability import blocks_summary, measure_stability
    from karat.projects._telemetry import collect_calls, describe_finished, send_telemetry

__all__ = [
    "CHOICES",
    "AskedRun",
    "GateResult",
    "Project",
    "ask_project",
    "baseline_path",
    "blocks_summary",
    "check",
    "check_project",
    "check_row",
    "choose_settings",
    "collect_calls",
    "compare_runs",
    "correct_by_labels",
    "decide_asked",
    "decide_run",
    "describe_attempt",
    "describe_failure",
    "describe_finding",
    "describe_finished",
    "evaluate",
    "explain",
    "find_baseline",
    "find_drops",
    "find_project",
    "gate_evaluation",
    "gate_run",
    "is_project",
    "is_unjudged",
    "make_listed_run",
    "measure_stability",
    "name_reports",
    "open_project",
    "open_sound_project",
    "parse_path",
    "parse_policy",
    "plan_gate_power",
    "plan_power",
    "project_policy",
    "read_evaluations",
    "read_gate",
    "refuse_golden",
    "report_document",
    "require_complete",
    "require_scorable",
    "require_writable",
    "revise_baseline",
    "run_identity",
    "run_path",
    "send_telemetry",
    "show_policy",
    "show_query",
    "summarise",
]

# Imported at first use: most verbs need a few of them, and all take longer to import than some verbs take.
_HOME = {
    **dict.fromkeys(
        (
            "CHOICES",
            "AskedRun",
            "ask_project",
            "check",
            "check_project",
            "choose_settings",
            "decide_asked",
            "open_sound_project",
            "parse_path",
            "parse_policy",
            "read_gate",
        ),
        "_check",
    ),
    "compare_runs": "_comparing",
    "describe_attempt": "_attempts",
    "decide_run": "_deciding",
    "read_evaluations": "_evaluations",
    **dict.fromkeys(("describe_failure", "explain", "find_drops", "summarise"), "_failure"),
    **dict.fromkeys(
        (
            "GateResult",
            "baseline_path",
            "correct_by_labels",
            "find_baseline",
            "find_project",
            "gate_evaluation",
            "gate_run",
            "is_project",
            "project_policy",
            "require_complete",
            "revise_baseline",
        ),
        "_gating",
    ),
    "make_listed_run": "_failure_causes",
    "show_policy": "_policy_document",
    **dict.fromkeys(("plan_gate_power", "plan_power"), "_power"),
    **dict.fromkeys(("Project", "evaluate", "open_project", "run_identity", "run_path"), "_project"),
    "show_query": "_query",
    **dict.fromkeys(("check_row", "report_document"), "_report"),
    **dict.fromkeys(("name_reports", "require_writable"), "_report_files"),
    **dict.fromkeys(("describe_finding", "is_unjudged", "refuse_golden", "require_scorable"), "_soundness"),
    **dict.fromkeys(("collect_calls", "describe_finished", "send_telemetry"), "_telemetry"),
    **dict.fromkeys(("blocks_summary", "measure_stability"), "_stability"),
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
