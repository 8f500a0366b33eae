"""``karat engine``: where work can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._table import emit, escaped, render
from karat.cli._verbs import HintingGroup

if TYPE_CHECKING:
    from karat.schema.engine import EngineReport


@click.group("engine", cls=HintingGroup)
def command() -> None:
    """Check where work can run: in this process, or on a Spark cluster.

    Example: karat engine doctor
    """


@command.command("doctor", short_help="Check whether an engine can work, and what is missing.")
@click.option(
    "--engine",
    default="local",
    show_default=True,
    metavar="ADDRESS",
    help="The engine: local, spark://HOST:PORT or local-cluster[WORKERS,CORES,MB].",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def doctor(context: click.Context, /, engine: str, as_json: bool) -> None:
    """Check whether an engine can work: Java, packages, addresses, and what the workers have.

    A cluster is asked to run a small task. The exit code is 3 if something that the engine needs is missing.

    Example: karat engine doctor --engine spark://host:7077 --json
    """
    from karat.engine import examine_engine
    from karat.schema import to_json

    report = examine_engine(engine)
    emit(to_json(report) if as_json else _text(report))
    context.exit(0 if report.ready else 3)


def _text(report: EngineReport) -> str:
    rows = [["check", "state", "value"]]
    for check in report.checks:
        state = "ok" if check.ready else "missing" if check.needed else "not needed"
        rows.append([check.name, state, escaped(check.value)])
    parts = [render(rows, left=3)]
    parts += [f"{check.name}: {escaped(check.hint)}" for check in report.checks if not check.ready and check.needed]
    for worker in report.workers:
        has = f"Python {worker.python}, karat {worker.karat or 'none'}, Polars {worker.polars or 'none'}"
        parts.append(f"worker {escaped(worker.host)}: {escaped(has)}")
    state = "can work" if report.ready else "cannot work"
    return "\n".join([*parts, f"{escaped(report.engine)} {state}"])
