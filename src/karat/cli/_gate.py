"""``karat gate``: whether a run may ship."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli._asking import admit_system
from karat.cli._choosing import choose_run
from karat.cli._options import gate_options, run_project_option
from karat.cli._process import keep, tune, tune_imports
from karat.cli._progress import say
from karat.cli._scoring import pop_scoring, scoring_options
from karat.cli._table import emit, style
from karat.core import KaratError
from karat.files import shorten_path

if TYPE_CHECKING:
    from karat.projects.saved_runs import ChosenRun
    from karat.schema import DecisionDocument


@click.command("gate")
@click.argument("run", metavar="[RUN|DIR]", required=False)
@run_project_option
@gate_options
@click.option(
    "--show-policy",
    "shown",
    metavar="[NAME|FILE]",
    is_flag=False,
    flag_value="",
    default=None,
    help="Print the rules of a policy, by default the project's, and decide nothing.",
)
@scoring_options
@click.option(
    "--trial", metavar="FEATURE", help="For agent-graduation: the trial on live traffic that provides sequential_test."
)
@click.option("--store", metavar="FILE", default="karat.db", show_default=True, help="The store of the trial.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same numbers.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the decision, which karat report renders.")
@click.pass_context
def command(context: click.Context, /, run: str | None, **options: Any) -> None:
    """Decide on RUN, a file that karat eval wrote, by the rules of a policy and against a baseline.

    For a project DIR, karat takes its newest complete run.

    The exit code is 0 for pass, 1 for fail, 3 if too many queries failed, and for inconclusive 0 or 4, as the policy
    says. Named policies: default, threshold, fit, beluga, agent, agent-memory, agent-graduation, rig, blocks,
    blocks-acceptance; karat gate --show-policy NAME prints the rules of one.

    Example: karat gate examples/hotel/runs/pipeline-2026-11-16-0a1b2c3d.jsonl --policy threshold
    """
    if options["shown"] is not None:
        _emit_policy(options["folder"] or run, options["shown"] or options["policy"], as_json=options["as_json"])
        return
    if run is None:
        raise click.UsageError("name a run, or a project for its newest run")
    tune_imports()  # to choose a run imports NumPy
    chosen = choose_run(run, options["folder"])
    tune([chosen.path])
    document = _decide(chosen, options)
    code = deliver(document, lambda: emit_decision(document, chosen.path, as_json=options["as_json"]))
    context.exit(code)


def _decide(chosen: ChosenRun, options: dict[str, Any]) -> DecisionDocument:
    """Return the decision on a run; what it was made from is no longer in memory when it is printed."""
    from karat.projects import decide_run, report_document

    result = decide_run(
        chosen,
        scoring=pop_scoring(options),
        policy=options["policy"],
        baseline=options["baseline"],
        elsewhere=_ask_trial(options["store"], options["trial"]),
        seed=options["seed"],
        admit=admit_system,
        say=say,
    )
    if not options["as_json"]:
        keep(result)
    return report_document(result, file=chosen.path.name, brief=not options["as_json"])


def _ask_trial(store: str, feature: str | None) -> dict[str, float]:
    """Return what the trial of a feature says: 1 if it accepts the feature, otherwise 0; nothing if none is named."""
    if feature is None:
        return {}
    from karat.online.trials import accepts_feature

    return {"sequential_test": float(accepts_feature(store, feature))}


def _emit_policy(place: str | None, name: str | None, *, as_json: bool) -> None:
    """Print a policy as it is in the project of a run or folder; a built-in one needs no project."""
    from karat.gate import POLICIES
    from karat.projects import find_project, is_project, open_project, show_policy
    from karat.reports import describe_policy
    from karat.schema import to_json

    project = None
    if place is not None or name not in POLICIES or is_project("."):
        folder = Path(place or ".")
        project = open_project(folder if folder.is_dir() else find_project(folder))
    document = show_policy(project, name)
    emit(to_json(document) if as_json else describe_policy(document, style=style()))


def deliver(document: DecisionDocument, *outputs: Callable[[], None]) -> int:
    """Print and write what a decision is to be shown as, and return the exit code, which is the decision's.

    What cannot be written is reported. It is an error only of a run that would have passed: a failure stays one.
    """
    code: int = document.verdict.exit_code
    for output in outputs:
        try:
            output()
        except KaratError as error:
            say(str(error))
            code = code or error.exit_code
    return code


def emit_decision(document: DecisionDocument, run: Path, *, as_json: bool) -> None:
    """Print a decision, as JSON or for people; ``run`` is the file of the run."""
    from karat.reports import iterate_json, render_text

    if as_json:
        for piece in iterate_json(document):
            emit(piece, nl=False)
    else:
        emit(render_text(document, run=_as_typed(run), style=style()))


def _as_typed(file: Path) -> str:
    """Return a path as a user would type it here."""
    return shlex.quote(str(shorten_path(file.absolute())))
