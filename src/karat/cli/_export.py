"""``karat export``: runs and experiments into MLflow."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import click

from karat.cli._options import measures_option
from karat.cli._progress import Progress, say
from karat.cli._table import emit, escaped, printable, render

if TYPE_CHECKING:
    from karat.schema import ExportReport

_OUTCOMES = ("created", "updated", "unchanged")


@click.command("export")
@click.argument("files", metavar="RUN|EXPERIMENTS_JSON...", nargs=-1, required=True)
@click.option(
    "--mlflow", "uri", required=True, metavar="URI", help="The destination: sqlite:///FILE, a folder, or a server."
)
@click.option(
    "--experiment",
    default="karat",
    show_default=True,
    metavar="NAME",
    help="The MLflow experiment; created if it is missing.",
)
@measures_option
@click.option(
    "--golden", "--project", "folder", metavar="DIR", help="The project of the runs.  [default: the one each is in]"
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the ids that MLflow gave.")
def command(files: tuple[str, ...], uri: str, **options: Any) -> None:
    """Write each run, and each entry of a log of experiments, to MLflow as a run.

    What was exported before is updated or left alone. karat contacts only the URI, and MLflow's telemetry is off.

    Example: karat export --mlflow sqlite:///mlflow.db examples/hotel/runs/new.jsonl examples/hotel/experiments.json
    """
    from karat.exports import check_mlflow, export_document, export_mlflow, is_folder, read_records
    from karat.schema import to_json

    check_mlflow()
    # Everything is read before anything is written; what MLflow prints is not part of the results.
    with Progress() as progress, redirect_stdout(sys.stderr):
        records = read_records(
            files,
            project=options["folder"],
            measures=options["measures"],
            say=say,
            progress=lambda *far: progress("reading", *far),
        )
        exported = export_mlflow(
            records, uri, experiment=options["experiment"], progress=lambda *far: progress("exporting", *far)
        )
    if is_folder(uri):
        say(
            "MLflow only maintains folders; its own commands open one with MLFLOW_ALLOW_FILE_STORE=true, or take sqlite"
        )
    report = export_document(exported, uri, options["experiment"])
    emit(to_json(report) if options["as_json"] else _text(report))


def _text(report: ExportReport) -> str:
    rows = [["kind", "name", "outcome"]]
    rows += [[record.kind, printable(record.name, 60), record.outcome] for record in report.exported]
    outcomes = Counter(str(record.outcome) for record in report.exported)
    counts = ", ".join(f"{outcomes[name]:,} {name}" for name in _OUTCOMES if outcomes[name]) or "nothing to export"
    target = f"experiment {escaped(report.experiment)} at {escaped(report.mlflow)}"
    return f"{render(rows, left=3)}\n\n{target}: {counts}"
