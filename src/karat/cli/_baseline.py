"""``karat baseline``: what the system scored when it was last accepted."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from karat.cli._progress import say
from karat.cli._table import emit, escaped, printable, render

if TYPE_CHECKING:
    from pathlib import Path

    from karat.experiments import Project
    from karat.gate import Baseline, Snapshot

_GOLDEN = click.option(
    "--golden", "folder", metavar="DIR", help="The project.  [default: that of RUN, or the current folder]"
)
_FILE = click.option(
    "--baseline", "file", metavar="FILE", help="The baseline.  [default: baseline.json of the project]"
)


@click.group("baseline", short_help="Record, show or compare the accepted run.")
def command() -> None:
    """The baseline is a file in git: scores of every query, and what the system was made of, when it was last accepted.

    Example: karat baseline show --golden examples/hotel
    """


@command.command("update", short_help="Accept a run: it becomes the baseline.")
@click.argument("run", metavar="RUN")
@_GOLDEN
@_FILE
@click.option(
    "--policy", metavar="NAME|FILE", help="The policy that the run has to pass.  [default: that of karat.toml]"
)
@click.option("--force", metavar="REASON", help="Accept a run that fails its gate; the reason is recorded.")
@click.option(
    "--format", type=click.Choice(["karat", "fit"]), default="karat", help="fit: 000's baseline-metrics.json."
)
def update(run: str, **options: Any) -> None:
    """Make RUN the baseline, if it passes its own gate.

    It is held against the floors of the policy and against the baseline that it replaces. One that fails is refused,
    unless --force says why it is accepted.

    Example: karat baseline update examples/hotel/runs/pipeline-2026-11-16-0a1b2c3d.jsonl --force "first baseline"
    """
    from karat.core import GateFailed, UsageError
    from karat.experiments import baseline_path, gate_run, open_project, project_of, read_answers
    from karat.gate import Baseline, write_baseline, write_fit

    if options["force"] is not None and not options["force"].strip():
        raise UsageError("--force needs a reason")
    project = open_project(options["folder"] or project_of(run))
    path = baseline_path(project, options["file"])
    gated = gate_run(
        project,
        read_answers(run, project.golden, say=say),
        policy=options["policy"],
        baseline=path if path.exists() else None,
    )
    failures = gated.decision.failures
    if failures and options["force"] is None:
        named = "; ".join(f"{check.name}: {check.reason}" for check in failures[:5])
        raise GateFailed(f"the run fails its own gate and is not recorded: {named}; --force 'why' records it")
    made = Baseline(
        snapshot=gated.snapshot,
        recorded=f"{datetime.now(tz=UTC):%Y-%m-%d}",
        forced=options["force"].strip() if failures else "",
    )
    (write_fit if options["format"] == "fit" else write_baseline)(made, path)
    say(f"{path} now holds {gated.snapshot.name} with {len(gated.snapshot.queries):,} queries")


@command.command("show", short_help="Show the baseline.")
@_GOLDEN
@_FILE
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(as_json: bool, **options: Any) -> None:
    """Show what the baseline holds: means, latency, what it was made of and when.

    Example: karat baseline show --golden examples/hotel
    """
    path, found = _read(None, options)
    emit(json.dumps(_document(path, found), allow_nan=False) if as_json else _text(found))


@command.command("diff", short_help="Show what changed since the baseline, without a verdict.")
@click.argument("run", metavar="RUN")
@_GOLDEN
@_FILE
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def diff(run: str, as_json: bool, **options: Any) -> None:
    """Compare RUN with the baseline, measure by measure and query by query, without a verdict.

    Example: karat baseline diff examples/hotel/runs/pipeline-2026-11-16-0a1b2c3d.jsonl
    """
    from karat.cli._compare import comparison_document, comparison_text
    from karat.experiments import open_project, project_of, read_answers, same_golden, snapshot_run

    project = open_project(options["folder"] or project_of(run))
    _, found = _read(project, options)
    answers = read_answers(run, project.golden, say=say)
    same_golden(project.golden, answers)
    unit: Any = project.config.eval.get("unit", "document")
    taken = snapshot_run(project.golden, answers, list(found.snapshot.means), unit=unit)
    pair = [found.snapshot, taken]
    emit(
        json.dumps(comparison_document(pair, project.golden), allow_nan=False)
        if as_json
        else comparison_text(pair, project.golden)
    )


def _read(project: Project | None, options: dict[str, Any]) -> tuple[Path, Baseline]:
    from karat.core import InputError
    from karat.experiments import baseline_path, find_baseline, open_project

    project = project or open_project(options["folder"] or ".")
    path = baseline_path(project, options["file"])
    found = find_baseline(project, options["file"])
    if found is None:
        raise InputError("there is no baseline yet", source=str(path), hint="'karat baseline update RUN' records one")
    return path, found


def _document(path: Path, found: Baseline) -> dict[str, Any]:
    snapshot = found.snapshot
    means = {name: None if value != value else value for name, value in snapshot.means.items()}
    return {
        "file": str(path), "name": snapshot.name, "recorded": found.recorded, "forced": found.forced,
        "golden": dict(snapshot.golden), "fingerprint": snapshot.fingerprint, "system": dict(snapshot.system),
        "settings": dict(snapshot.settings), "queries": len(snapshot.queries), "failed": len(snapshot.failed),
        "means": means, "latency": {stage: dict(values) for stage, values in snapshot.latency.items()},
    }  # fmt: skip


def _text(found: Baseline) -> str:
    from karat.gate import flat

    snapshot = found.snapshot
    rows = [["measure", "mean"], *([name, _number(value)] for name, value in snapshot.means.items())]
    rows += [
        [f"latency.{name}", _number(snapshot.latency_of(name))] for name in ("p50", "p95", "p99") if snapshot.latency
    ]
    lines = [f"{printable(snapshot.name)}, recorded {found.recorded or 'on an unknown day'}, {_size(snapshot)}"]
    lines += [f"accepted although it failed its gate: {escaped(found.forced)}"] if found.forced else []
    made = [f"  {escaped(key)}: {escaped(str(value))}" for key, value in flat(snapshot.system).items()]
    return "\n\n".join(["\n".join(lines), render(rows), "\n".join(made)]).rstrip()


def _size(snapshot: Snapshot) -> str:
    if not snapshot.values:
        return "means only: no test can be made with it"
    repeats = max((len(values) for column in snapshot.values.values() for values in column.values()), default=1)
    return f"{len(snapshot.queries):,} queries" + (f", each asked {repeats} times" if repeats > 1 else "")


def _number(value: float) -> str:
    return "-" if value != value else f"{value:.4f}" if abs(value) < 10 else f"{value:.1f}"
