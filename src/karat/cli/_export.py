"""``karat export``: runs and experiments into MLflow."""

from __future__ import annotations

import json
import sys
from collections import Counter
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import click

from karat.cli._progress import Progress, say
from karat.cli._table import emit, escaped, printable, render

if TYPE_CHECKING:
    from karat.exports import Exported

_OUTCOMES = ("created", "updated", "unchanged")


@click.command("export", short_help="Write runs and experiments to MLflow.")
@click.argument("files", metavar="RUN|EXPERIMENTS_JSON...", nargs=-1, required=True)
@click.option("--mlflow", "uri", required=True, metavar="URI", help="Where to: sqlite:///FILE, a folder, or a server.")
@click.option(
    "--experiment", default="karat", show_default=True, metavar="NAME", help="MLflow's experiment; made if not there."
)
@click.option(
    "-m", "--measure", "measures", multiple=True, metavar="MEASURE", help="A measure such as nDCG@10; repeat."
)
@click.option("--golden", "folder", metavar="DIR", help="The project of the runs.  [default: the one each lies in]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the ids that MLflow gave.")
def command(files: tuple[str, ...], uri: str, **options: Any) -> None:
    """Write each run, and each entry of a log of experiments, to MLflow as one run of it.

    What was exported before is brought up to date, or left alone. Only the URI is spoken to, and MLflow's telemetry is
    off.

    Example: karat export --mlflow sqlite:///mlflow.db examples/hotel/runs/new.jsonl examples/hotel/experiments.json
    """
    from karat.exports import check_mlflow, export_mlflow, is_folder, read_records

    check_mlflow()
    # All is read before anything is written; what MLflow prints is none of the results.
    with Progress() as progress, redirect_stdout(sys.stderr):
        records = read_records(
            files,
            project=options["folder"],
            measures=options["measures"],
            say=say,
            progress=lambda *far: progress("reading", *far),
        )
        found = export_mlflow(
            records, uri, experiment=options["experiment"], progress=lambda *far: progress("exporting", *far)
        )
    if is_folder(uri):
        say(
            "MLflow only maintains folders; its own commands open one with MLFLOW_ALLOW_FILE_STORE=true, or take sqlite"
        )
    document = _document(found, uri, options["experiment"])
    emit(json.dumps(document, allow_nan=False) if options["as_json"] else _text(document))


def _document(found: tuple[Exported, ...], uri: str, experiment: str) -> dict[str, Any]:
    from karat.exports import shown_uri

    return {
        "mlflow": shown_uri(uri),
        "experiment": experiment,
        "exported": [
            {
                "file": one.record.source,
                "kind": one.record.kind,
                "name": one.record.name,
                "id": one.record.id,
                "run_id": one.run,
                "outcome": one.outcome,
            }
            for one in found
        ],
    }


def _text(document: dict[str, Any]) -> str:
    rows = [["kind", "name", "outcome"]]
    rows += [[one["kind"], printable(one["name"], 60), one["outcome"]] for one in document["exported"]]
    counted = Counter(one["outcome"] for one in document["exported"])
    counts = ", ".join(f"{counted[name]:,} {name}" for name in _OUTCOMES if counted[name]) or "nothing to export"
    where = f"experiment {escaped(document['experiment'])} at {escaped(document['mlflow'])}"
    return f"{render(rows, left=3)}\n\n{where}: {counts}"
