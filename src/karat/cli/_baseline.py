"""``karat baseline``: record, show, compare or rebase the accepted run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli._choosing import choose_run
from karat.cli._progress import say
from karat.cli._scoring import pop_scoring, scoring_options
from karat.cli._table import emit, escaped, printable, quantity, render
from karat.cli._verbs import HintingGroup
from karat.core import count_things
from karat.files import shorten_path

if TYPE_CHECKING:
    from karat.core import Run
    from karat.projects import Project
    from karat.projects.saved_runs import ChosenRun
    from karat.schema import BaselineRebase, BaselineSummary, RebasedQuestion, RebasedValue

_GOLDEN = click.option(
    "--golden", "--project", "folder", metavar="DIR", help="The project.  [default: that of RUN, or the current folder]"
)
_FILE = click.option(
    "--baseline", "file", metavar="FILE", help="The baseline.  [default: baseline.json of the project]"
)
_TEXT = 60
_RUN = click.argument("runs", metavar="[RUN|DIR]", nargs=-1)


@click.group("baseline", cls=HintingGroup)
def command() -> None:
    """The baseline is a file in git with the scores of the last accepted run and the parts of its system.

    Example: karat baseline show
    """


@command.command("update", short_help="Accept a run: it becomes the baseline.")
@_RUN
@_GOLDEN
@_FILE
@click.option("--policy", metavar="NAME|FILE", help="The policy that the run must pass.  [default: that of karat.toml]")
@scoring_options
@click.option(
    "--force",
    metavar="REASON",
    is_flag=False,
    flag_value="",
    help="Accept a run that fails its gate, or got worse; the reason is recorded.",
)
@click.option(
    "--format",
    type=click.Choice(["karat", "fit"]),
    default="karat",
    show_default=True,
    help="Write karat's baseline, or fit's baseline-metrics.json.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON: what was recorded, and the rules that karat suggests."
)
def update(runs: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Make RUN, or the newest complete run of the system of a project DIR, the baseline if it passes its own gate.

    If a run has other parameters or another system than karat.toml, name its file. The run is checked against the
    floors of the policy and against the baseline that it replaces. A run that fails is refused unless you give --force
    a reason to accept it; so is one that got worse by more than is tolerated, even if that may be chance. If the policy
    has no floors, karat proposes floors and must-pass queries, as TOML to paste, which is all that it prints on
    standard output. It writes nothing but the baseline.

    Example: karat baseline update examples/hotel/runs/pipeline-2026-11-16-0a1b2c3d.jsonl --force "first baseline"
    """
    from karat.core import UsageError
    from karat.gate import describe_growth
    from karat.projects import open_project
    from karat.projects.baselines import accept_run, summarise_acceptance
    from karat.runs import read_any_run
    from karat.schema import to_json

    if not runs and options["force"]:
        raise UsageError(f"no RUN is named, and {options['force']!r} is the reason of --force; write the reason last")
    run = _choose("update", runs, options["folder"])
    project = open_project(run.project, **pop_scoring(options))
    candidate = read_any_run(run.path, project.golden, say=say)
    if run.newest:
        _say_outdated(project, candidate)
    acceptance = accept_run(
        project,
        candidate,
        baseline=options["file"],
        policy=options["policy"],
        force=options["force"],
        format=options["format"],
    )
    replaced = acceptance.decision.baseline
    for note in (*describe_growth(acceptance.baseline.evaluation, "run"), *describe_growth(replaced, "baseline")):
        say(note)
    if options["force"] and not acceptance.baseline.forced:
        say("--force was not needed, so that its reason is not recorded")
    for check in acceptance.inconclusive:
        say(f"accepted although inconclusive: {printable(check.name)}: {check.reason}")
    evaluation, proposal = acceptance.baseline.evaluation, acceptance.proposal
    say(
        f"{acceptance.path} now holds {evaluation.name} with "
        f"{count_things(len(evaluation.queries), 'query', 'queries')}"
    )
    if replaced is None and "baseline" not in project.config.gate and options["file"] is None:
        say('with baseline = "baseline.json" in [gate] of karat.toml, the gate also fails where the file is missing')
    if as_json:
        emit(to_json(summarise_acceptance(acceptance)))
    elif proposal is not None:
        place = shorten_path(project.config.folder / "karat.toml")
        say(f"the policy has no floors; for the end of the table [gate] in {place}, if you agree:")
        emit(proposal.toml.rstrip("\n"))


