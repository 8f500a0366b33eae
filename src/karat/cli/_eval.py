"""``karat eval``: ask a system every question of a golden set, and score what it answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from karat.cli._asking import ask, asking_options, given_settings
from karat.cli._progress import say
from karat.cli._table import bold, emit, escaped, number, printable, render

if TYPE_CHECKING:
    from karat.core import Run
    from karat.evaluation import Evaluation
    from karat.projects import Project

_SHOWN = 5


@click.command("eval", short_help="Run a retrieval system on a golden set, and score it.")
@click.argument("folder", default=".", metavar="[DIR]")
@click.option(
    "-m", "--measure", "measures", multiple=True, metavar="MEASURE", help="A measure such as nDCG@10; repeat."
)
@click.option("--system", metavar="MODULE:NAME", help="Your own retriever, instead of the built-in pipeline.")
@click.option(
    "--tenant", metavar="ID", help="Given to your retriever as company_id; a hit of another tenant is an error."
)
@click.option(
    "--run", "run_file", metavar="FILE", help="Score answers that are there: a run of karat, traces, or TREC."
)
@asking_options
@click.option(
    "--success", type=float, default=1.0, show_default=True, help="With --repeat: a query with so much succeeds."
)
@click.option("--unit", type=click.Choice(["document", "target"]), help="What counts as found.  [default: document]")
@click.option("--by", type=click.Choice(["category", "type", "intent", "tier", "block"]), help="Show means by a field.")
@click.option("--output", metavar="DIR", help="Where the run is kept.  [default: DIR/runs]")
@click.option("--no-cache", is_flag=True, help="Keep no embeddings on disk.")
@click.option("--per-query", is_flag=True, help="Show every query's values too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, in the shape of karat score --json.")
def command(folder: str, **options: Any) -> None:
    """Evaluate retrieval in DIR: a project with karat.toml, or any golden set that karat reads.

    Without --system the built-in pipeline indexes the documents of the set and answers. The run is saved as it grows;
    one that was interrupted goes on where it was.

    Example: karat eval examples/hotel -m nDCG@10 -m R@5
    """
    from karat.evaluation import deepest_cutoff, evaluation_document, score_run
    from karat.projects import open_project

    _check_options(options)
    project = open_project(folder)
    wanted = options["measures"] or project.config.eval.measures
    deepest_cutoff(wanted or ())  # a measure that does not exist is told before anything is asked
    run = _answers(project, options["run_file"]) if options["run_file"] else _ask(project, options)
    unit = options["unit"] or project.unit
    evaluation = score_run(project.golden, run, wanted, unit=unit)
    if options["as_json"]:
        emit(
            json.dumps(
                evaluation_document(evaluation, per_query=options["per_query"], success=options["success"]),
                allow_nan=False,
            )
        )
    else:
        emit(_text(evaluation, options))


def _check_options(options: dict[str, Any]) -> None:
    """Refuse the options of asking when nothing is asked."""
    from karat.core import UsageError

    given = [*given_settings(options), *(name for name in ("system", "tenant", "output", "no_cache") if options[name])]
    if options["run_file"] and given:
        named = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UsageError(f"{named} with --run: the answers are there already, and nothing is asked")


def _answers(project: Project, path: str) -> Run:
    """Read what was answered before, on this golden set."""
    from karat.runs import read_answers, require_golden

    run = read_answers(path, project.golden, say=say)
    require_golden(project.golden, run.provenance)
    return run


def _ask(project: Project, options: dict[str, Any]) -> Run:
    return ask(
        project,
        project.settings(options["measures"], **given_settings(options)),
        output=options["output"],
        system=options["system"],
        tenant=options["tenant"],
        cache=not options["no_cache"],
    )


def _text(evaluation: Evaluation, options: dict[str, Any]) -> str:
    from karat.evaluation import evaluation_document

    document = evaluation_document(evaluation, per_query=options["per_query"], success=options["success"])["runs"][0]
    parts = [_summary(document), _wordings(document), _latency(evaluation)]
    if options["by"] and options["by"] in document.get("by", {}):
        parts.append(_groups(document["by"][options["by"]], options["by"]))
    if options["per_query"]:
        measures = list(document["measures"])
        rows = [["query", *measures]]
        rows += [[printable(q), *(number(v[m]) for m in measures)] for q, v in document["queries"].items()]
        parts.append(render(rows))
    notes = _notes(evaluation, document)
    return "\n\n".join([part for part in parts if part] + (["\n".join(notes)] if notes else []))


def _summary(document: dict[str, Any]) -> str:
    noise, trials = document.get("noise", {}), document.get("trials", {})
    rows = [["measure", "mean", *(["noise", *trials.get("columns", ())] if noise else []), "queries"]]
    for name, cell in document["measures"].items():
        extra = [number(noise[name]), *map(number, trials["measures"].get(name, [None, None]))] if noise else []
        rows.append([name, number(cell["mean"]), *extra, f"{cell['n']}/{cell['total']}"])
    return render(rows)


def _wordings(document: dict[str, Any]) -> str:
    wordings = document.get("wordings", [])
    rows = [["wording", *document["measures"], "queries"]]
    for place, cells in enumerate(wordings):
        means = [number(cell["mean"]) for cell in cells.values()]
        asked = str(max(cell["total"] for cell in cells.values()))
        rows.append([f"paraphrase {place}" if place else "query", *means, asked])
    return render(rows) if wordings else ""


def _latency(evaluation: Evaluation) -> str:
    rows = [["latency (ms)", "p50", "p95", "p99", "mean"]]
    for stage, times in evaluation.latency.items():
        rows.append(
            [printable(stage), *(f"{value:.2f}" for value in (times["p50"], times["p95"], times["p99"], times["mean"]))]
        )
    return render(rows) if len(rows) > 1 else ""


def _groups(groups: dict[str, Any], name: str) -> str:
    measures = list(next(iter(groups.values()))["measures"])
    rows = [[name, *measures, "queries"]]
    for value, group in groups.items():
        cells = group["measures"]
        rows.append([printable(value), *(number(cells[m]["mean"]) for m in measures), str(cells[measures[0]]["total"])])
    return render(rows)


def _notes(evaluation: Evaluation, document: dict[str, Any]) -> list[str]:
    from karat.evaluation import deepest_cutoff
    from karat.reports import hints

    notes = []
    failed, unfound = document["failed"], document["unfound"]
    if failed:
        notes.append(bold(f"{len(failed):,} of {len(evaluation.traces):,} questions failed, and count as 0:"))
        notes += [f"  {printable(row['query'])}: {escaped(row['error'])[:200]}" for row in failed[:_SHOWN]]
        notes += ["  ..."] if len(failed) > _SHOWN else []
    if unfound:
        shown = ", ".join(map(printable, unfound[:_SHOWN]))
        more = ", ..." if len(unfound) > _SHOWN else ""
        notes.append(f"{len(unfound):,} of {evaluation.scores.total:,} found nothing relevant: {shown}{more}")
    without = {*unfound, *evaluation.failures}
    notes += hints(evaluation.scores.mean(), len(without), evaluation.scores.total)
    k = evaluation.provenance.settings.get("k")
    for name, cell in document["measures"].items():
        if k and (depth := deepest_cutoff([name])) > k:
            asked = f"{k} were asked for: --k {depth}"  # a run from elsewhere does not say for how many
            reason = asked if evaluation.provenance.versions else f"the longest list of the run has {k}"
            notes.append(f"{name} looks at {depth} hits, but {reason}")
        for reason, count in cell["missing"].items():
            notes.append(f"{name}: {count} without a value ({reason})")
    changed = {name: cell["definition"] for name, cell in document["measures"].items() if "definition" in cell}
    if changed:
        notes.append("computed as " + ", ".join(changed.values()))
    if evaluation.latency and evaluation.provenance.versions:  # who made a run elsewhere knows what its times are
        notes.append("latency is around the system only, after a warm-up that is not counted")
    return notes
