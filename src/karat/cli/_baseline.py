"""``karat baseline``: what the system scored when it was last accepted."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli._progress import say
from karat.cli._table import emit, escaped, printable, quantity, render

if TYPE_CHECKING:
    from collections.abc import Mapping

    from karat.core import GateFailed, KaratError, Run
    from karat.evaluation import Snapshot
    from karat.gate import Baseline, Check, Decision
    from karat.projects import Project

_NAMED = 5
_GOLDEN = click.option(
    "--golden", "folder", metavar="DIR", help="The project.  [default: that of RUN, or the current folder]"
)
_FILE = click.option(
    "--baseline", "file", metavar="FILE", help="The baseline.  [default: baseline.json of the project]"
)
_RUN = click.argument("runs", metavar="RUN|DIR", nargs=-1, required=True)


@click.group("baseline", short_help="Record, show or compare the accepted run.")
def command() -> None:
    """The baseline is a file in git: scores of every query, and what the system was made of, when it was last accepted.

    Example: karat baseline show
    """


@command.command("update", short_help="Accept a run: it becomes the baseline.")
@_RUN
@_GOLDEN
@_FILE
@click.option(
    "--policy", metavar="NAME|FILE", help="The policy that the run has to pass.  [default: that of karat.toml]"
)
@click.option("--force", metavar="REASON", help="Accept a run that fails its gate; the reason is recorded.")
@click.option(
    "--format", type=click.Choice(["karat", "fit"]), default="karat", help="fit: 000's baseline-metrics.json."
)
def update(runs: tuple[str, ...], **options: Any) -> None:
    """Make RUN the baseline, if it passes its own gate; of a project DIR it is the newest complete run in DIR/runs.

    It is held against the floors of the policy and against the baseline that it replaces. One that fails is refused,
    unless --force says why it is accepted.

    Example: karat baseline update examples/hotel/runs/pipeline-2026-11-16-0a1b2c3d.jsonl --force "first baseline"
    """
    from karat.core import UsageError
    from karat.gate import Baseline, write_baseline, write_fit
    from karat.projects import baseline_path, open_project
    from karat.runs import read_answers

    if options["force"] is not None and not options["force"].strip():
        raise UsageError("--force needs a reason")
    run, folder = _one_run("update", runs, options["folder"])
    project = open_project(folder)
    path = baseline_path(project, options["file"])
    answers = read_answers(run, project.golden, say=say)
    decision, refused = _decision(project, answers, path, options)
    if refused and options["force"] is None:
        raise refused
    made = Baseline(
        snapshot=decision.candidate,
        recorded=f"{datetime.now(tz=UTC):%Y-%m-%d}",
        forced=options["force"].strip() if refused else "",
    )
    (write_fit if options["format"] == "fit" else write_baseline)(made, path)
    for check in decision.checks if decision.baseline is not None and not refused else ():
        if check.outcome.value == "inconclusive":
            say(f"accepted although inconclusive: {printable(check.name)}: {check.reason}")
    say(f"{path} now holds {decision.candidate.name} with {len(decision.candidate.queries):,} queries")


def _one_run(verb: str, runs: tuple[str, ...], folder: str | None) -> tuple[str, str | Path]:
    """Give the run that is meant, and its project; of a folder it is the newest, and it is said which that is."""
    from karat.core import UsageError
    from karat.projects import newest_run, project_of

    one, *others = dict.fromkeys(runs)
    if others:
        raise UsageError(_which(verb, (one, *others), folder))
    if not Path(one).is_dir():
        return one, folder or project_of(one)
    place = Path(one).resolve()
    kept = place.name == "runs" and not (place / "runs").is_dir()  # the folder of the runs says as well what is meant
    project = folder or (place.parent if kept else None)
    file, passed_over = newest_run([one], golden=project)
    for reason in passed_over[:_NAMED]:
        say(f"passed over: {reason}")
    if len(passed_over) > _NAMED:
        say(f"passed over: {len(passed_over) - _NAMED:,} more")
    say(f"the newest complete run is {file.path}")
    return str(file.path), project or one


def _which(verb: str, runs: tuple[str, ...], folder: str | None) -> str:
    """Say that one run is wanted, and as far as that can be found which of them is the newest."""
    from karat.core import KaratError
    from karat.projects import newest_run

    what = f"{len(runs):,} runs were given, and one is wanted"
    try:
        newest = newest_run(runs, golden=folder)[0].path
    except KaratError:  # they are of no project, or another kind of file: then nobody knows
        return f"{what}; give its name, or its project for the newest"
    golden = f" --golden {shlex.quote(folder)}" if folder else ""
    return f"{what}; the newest is {newest}: karat baseline {verb} {shlex.quote(str(newest))}{golden}"


def _decision(project: Project, run: Run, path: Path, options: dict[str, Any]) -> tuple[Decision, KaratError | None]:
    """Hold a run against its gate, and give what stands against recording it, which only force overrules.

    A baseline that cannot be read is left alone, whatever is forced. One that the run cannot be compared with, because
    the golden set is another by now, can be replaced by force: then floors are all that is checked.
    """
    from karat.core import InputError
    from karat.evaluation import check_comparable
    from karat.gate import FIT, decide, read_baseline
    from karat.projects import carried_over, gate_run

    measures = FIT if options["format"] == "fit" else ()
    gated = gate_run(project, run, policy=options["policy"], alone=True, measures=measures)
    decision = gated.decision
    if not os.path.lexists(path):
        return decision, _refusal(decision)
    before = carried_over(read_baseline(path).snapshot, decision.candidate, decision.policy)
    try:
        check_comparable(decision.candidate, before)
    except InputError as error:
        return decision, InputError(error.what, source=str(path), hint="--force 'why' replaces the baseline")
    decision = decide(decision.candidate, before, decision.policy, decision.groups)
    return decision, _refusal(decision)


def _is_new(check: Check, decision: Decision) -> bool:
    """Say whether a check failed only because the baseline that is replaced does not know the measure yet."""
    return (
        decision.baseline is not None
        and bool(decision.baseline.values)  # one of means alone knows no measure as a gate needs it
        and check.metric not in decision.baseline.means
        and check.metric in decision.candidate.means
        and check.kind not in ("min", "max", "must_pass")
    )


def _refusal(decision: Decision) -> GateFailed | None:
    """Say what the gate has against a run; without a baseline it cannot be sure of much, and that is no fault."""
    from karat.core import GateFailed

    checks = tuple(check for check in decision.failures if not _is_new(check, decision))
    if not checks and decision.baseline is not None and decision.exit_code:
        checks = tuple(check for check in decision.checks if check.outcome.value == "inconclusive")
    if not checks:
        return None
    named = "; ".join(f"{printable(check.name)}: {check.reason}" for check in checks[:_NAMED])
    more = f"; and {len(checks) - _NAMED:,} more" if len(checks) > _NAMED else ""
    refusal = GateFailed(
        f"the run does not pass its own gate and is not recorded: {named}{more}; --force 'why' does it"
    )
    refusal.exit_code = decision.exit_code
    return refusal


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
@_RUN
@_GOLDEN
@_FILE
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def diff(runs: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Compare RUN, or the newest complete run of a project DIR, with the baseline, without a verdict.

    Example: karat baseline diff examples/hotel/runs/pipeline-2026-11-16-0a1b2c3d.jsonl
    """
    from karat.cli._compare_text import comparison_text
    from karat.evaluation import snapshot_run
    from karat.gate import compare_document
    from karat.projects import open_project
    from karat.runs import read_answers, same_golden
    from karat.schema import to_json

    run, folder = _one_run("diff", runs, options["folder"])
    project = open_project(folder)
    path, found = _read(project, options)
    answers = read_answers(run, project.golden, say=say)
    same_golden(project.golden, answers)
    unit: Any = project.config.eval.get("unit", "document")
    taken = snapshot_run(project.golden, answers, list(found.snapshot.means), unit=unit)
    pair = [replace(found.snapshot, name=path.name), replace(taken, name=Path(run).name)]
    comparison = compare_document(pair, project.golden)
    emit(to_json(comparison) if as_json else comparison_text(comparison))