def _say_outdated(project: Project, run: Run) -> None:
    """Report that the newest run of a project was not made by its system as it is now."""
    from karat.cli._asking import admit_system
    from karat.projects.saved_runs import describe_outdated

    admit_system(project)
    if difference := describe_outdated(project, run):
        say(f"the run was made by another system than the current one: {difference}; karat eval asks the current one")


def _choose(verb: str, runs: tuple[str, ...], folder: str | None) -> ChosenRun:
    """Return the run to use; for a folder it is the newest, and a note says which one that is."""
    from karat.core import UsageError

    if not runs:
        raise UsageError("no run is named; name a run, or a project for its newest run")
    path, *others = dict.fromkeys(runs)
    if others:
        raise UsageError(_suggest(verb, (path, *others), folder))
    return choose_run(path, folder, configured=verb == "update")


def _suggest(verb: str, runs: tuple[str, ...], folder: str | None) -> str:
    """Return the message about several runs, with the command for the newest of them if it is known."""
    from karat.core import KaratError
    from karat.projects.saved_runs import newest_run

    problem = f"{count_things(len(runs), 'run was', 'runs were')} given, and one is expected"
    try:
        newest = newest_run(runs, golden=folder)[0].path
    except KaratError:  # they belong to no project, or are not runs
        return f"{problem}; name a run, or a project for its newest run"
    golden = f" --golden {shlex.quote(folder)}" if folder else ""
    return f"{problem}; the newest is {newest}: karat baseline {verb} {shlex.quote(str(newest))}{golden}"


@command.command("show", short_help="Show the baseline.")
@click.argument("directory", metavar="[DIR]", required=False)
@_GOLDEN
@_FILE
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(directory: str | None, as_json: bool, **options: Any) -> None:
    """Show the baseline of the project in DIR: its means and latency, its system, and when it was recorded.

    Example: karat baseline show examples/hotel
    """
    from karat.projects import open_project
    from karat.projects.baselines import read_project_baseline, summarise_baseline
    from karat.schema import to_json

    project = open_project(_choose_folder(directory, options["folder"]))
    path, baseline = read_project_baseline(project, options["file"])
    summary = summarise_baseline(path, baseline)
    emit(to_json(summary) if as_json else _render(summary))


def _choose_folder(directory: str | None, folder: str | None) -> str:
    """Return the project that DIR or --golden names, or the current folder."""
    from karat.core import UsageError

    if directory and folder:
        raise UsageError("DIR and --golden name a project both; keep one of them")
    if directory and not Path(directory).is_dir():
        raise UsageError(f"{directory} is not a folder; name the project, or the baseline with --baseline FILE")
    return directory or folder or "."


