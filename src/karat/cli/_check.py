"""``karat check``: golden set, system and gate in one command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from karat.cli._asking import ask_project
from karat.cli._table import bold, emit, escaped

if TYPE_CHECKING:
    from karat.experiments import Gated
    from karat.golden import Report


@click.command("check", short_help="Check a golden set, evaluate on it and gate the run, in one go.")
@click.argument("folder", default=".", metavar="[DIR]")
@click.option("--system", metavar="MODULE:NAME", help="Your own retriever, instead of that of karat.toml.")
@click.option("--baseline", metavar="FILE", help="What to compare with.  [default: baseline.json of the project]")
@click.option("--policy", metavar="NAME|FILE", help="A policy by name, or a TOML file.  [default: that of karat.toml]")
@click.option("--output", metavar="DIR", help="Where the run is kept.  [default: DIR/runs]")
@click.option("--no-report", is_flag=True, help="Write no reports; else Markdown and HTML in DIR/reports.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed, the same numbers.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: what was found wrong, the decision and the scores.")
@click.pass_context
def command(context: click.Context, /, folder: str, **options: Any) -> None:
    """Check the golden set of DIR, ask its system every question, score the answers and decide by the gate.

    Does what karat golden check, karat eval, karat gate and karat report do. An error in the golden set ends it with
    exit code 2, a failed gate with 1, a system that cannot be asked with 3.

    Example: karat check examples/hotel
    """
    from karat.experiments import find_baseline, gate_run, open_project, policy_of
    from karat.golden import check

    project = open_project(folder)
    report = check(project.golden)
    if report.errors:
        emit(
            json.dumps({"golden": report.to_dict()}, allow_nan=False) if options["as_json"] else _errors(report, folder)
        )
        context.exit(2)
    policy_of(project, options["policy"])  # a mistake in either is told before anything is asked
    find_baseline(project, options["baseline"])
    run = ask_project(project, project.settings(), output=options["output"], system=options["system"])
    gated = gate_run(project, run, policy=options["policy"], baseline=options["baseline"], seed=options["seed"])
    if not options["no_report"]:
        _report(gated)
    emit(json.dumps(_document(report, gated), allow_nan=False) if options["as_json"] else _text(report, gated))
    context.exit(gated.decision.exit_code)


def _report(gated: Gated) -> None:
    """Write what people read, beside the runs."""
    from karat.cli._report import report_path, write_report
    from karat.experiments import report_document
    from karat.reports import render_html, render_markdown

    document = report_document(gated)
    for suffix, text in (("md", render_markdown(document)), ("html", render_html(document))):
        write_report(report_path(gated.project, document, suffix), text)


def _document(report: Report, gated: Gated) -> dict[str, Any]:
    from karat.cli._gate import gate_document

    return {"golden": report.to_dict(), "gate": gate_document(gated), "scores": gated.evaluation.to_dict()}


def _errors(report: Report, folder: str) -> str:
    lines = [f"{bold('error')} {finding.rule}: {escaped(finding.message)}" for finding in report.errors]
    return "\n".join([*lines, f"the golden set has errors; karat golden check {escaped(folder)} says how to mend them"])


def _text(report: Report, gated: Gated) -> str:
    from karat.cli._gate import gate_text

    golden, warnings = gated.project.golden, len(report.warnings)
    found = f"{warnings} warning{'' if warnings == 1 else 's'}" if warnings else "nothing wrong"
    name = " ".join(part for part in (golden.name, golden.version) if part)
    size = f"{len(golden.documents):,} documents, {len(golden.queries):,} queries, {len(golden.judgments):,} judgments"
    return f"{bold('golden set')} {escaped(name)}: {size}; {found}\n\n{gate_text(gated)}"
