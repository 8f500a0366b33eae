"""``karat eval``: ask a system every question of a golden set, and score its answers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from karat.cli._asking import (
    ask,
    asking_options,
    finish_sending,
    given_settings,
    naming_options,
    set_parameters,
)
from karat.cli._options import measures_option
from karat.cli._progress import say
from karat.cli._scoring import pop_scoring, scoring_options
from karat.cli._table import emit

if TYPE_CHECKING:
    from karat.projects import AskedRun, Project


_OF_ASKING = ("system", "tenant", "output", "no_cache", "label", "parameters")


@click.command("eval")
@click.argument("folder", default=".", metavar="[DIR]")
@measures_option
@click.option(
    "--system",
    metavar="MODULE:NAME",
    help="Use your own retriever instead of the one in karat.toml, or pipeline for the built-in one.",
)
@click.option(
    "--tenant", metavar="ID", help="Passed to your retriever as company_id; a hit of another tenant is an error."
)
@click.option(
    "--run",
    "run_file",
    metavar="FILE",
    help="Score an existing run instead of asking: one of karat, a trace file, or any run that karat score reads.",
)
@asking_options
@naming_options
@click.option(
    "--success",
    type=float,
    default=1.0,
    show_default=True,
    help="With --repeat: the lowest value that counts as success.",
)
@scoring_options
@click.option(
    "--by",
    metavar="FIELD",
    help="Also show means by category, type, intent, tier, block, or any field of the queries' metadata.",
)
@click.option("-o", "--output", metavar="DIR", help="Where to save the run.  [default: DIR/runs]")
@click.option("--no-cache", is_flag=True, help="Keep no chunks, indexes and embeddings on disk.")
@click.option("--per-query", is_flag=True, help="Also show the values of every query.")
@click.option("--bounds", is_flag=True, help="Show how far unjudged documents in the top k could move each mean.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, in the shape of karat score --json.")
def command(folder: str, **options: Any) -> None:
    """Evaluate retrieval in DIR: a project with karat.toml, or any golden set that karat reads.

    Without --system, the built-in pipeline indexes the documents of the set and answers. karat saves the run as it
    grows. If it is interrupted, repeat the command to continue it, as long as the code of the system is the same. A set
    without judgments is asked and not scored: people judge what its runs return.

    Example: karat eval examples/hotel -m nDCG@10 -m R@5
    """
    from karat.cli._eval_text import evaluation_text
    from karat.evaluation import deepest_cutoff, describe_returned, evaluation_report, find_segments, score_run
    from karat.gate import describe_growth
    from karat.projects import correct_by_labels, is_unjudged, open_project, require_scorable, send_telemetry
    from karat.schema import to_json

    _check_options(options)
    project = set_parameters(open_project(folder, **pop_scoring(options)), options["parameters"])
    if not options["run_file"] and is_unjudged(project.golden):
        _ask_unscored(project, folder, options)
        return
    caveats = require_scorable(project.golden, folder)
    segments = find_segments(project.golden, options["by"]) if options["by"] else {}
    measures = options["measures"] or project.config.eval.measures
    deepest_cutoff(measures or ())  # an unknown measure is reported before anything is asked
    is_old = bool(options["run_file"])
    saved = _read_run(project, options["run_file"], options["k"]) if is_old else _ask(project, options)
    run, run_id = saved.run, saved.path.stem
    keep = {"bounds": options["bounds"], "cache": not options["no_cache"]}
    evaluation = score_run(project.golden, run, measures, **keep, **project.scoring)
    if segments:
        evaluation = replace(evaluation, segments={**evaluation.segments, **segments})
    sending = None if is_old else send_telemetry(project, evaluation, run_id, saved.calls)
    for note in describe_growth(evaluation, "run"):
        say(note)
    caveats = (*caveats, *describe_returned(project.golden, evaluation))
    by_labels = correct_by_labels(project, run, measures or ())
    shown = {
        "per_query": options["per_query"], "success": options["success"], "caveats": caveats, "by_labels": by_labels,
    }  # fmt: skip
    if options["as_json"]:
        emit(to_json(evaluation_report(evaluation, run_id=run_id, **shown)))
    else:
        emit(evaluation_text(evaluation, by=options["by"], **shown))
    finish_sending(sending)


def _ask_unscored(project: Project, folder: str, options: dict[str, Any]) -> None:
    """Make the first run of a new golden set, from which people get what to judge; nothing can be scored yet."""
    from karat.cli._table import escaped
    from karat.core import count_things
    from karat.evaluation import deepest_cutoff, evaluation_report, score_run
    from karat.schema import to_json

    deepest_cutoff(options["measures"] or project.config.eval.measures or ())
    saved = _ask(project, options)
    total, failed = len(saved.run.traces), sum(bool(trace.error) for trace in saved.run.traces)
    said = f"{count_things(total, 'query', 'queries')} asked, {failed:,} failed"
    caveat = f"{said}; nothing is scored: the golden set has no judgment yet"
    if options["as_json"]:
        evaluation = score_run(project.golden, saved.run, ("Judged@10",), **project.scoring)
        emit(to_json(evaluation_report(evaluation, run_id=saved.path.stem, caveats=(caveat,))))
        return
    emit(escaped(caveat))
    runs = len(list(saved.path.parent.glob("*.jsonl*")))
    more = "run a second system, too, which finds what this one misses; " if runs == 1 else ""
    emit(
        f"next: {more}'karat label queue first RUN... --golden {escaped(folder)}' makes a queue of what they "
        "returned, and people judge it in 'karat serve'"
    )


def _check_options(options: dict[str, Any]) -> None:
    """Refuse options that say how to ask if nothing is asked."""
    from karat.core import UsageError

    settings = [name for name in given_settings(options) if name != "k"]  # of another program's run, k can be said
    names = [*settings, *(name for name in _OF_ASKING if options[name])]
    if options["run_file"] and names:
        flags = ", ".join(f"--{name.replace('_', '-').removesuffix('s')}" for name in names)
        raise UsageError(f"{flags} with --run: the run exists already, and nothing is asked")


def _read_run(project: Project, path: str, k: int | None) -> AskedRun:
    """Return an existing run, which may be on an earlier version of the golden set of the project.

    ``k`` says how many hits were asked for, if another program made the run.
    """
    from karat.projects import AskedRun, require_complete
    from karat.projects.saved_runs import find_run
    from karat.runs import read_any_run

    file = find_run(path, golden=project.config.folder, say=say)
    run = read_any_run(file, project.golden, k=k, say=say)
    require_complete(project.golden, run)
    return AskedRun(run=run, path=file)


def _ask(project: Project, options: dict[str, Any]) -> AskedRun:
    return ask(
        project,
        project.settings(options["measures"], **given_settings(options)),
        output=options["output"],
        system=options["system"],
        tenant=options["tenant"],
        label=options["label"],
        cache=not options["no_cache"],
    )
