"""``karat eval``: ask a system every question of a golden set, and score what it answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli._table import bold, emit, escaped, printable, render

if TYPE_CHECKING:
    from karat.config import Config
    from karat.core import GoldenSet, Run
    from karat.experiments import Evaluation, Settings

_SHOWN = 5


@click.command("eval", short_help="Run a retrieval system on a golden set, and score it.")
@click.argument("folder", default=".", metavar="[DIR]")
@click.option(
    "-m", "--measure", "measures", multiple=True, metavar="MEASURE", help="A measure such as nDCG@10; repeat."
)
@click.option("--system", metavar="MODULE:NAME", help="Your own retriever, instead of the built-in pipeline.")
@click.option("--run", "run_file", metavar="FILE", help="Score what was answered before: a run that karat eval wrote.")
@click.option("--k", type=click.IntRange(min=1), help="How many hits to ask for.  [default: 10]")
@click.option("--paraphrases", is_flag=True, default=None, help="Ask every paraphrase too; a query counts its mean.")
@click.option("--repeat", type=click.IntRange(min=1), help="Ask everything so many times, to see the noise.")
@click.option("--sample", type=click.IntRange(min=1), help="Ask only so many queries, drawn at random.")
@click.option("--seed", type=int, default=0, show_default=True, help="With --sample: the same seed, the same queries.")
@click.option("--concurrency", type=click.IntRange(min=1), help="How many questions at once.  [default: 1]")
@click.option("--timeout", type=float, help="Seconds after which a query has failed.  [default: 60]")
@click.option("--fail-fast", is_flag=True, help="Stop at the first query that fails.")
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
    from karat import golden
    from karat.config import read_config
    from karat.core import InputError
    from karat.experiments import read_run_file, score_run

    if not Path(folder).exists():
        raise InputError("no such file or folder", source=folder)
    config = read_config(Path(folder))
    found = golden.read(config.golden, config.golden_format, documents=config.documents)
    run = read_run_file(options["run_file"]) if options["run_file"] else _run(found, config, options)
    _same_golden(found, run)
    unit = options["unit"] or config.eval.get("unit", "document")
    evaluation = score_run(found, run, options["measures"] or config.eval.get("measures"), unit=unit)
    if options["as_json"]:
        emit(json.dumps(evaluation.to_dict(per_query=options["per_query"]), allow_nan=False))
    else:
        emit(_text(evaluation, options))


def _same_golden(found: GoldenSet, run: Run) -> None:
    from karat import golden
    from karat.core import InputError

    if run.golden.get("fingerprint") != golden.fingerprint(found):
        raise InputError(
            f"run {run.name} was made on another golden set than {found.name} is now",
            hint="run it again, or score it with the set that it was made on",
        )


def _run(found: GoldenSet, config: Config, options: dict[str, Any]) -> Run:
    from karat.experiments import Settings, make_run
    from karat.systems import adapt, load

    chosen = {name: options[name] if options[name] is not None else config.eval.get(name) for name in _SETTINGS}
    settings = Settings(
        **{name: value for name, value in chosen.items() if value is not None}, fail_fast=options["fail_fast"]
    )
    path = options["system"] or config.eval.get("system")
    sys.path.insert(0, str(Path.cwd()))
    system = load(path) if path else _pipeline(config, options)
    asked = adapt(system, name=path or "pipeline")
    output = Path(options["output"] or config.folder / "runs") / f"{_slug(asked.name)}-{_today()}.jsonl"
    with _progress(found, settings) as progress:
        run = make_run(found, asked, settings, output=output, progress=progress)
    click.echo(f"karat: run saved as {escaped(str(output))}", err=True)
    return run


_SETTINGS = ("k", "paraphrases", "repeat", "sample", "seed", "concurrency", "timeout")


def _pipeline(config: Config, options: dict[str, Any]) -> Any:
    from karat.systems import Pipeline, Stages

    def say(text: str) -> None:
        click.echo(f"karat: {escaped(text)}", err=True)

    cache = None if options["no_cache"] else config.folder / ".karat"
    return Pipeline(Stages.of(config.pipeline), cache=cache, say=say)


def _slug(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name)


def _today() -> str:
    return datetime.now(tz=UTC).strftime("%Y-%m-%d")


@contextmanager
def _progress(found: GoldenSet, settings: Settings) -> Iterator[Callable[[int], None] | None]:
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    queries = min(len(found.queries), settings.sample or len(found.queries))
    wordings = sum(1 + len(q.paraphrases) for q in found.queries) if settings.paraphrases else queries
    with click.progressbar(length=wordings * settings.repeat, label="asking", file=sys.stderr) as bar:
        yield bar.update


def _text(evaluation: Evaluation, options: dict[str, Any]) -> str:
    document = evaluation.to_dict(per_query=options["per_query"])["runs"][0]
    parts = [_summary(document, evaluation.noise), _latency(evaluation)]
    if options["by"] and options["by"] in document.get("by", {}):
        parts.append(_groups(document["by"][options["by"]], options["by"]))
    if options["per_query"]:
        measures = list(document["measures"])
        rows = [["query", *measures]]
        rows += [[printable(q), *(_number(v[m]) for m in measures)] for q, v in document["queries"].items()]
        parts.append(render(rows))
    notes = _notes(evaluation, document)
    return "\n\n".join([part for part in parts if part] + (["\n".join(notes)] if notes else []))


def _summary(document: dict[str, Any], noise: dict[str, float]) -> str:
    rows = [["measure", "mean", *(["noise"] if noise else []), "queries"]]
    for name, cell in document["measures"].items():
        extra = [_number(noise[name])] if noise else []
        rows.append([name, _number(cell["mean"]), *extra, f"{cell['n']}/{cell['total']}"])
    return render(rows)


def _latency(evaluation: Evaluation) -> str:
    rows = [["latency (ms)", "p50", "p95", "p99", "mean"]]
    for stage, times in evaluation.latency.items():
        rows.append([printable(stage), *(f"{value:.2f}" for value in (times.p50, times.p95, times.p99, times.mean))])
    return render(rows) if len(rows) > 1 else ""


def _groups(groups: dict[str, Any], name: str) -> str:
    measures = list(next(iter(groups.values()))["measures"])
    rows = [[name, *measures, "queries"]]
    for value, group in groups.items():
        cells = group["measures"]
        rows.append(
            [printable(value), *(_number(cells[m]["mean"]) for m in measures), str(cells[measures[0]]["total"])]
        )
    return render(rows)


def _notes(evaluation: Evaluation, document: dict[str, Any]) -> list[str]:
    notes = []
    if evaluation.failed:
        notes.append(
            bold(f"{len(evaluation.failed):,} of {len(evaluation.run.traces):,} questions failed, and count as 0:")
        )
        notes += [f"  {printable(t.query)}: {escaped(t.error)[:200]}" for t in evaluation.failed[:_SHOWN]]
    for name, cell in document["measures"].items():
        for reason, count in cell["missing"].items():
            notes.append(f"{name}: {count} without a value ({reason})")
    changed = {name: cell["definition"] for name, cell in document["measures"].items() if "definition" in cell}
    if changed:
        notes.append("computed as " + ", ".join(changed.values()))
    notes.append("latency is around the system only, after a warm-up that is not counted")
    return notes


def _number(value: float | None) -> str:
    return "-" if value is None or value != value else f"{value:.4f}"