def _read(project: Project | None, options: dict[str, Any]) -> tuple[Path, Baseline]:
    from karat.core import InputError
    from karat.projects import baseline_path, find_baseline, open_project

    project = project or open_project(options["folder"] or ".")
    path = baseline_path(project, options["file"])
    found = find_baseline(project, options["file"])
    if found is None:
        raise InputError("there is no baseline yet", source=str(path), hint="'karat baseline update RUN' records one")
    return path, found


def _document(path: Path, found: Baseline) -> dict[str, Any]:
    snapshot = found.snapshot
    return {
        "file": str(path), "name": snapshot.name, "recorded": found.recorded, "forced": found.forced,
        "golden": dict(snapshot.golden), "fingerprint": snapshot.fingerprint, "system": dict(snapshot.system),
        "settings": dict(snapshot.settings), "queries": len(snapshot.queries), "failed": len(snapshot.failed),
        "means": _numbers(snapshot.means),
        "latency": {stage: _numbers(values) for stage, values in snapshot.latency.items()},
    }  # fmt: skip


def _numbers(table: Mapping[str, float]) -> dict[str, float | None]:
    return {name: None if value != value else value for name, value in table.items()}


def _text(found: Baseline) -> str:
    from karat.evaluation import flat

    snapshot = found.snapshot
    rows = [["measure", "mean"], *([printable(name), quantity(value)] for name, value in snapshot.means.items())]
    rows += [
        [f"latency.{name}", quantity(snapshot.latency_of(name))] for name in ("p50", "p95", "p99") if snapshot.latency
    ]
    day = escaped(found.recorded) or "on an unknown day"
    lines = [f"{printable(snapshot.name)}, recorded {day}, {_size(snapshot)}"]
    lines += [f"accepted although it failed its gate: {escaped(found.forced)}"] if found.forced else []
    made = [f"  {escaped(key)}: {escaped(str(value))}" for key, value in flat(snapshot.system).items()]
    return "\n\n".join(["\n".join(lines), render(rows), "\n".join(made)]).rstrip()


def _size(snapshot: Snapshot) -> str:
    if not snapshot.values:
        return "means only: no test can be made with it"
    repeats = max((len(values) for column in snapshot.values.values() for values in column.values()), default=1)
    return f"{len(snapshot.queries):,} queries" + (f", each asked {repeats} times" if repeats > 1 else "")
