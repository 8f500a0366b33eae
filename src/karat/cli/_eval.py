"""``karat eval``: ask a system every question of a golden set, and score its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from karat.cli._asking import ask, asking_options, given_settings
from karat.cli._progress import say
from karat.cli._table import bold, emit, escaped, number, printable, render

if TYPE_CHECKING:
    from karat.core import Run
    from karat.evaluation import Evaluation
    from karat.projects import Project
    from karat.schema import RunEvaluation, SegmentScores

_SHOWN = 5


@click.command("eval", short_help="Ask a retrieval system the queries of a golden set, and score it.")
@click.argument("folder", default=".", metavar="[DIR]")
@click.option(
    "-m", "--measure", "measures", multiple=True, metavar="MEASURE", help="A measure such as nDCG@10; can be repeated."
)
@click.option("--system", metavar="MODULE:NAME", help="Your own retriever, instead of the built-in pipeline.")
@click.option(
    "--tenant", metavar="ID", help="Passed to your retriever as company_id; a hit of another tenant is an error."
)
@click.option(
    "--run", "run_file", metavar="FILE", help="Score an existing run instead of asking: of karat, traces, or TREC."
)
@asking_options
@click.option(
    "--success",
    type=float,
    default=1.0,
    show_default=True,
    help="With --repeat: the value from which on a query has succeeded.",
)
@click.option("--unit", type=click.Choice(["document", "target"]), help="What counts as found.  [default: document]")
@click.option("--by", type=click.Choice(["category", "type", "intent", "tier", "block"]), help="Show means by a field.")
@click.option("--output", metavar="DIR", help="Where to save the run.  [default: DIR/runs]")
@click.option("--no-cache", is_flag=True, help="Do not keep embeddings on disk.")
@click.option("--per-query", is_flag=True, help="Show the values of every query, too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, in the shape of karat score --json.")
def command(folder: str, **options: Any) -> None:
    """Evaluate retrieval in DIR: a project with karat.toml, or any golden set that karat reads.

    Without --system the built-in pipeline indexes the documents of the set and answers. The run is saved as it grows,
    and an interrupted run is continued by the same command.

    Example: karat eval examples/hotel -m nDCG@10 -m R@5
    """
    from karat.evaluation import deepest_cutoff, evaluation_document, score_run
    from karat.projects import open_project
    from karat.schema import to_json

    _check_options(options)
    project = open_project(folder)
    measures = options["measures"] or project.config.eval.measures
    deepest_cutoff(measures or ())  # an unknown measure is reported before anything is asked
    run = _read_run(project, options["run_file"]) if options["run_file"] else _ask(project, options)
    evaluation = score_run(project.golden, run, measures, unit=options["unit"] or project.unit)
    report = evaluation_document(evaluation, per_query=options["per_query"], success=options["success"])
    emit(to_json(report) if options["as_json"] else _render(evaluation, report.runs[0], options["by"]))


def _check_options(options: dict[str, Any]) -> None:
    """Refuse options that say how to ask if nothing is asked."""
    from karat.core import UsageError

    names = [*given_settings(options), *(name for name in ("system", "tenant", "output", "no_cache") if options[name])]
    if options["run_file"] and names:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in names)
        raise UsageError(f"{flags} with --run: the run exists already, and nothing is asked")


def _read_run(project: Project, path: str) -> Run:
    """Return an existing run, which has to be on the golden set of the project."""
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


def _render(evaluation: Evaluation, run: RunEvaluation, field: str | None) -> str:
    segments = (run.by or {}).get(field or "", {})
    parts = [
        _render_measures(run),
        _render_wordings(run),
        _render_latency(run),
        _render_segments(segments, field or ""),
    ]
    if run.queries:
        rows = [["query", *run.measures]]
        rows += [[printable(query), *map(number, values.values())] for query, values in run.queries.items()]
        parts.append(render(rows))
    parts.append("\n".join(_list_notes(evaluation, run)))
    return "\n\n".join(part for part in parts if part)


def _render_measures(run: RunEvaluation) -> str:
    noise, trials = run.noise, run.trials
    rows = [["measure", "mean", *(["noise", *trials.columns] if trials else []), "queries"]]
    for name, score in run.measures.items():
        extra = [number(noise[name]), *map(number, trials.measures.get(name, [None, None]))] if noise and trials else []
        rows.append([name, number(score.mean), *extra, f"{score.n}/{score.total}"])
    return render(rows)


def _render_wordings(run: RunEvaluation) -> str:
    if not run.wordings:
        return ""
    rows = [["wording", *run.measures, "queries"]]
    for i, measures in enumerate(run.wordings):
        means = [number(score.mean) for score in measures.values()]
        asked = str(max(score.total for score in measures.values()))
        rows.append([f"paraphrase {i}" if i else "query", *means, asked])
    return render(rows)


def _render_latency(run: RunEvaluation) -> str:
    rows = [["latency (ms)", "p50", "p95", "p99", "mean"]]
    for stage, times in run.latency.items():
        rows.append([printable(stage), *(f"{times[name]:.2f}" for name in ("p50", "p95", "p99", "mean"))])
    return render(rows) if len(rows) > 1 else ""


def _render_segments(segments: Mapping[str, SegmentScores], field: str) -> str:
    rows: list[list[str]] = []
    for value, segment in segments.items():
        scores = list(segment.measures.values())
        rows = rows or [[field, *segment.measures, "queries"]]
        rows.append([printable(value), *(number(score.mean) for score in scores), str(scores[0].total)])
    return render(rows) if rows else ""


def _list_notes(evaluation: Evaluation, run: RunEvaluation) -> list[str]:
    from karat.reports import hints

    notes = []
    if run.failed:
        notes.append(bold(f"{len(run.failed):,} of {len(evaluation.traces):,} questions failed, and count as 0:"))
        notes += [f"  {printable(row.query)}: {escaped(row.error)[:200]}" for row in run.failed[:_SHOWN]]
        notes += ["  ..."] if len(run.failed) > _SHOWN else []
    total = evaluation.scores.total
    if run.unfound:
        names = ", ".join(map(printable, run.unfound[:_SHOWN])) + (", ..." if len(run.unfound) > _SHOWN else "")
        notes.append(f"{len(run.unfound):,} of {total:,} found nothing relevant: {names}")
    notes += hints(evaluation.scores.mean(), len({*run.unfound, *evaluation.failures}), total)
    notes += _note_measures(evaluation, run)
    if evaluation.latency and evaluation.provenance.versions:  # nobody knows what the times of a foreign run mean
        notes.append("latency is around the system only, after a warm-up that is not counted")
    return notes


def _note_measures(evaluation: Evaluation, run: RunEvaluation) -> list[str]:
    """Return notes about cut-offs deeper than the lists, missing values, and changed definitions."""
    from karat.evaluation import deepest_cutoff

    notes = []
    k = evaluation.provenance.settings.get("k")
    for name, score in run.measures.items():
        if k and (depth := deepest_cutoff([name])) > k:
            asked = f"{k} were asked for: --k {depth}"
            # A foreign run does not say how many hits were asked for.
            reason = asked if evaluation.provenance.versions else f"the longest list of the run has {k}"
            notes.append(f"{name} looks at {depth} hits, but {reason}")
        notes += [f"{name}: {count} without a value ({reason})" for reason, count in score.missing.items()]
    definitions = [score.definition for score in run.measures.values() if score.definition]
    if definitions:
        notes.append("computed as " + ", ".join(definitions))
    return notes
