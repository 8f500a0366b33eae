"""``karat check``: golden set, system and gate in one command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli._asking import ask
from karat.cli._gate import emit_decision
from karat.cli._scoring import pop_scoring, scoring_options
from karat.cli._table import bold, emit, escaped

if TYPE_CHECKING:
    from karat.golden import Report
    from karat.schema import DecisionDocument


@click.command("check", short_help="Check a golden set, evaluate on it and gate the run, in one go.")
@click.argument("folder", default=".", metavar="[DIR]")
@click.option("--system", metavar="MODULE:NAME", help="Your own retriever, instead of that of karat.toml.")
@click.option("--baseline", metavar="FILE", help="What to compare with.  [default: baseline.json of the project]")
@click.option("--policy", metavar="NAME|FILE", help="A policy by name, or a TOML file.  [default: that of karat.toml]")
@click.option("--output", metavar="DIR", help="Where the run is kept.  [default: DIR/runs]")
@click.option("--reports", metavar="DIR", help="Where the reports go.  [default: DIR/reports]")
@click.option("--no-report", is_flag=True, help="Write no reports; else Markdown, HTML, and JSON for karat report.")
@scoring_options
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed, the same numbers.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the decision, and what the golden set lacks.")
@click.pass_context
def command(context: click.Context, /, folder: str, **options: Any) -> None:
    """Check the golden set of DIR, ask its system every question, score the answers and decide by the gate.

    Does what karat golden check, karat eval, karat gate and karat report do. An error in the golden set ends it with
    exit code 2, a failed gate with 1, a system that cannot be asked with 3.

    Example: karat check examples/hotel
    """
    from karat.golden.lint import check_configured
    from karat.projects import find_baseline, gate_run, open_project, project_policy, report_document
    from karat.schema import GoldenErrors, to_plain

    project = open_project(folder, **pop_scoring(options))
    report = check_configured(project.golden, project.config)
    if report.errors:
        errors = to_plain(GoldenErrors(lint=report.document()))
        emit(json.dumps(errors, allow_nan=False) if options["as_json"] else _errors(report, folder))
        context.exit(2)
    project_policy(project, options["policy"])  # a mistake in either is reported before anything is asked
    find_baseline(project, options["baseline"])
    run = ask(project, project.settings(), output=options["output"], system=options["system"])
    result = gate_run(project, run, policy=options["policy"], baseline=options["baseline"], seed=options["seed"])
    document = report_document(result, lint=report.document())
    if not options["no_report"]:
        _write_reports(Path(options["reports"] or project.config.folder / "reports"), document)
    emit_decision(document, project.config.folder, as_json=options["as_json"])
    context.exit(document.verdict.exit_code)


def _write_reports(folder: Path, document: DecisionDocument) -> None:
    """Write the reports for people, and the decision, from which every other report is rendered."""
    from karat.cli._report import report_path, write_report
    from karat.reports import render_html, render_json, render_markdown

    for suffix, render in (("md", render_markdown), ("html", render_html), ("json", render_json)):
        write_report(report_path(folder, document, suffix), render(document))


def _errors(report: Report, folder: str) -> str:
    lines = [f"{bold('error')} {finding.rule}: {escaped(finding.message)}" for finding in report.errors]
    return "\n".join(
        [*lines, f"the golden set has errors; karat golden check {escaped(folder)} says how to correct them"]
    )
