"""``karat baseline``: what the system scored when it was last accepted."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli._progress import say
from karat.cli._table import emit, escaped, printable, quantity, render

if TYPE_CHECKING:
    from collections.abc import Mapping

    from karat.evaluation import Evaluation
    from karat.gate import Baseline
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
    from karat.projects import accept_run, open_project
    from karat.runs import read_answers

    run, folder = _one_run("update", runs, options["folder"])
    project = open_project(folder)
    acceptance = accept_run(
        project,
        read_answers(run, project.golden, say=say),
        baseline=options["file"],
        policy=options["policy"],
        force=options["force"],
        format=options["format"],
    )
    for check in acceptance.inconclusive:
        say(f"accepted although inconclusive: {printable(check.name)}: {check.reason}")
    evaluation = acceptance.baseline.evaluation
    say(f"{acceptance.path} now holds {evaluation.name} with {len(evaluation.queries):,} queries")


def _one_run(verb: str, runs: tuple[str, ...], folder: str | None) -> tuple[str, str | Path]:
    """Give the run that is meant, and its project; of a folder it is the newest, and it is said which that is."""
    from karat.core import UsageError
    from karat.projects import find_project, newest_run

    one, *others = dict.fromkeys(runs)
    if others:
        raise UsageError(_which(verb, (one, *others), folder))
    if not Path(one).is_dir():
        return one, folder or find_project(one)
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
    from karat.evaluation import score_run
    from karat.gate import compare_document
    from karat.projects import open_project
    from karat.runs import read_answers, require_golden
    from karat.schema import to_json

    run, folder = _one_run("diff", runs, options["folder"])
    project = open_project(folder)
    path, baseline = _read(project, options)
    answers = read_answers(run, project.golden, say=say)
    require_golden(project.golden, answers.provenance)
    candidate = score_run(project.golden, answers, list(baseline.evaluation.means), unit=project.unit)
    pair = [baseline.evaluation.renamed(path.name), candidate.renamed(Path(run).name)]
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


def _document(path: Path, baseline: Baseline) -> dict[str, Any]:
    evaluation, provenance = baseline.evaluation, baseline.evaluation.provenance
    return {
        "file": str(path), "name": provenance.name, "recorded": baseline.recorded, "forced": baseline.forced,
        "golden": dict(provenance.golden), "fingerprint": provenance.fingerprint, "system": dict(provenance.system),
        "settings": dict(provenance.settings), "queries": len(evaluation.queries), "failed": len(evaluation.failures),
        "means": _numbers(evaluation.means),
        "latency": {stage: _numbers(values) for stage, values in evaluation.latency.items()},
    }  # fmt: skip


def _numbers(table: Mapping[str, float]) -> dict[str, float | None]:
    return {name: None if value != value else value for name, value in table.items()}


def _text(baseline: Baseline) -> str:
    from karat.evaluation import flatten

    evaluation = baseline.evaluation
    rows = [["measure", "mean"], *([printable(name), quantity(value)] for name, value in evaluation.means.items())]
    rows += [
        [f"latency.{name}", quantity(evaluation.latency_of(name))]
        for name in ("p50", "p95", "p99")
        if evaluation.latency
    ]
    day = escaped(baseline.recorded) or "on an unknown day"
    lines = [f"{printable(evaluation.name)}, recorded {day}, {_size(evaluation)}"]
    lines += [f"accepted although it failed its gate: {escaped(baseline.forced)}"] if baseline.forced else []
    system = flatten(evaluation.provenance.system)
    parts = [f"  {escaped(key)}: {escaped(str(value))}" for key, value in system.items()]
    return "\n\n".join(["\n".join(lines), render(rows), "\n".join(parts)]).rstrip()


def _size(evaluation: Evaluation) -> str:
    if not evaluation.has_queries:
        return "means only: no test can be made with it"
    repeats = len(evaluation.repeats)
    return f"{len(evaluation.queries):,} queries" + (f", each asked {repeats} times" if repeats > 1 else "")
