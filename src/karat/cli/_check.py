"""``karat check``: golden set, system and gate in one command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli._asking import ask, finish_sending, naming_options, set_parameters
from karat.cli._gate import deliver, emit_decision
from karat.cli._options import gate_options
from karat.cli._scoring import pop_scoring, scoring_options
from karat.cli._table import bold, emit, escaped

if TYPE_CHECKING:
    from karat.golden import Report
    from karat.schema import DecisionDocument


@click.command("check")
@click.argument("folder", default=".", metavar="[DIR]")
@click.option(
    "--system",
    metavar="MODULE:NAME",
    help="Use your own retriever instead of the one in karat.toml; pipeline is the built-in one.",
)
@gate_options
@click.option("-o", "--output", metavar="DIR", help="Where to save the run.  [default: DIR/runs]")
@click.option("--reports", metavar="DIR", help="Where to write the reports.  [default: DIR/reports]")
@click.option(
    "--no-report", is_flag=True, help="Write no reports; otherwise Markdown, HTML, and JSON for karat report."
)
@naming_options
@click.option(
    "--resume", is_flag=True, help="Continue an interrupted run of the same code, instead of asking everything again."
)
@scoring_options
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same numbers.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON: the decision, and the findings about the golden set."
)
@click.pass_context
def command(context: click.Context, /, folder: str, **options: Any) -> None:
    """Check the golden set of DIR, ask its system every question, score the answers and decide by the gate.

    Does what karat golden check, karat eval, karat gate and karat report do, in one command. The exit code is 0 for
    pass, 1 for a failed gate, 2 for an error in the golden set, 3 for a system that cannot be asked, and for an
    inconclusive gate 0 or 4, as the policy says.

    Example: karat check examples/hotel
    """
    from karat.files import refuse_input
    from karat.golden.lint import check_configured
    from karat.projects import (
        decide_asked,
        open_project,
        read_gate,
        report_document,
        require_writable,
    )
    from karat.schema import to_json

    project = set_parameters(open_project(folder, **pop_scoring(options)), options["parameters"])
    report = check_configured(project.golden, project.config)
    if report.errors:
        emit(to_json(report.refusal()) if options["as_json"] else _errors(report, folder))
        context.exit(2)
    refuse_input(options["reports"] or project.config.folder / "reports", "--reports", folder=True)
    # A mistake is reported before anything is asked; and what the system does to files does not change the decision.
    policy, baseline = read_gate(project, policy=options["policy"], baseline=options["baseline"])
    reports = None if options["no_report"] else Path(options["reports"] or project.config.folder / "reports").absolute()
    if reports is not None:
        require_writable(reports)
    saved = ask(
        project,
        project.settings(),
        output=options["output"],
        system=options["system"],
        label=options["label"],
        resume=options["resume"],
    )
    result, sending = decide_asked(project, saved, policy=policy, baseline=baseline, seed=options["seed"])
    document = report_document(result, file=saved.path.name, lint=report.document())
    code = deliver(
        document,
        lambda: _write_reports(reports, document),
        lambda: emit_decision(document, saved.path, as_json=options["as_json"]),
    )
    finish_sending(sending)
    context.exit(code)


def _write_reports(folder: Path | None, document: DecisionDocument) -> None:
    """Write the reports for people, and the decision, from which every other report is rendered."""
    if folder is None:  # --no-report
        return
    from karat.cli._report import write_report
    from karat.projects import name_reports
    from karat.reports import render_html, render_json, render_markdown

    renderers = {"md": render_markdown, "html": render_html, "json": render_json}
    texts = {suffix: render(document) for suffix, render in renderers.items()}
    for path, text in name_reports(folder, document, texts).items():
        write_report(str(path), text)


def _errors(report: Report, folder: str) -> str:
    from karat.projects import describe_finding

    lines = [f"{bold('error')} {escaped(describe_finding(finding))}" for finding in report.errors]
    return "\n".join(
        [*lines, f"the golden set has errors; karat golden check {escaped(folder)} says how to correct them"]
    )