@command.command("diff", short_help="Show what changed since the baseline, without a decision.")
@_RUN
@_GOLDEN
@_FILE
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def diff(runs: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Compare RUN, or the newest complete run of a project DIR, with the baseline, without a decision.

    Example: karat baseline diff examples/hotel/runs/pipeline-2026-11-16-0a1b2c3d.jsonl
    """
    from karat.cli._compare_text import comparison_text
    from karat.projects import open_project
    from karat.projects.baselines import diff_baseline
    from karat.runs import read_any_run
    from karat.schema import to_json

    run = _choose("diff", runs, options["folder"])
    project = open_project(run.project)
    candidate = read_any_run(run.path, project.golden, say=say)
    comparison = diff_baseline(project, candidate, name=run.path.name, baseline=options["file"])
    emit(to_json(comparison) if as_json else comparison_text(comparison))


@command.command("rebase", short_help="Update the baseline to the current golden set.")
@click.argument("directory", metavar="[DIR]", required=False)
@_GOLDEN
@_FILE
@click.option("--from", "run", metavar="RUN", help="Take the new questions from a run of the same system.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing.")
@click.option(
    "--force",
    metavar="REASON",
    is_flag=False,
    flag_value="",
    help="Drop more than half of the questions; the reason is recorded.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def rebase(directory: str | None, run: str | None, dry_run: bool, as_json: bool, **options: Any) -> None:
    """Update the baseline of the project in DIR to its current golden set, and show what that changes.

    karat scores the stored lists again with today's judgments. It drops questions that are no longer in the set. New
    ones have no scores until the next update, unless --from names a run that was asked them.

    Example: karat baseline rebase examples/hotel --dry-run
    """
    from karat.projects import open_project
    from karat.projects.baselines import rebase_baseline, rebase_document
    from karat.projects.saved_runs import find_run
    from karat.runs import read_any_run
    from karat.schema import to_json

    project = open_project(_choose_folder(directory, options["folder"]))
    path = None if run is None else find_run(run, golden=project.config.folder, say=say)
    candidate = None if path is None else read_any_run(path, project.golden, say=say)
    result = rebase_baseline(
        project, baseline=options["file"], run=candidate, write=not dry_run, force=options["force"]
    )
    document = rebase_document(result, project.golden)
    emit(to_json(document) if as_json else _render_rebase(document))
    if not result.is_needed:
        say(f"{result.path} is up to date")
    elif result.written:
        say(f"{result.path} now fits the current golden set; review the change before you commit it")
    else:
        say(f"{result.path} was not changed (--dry-run)")


def _render_rebase(document: BaselineRebase) -> str:
    """Show a rebase as a diff: removed questions with a minus, new ones with a plus, changed scores with both."""
    versions = [_name_set(golden) for golden in (document.was, document.golden)]
    count = document.queries
    lines = [f"golden set {versions[0]} -> {versions[1]}, questions with scores {count.before:,} -> {count.after:,}"]
    lines += [f"- {_describe(question)}" for question in document.removed]
    lines += [f"+ {_describe(question)}" for question in document.added]
    for question in document.rejudged:
        stale = f"; old score of {', '.join(map(printable, question.stale))}" if question.stale else ""
        lines.append(f"~ {_describe(question, 'the same scores', both=True)}{stale}")
    lines += [f"! {printable(query)}: a judged document changed" for query in document.documents]
    rows = [["measure", "before", "after", "change"]]
    for name, value in document.means.items():
        both = value.before is not None and value.after is not None
        change = f"{(value.after or 0) - (value.before or 0):+.4f}" if both else "-"
        rows.append([printable(name), _number(value.before), _number(value.after), change])
    return "\n\n".join(["\n".join(lines), render(rows)])


def _describe(question: RebasedQuestion, without: str = "no scores", *, both: bool = False) -> str:
    """Return a question with its values; with ``both`` those before and after, also where there is only one of them."""
    text = f" {printable(question.text, _TEXT)}" if question.text else ""
    values = ", ".join(f"{printable(name)} {_change(value, both)}" for name, value in question.measures.items())
    return f"{printable(question.query)}{text}: {values or without}"


def _change(value: RebasedValue, both: bool) -> str:
    numbers = [number for number in (value.before, value.after) if both or number is not None]
    return " -> ".join("none" if number is None else _number(number) for number in numbers) or "-"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _name_set(golden: Mapping[str, Any]) -> str:
    parts = [golden.get("name"), golden.get("version"), str(golden.get("fingerprint") or "unknown")[:15]]
    return escaped(" ".join(str(part) for part in parts if part))


def _render(summary: BaselineSummary) -> str:
    from karat.evaluation import flatten

    rows = [["measure", "mean"], *([printable(name), quantity(value)] for name, value in summary.means.items())]
    times = summary.latency.get("total", {})
    rows += [[f"latency.{name} (ms)", quantity(times.get(name))] for name in ("p50", "p95", "p99") if summary.latency]
    day = escaped(summary.recorded) or "on an unknown day"
    lines = [f"{printable(summary.name)}, recorded {day}, {_describe_size(summary)}"]
    if summary.rebased:
        lines.append(f"brought to a later version of the golden set on {escaped(summary.rebased)}")
    if summary.shrunk:
        lines.append(f"rebased although it lost many questions: {escaped(summary.shrunk)}")
    lines += [f"accepted although it did not pass its gate: {escaped(summary.forced)}"] if summary.forced else []
    lines += [f"accepted although inconclusive: {escaped(reason)}" for reason in summary.inconclusive]
    parts = [f"  {escaped(key)}: {escaped(str(value))}" for key, value in flatten(summary.system).items()]
    return "\n\n".join(["\n".join(lines), render(rows), "\n".join(parts)]).rstrip()


def _describe_size(summary: BaselineSummary) -> str:
    if not summary.queries:
        return "means only, which cannot be tested"
    return count_things(summary.queries, "query", "queries") + (
        f", each asked {summary.repeats} times" if summary.repeats > 1 else ""
    )
