"""``karat sweep``: try many variants of a configuration, and say which of them may ship."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli._asking import importable
from karat.cli._progress import Progress, say
from karat.cli._table import bold, coloured, emit, escaped, number, printable, render

if TYPE_CHECKING:
    from karat.experiments import Sweep, Swept, Trial

_WIDTH = 60  # of a name
_COLOURS = {"ACCEPTED": "green", "REJECTED": "red"}


@click.command("sweep", short_help="Try many variants of a configuration.")
@click.argument("file", metavar="FILE")
@click.option("--policy", metavar="NAME|FILE", help="The policy of the gate.  [default: that of FILE or karat.toml]")
@click.option("--baseline", metavar="FILE", help="What the variants are held against.  [default: the project's]")
@click.option("--objective", metavar="MEASURE", help="Accept only what is better by this measure.")
@click.option("--require-gain", is_flag=True, help="Accept only what is better by the objective, or the first measure.")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="Refuse more variants.")
@click.option("--dry-run", is_flag=True, help="Only list the variants.")
@click.option("--again", is_flag=True, help="Ask anew, although a run of the same variant is there.")
@click.option("--output", metavar="DIR", help="Where the runs are kept.  [default: runs of the project]")
@click.option("--log", metavar="FILE", help="Where the results are added.  [default: experiments.json of the project]")
@click.option("--no-cache", is_flag=True, help="Keep no embeddings on disk; then each variant embeds all.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the tests: the same seed, the same numbers.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(context: click.Context, /, file: str, **options: Any) -> None:
    """Try the variants of FILE, a grid or a list of changes to karat.toml, and hold each against the baseline.

    A variant is ACCEPTED when it is shown to be not worse, and better where that is asked for, after correction for
    the number of variants. One that was interrupted goes on where it was when the same is called again.

    Example: karat sweep sweep.toml --objective nDCG@5
    """
    from karat.experiments import SweepSettings, read_sweep, run_sweep, sweep_document

    sweep = _chosen(read_sweep(file, limit=options["limit"]), options)
    if options["dry_run"]:
        emit(_listed(sweep, as_json=options["as_json"]))
        return
    importable(sweep.project)
    settings = SweepSettings(
        baseline=options["baseline"],
        runs=None if options["output"] is None else Path(options["output"]),
        log=None if options["log"] is None else Path(options["log"]),
        again=options["again"],
        cache=not options["no_cache"],
        seed=options["seed"],
    )
    try:
        # Whatever a system prints is none of the results.
        with Progress() as progress, redirect_stdout(sys.stderr):
            swept = run_sweep(sweep, settings, say=lambda text: _note(progress, text), progress=progress)
    except KeyboardInterrupt:
        say("interrupted; the same command goes on where this one was")
        raise
    emit(json.dumps(sweep_document(swept), allow_nan=False) if options["as_json"] else _text(swept))
    context.exit(3 if all(trial.error for trial in swept.trials) else 0)


def _note(progress: Progress, text: str) -> None:
    """Say something on a line of its own: a bar that is shown ends before it."""
    progress.__exit__()
    say(text)


def _chosen(sweep: Sweep, options: dict[str, Any]) -> Sweep:
    """Let the command line have the last word."""
    from karat.experiments import objective_name

    if options["policy"] is not None:
        sweep = replace(sweep, policy=options["policy"])
    if options["objective"] is not None:
        sweep = replace(sweep, objective=objective_name(options["objective"]), require_gain=True)
    return replace(sweep, require_gain=True) if options["require_gain"] else sweep


def _listed(sweep: Sweep, *, as_json: bool) -> str:
    if as_json:
        variants = [{"name": one.name, "config_changes": dict(one.changes)} for one in sweep.variants]
        return json.dumps({"project": str(sweep.project), "base": dict(sweep.base), "variants": variants})
    names = [f"  {escaped(one.name)}" for one in sweep.variants]
    return "\n".join([f"{len(names):,} variants of {escaped(str(sweep.project))}", *names])


def _text(swept: Swept) -> str:
    """Give what came of a sweep as a terminal shows it."""
    parts = [_table(swept), "\n".join(map(_reason, swept.trials)), _front(swept), _summary(swept)]
    return "\n\n".join(part for part in parts if part)


def _table(swept: Swept) -> str:
    measures, objective = swept.measures, swept.objective.measure
    rows = [["variant", *measures, f"delta {objective}", "95 % interval", "p", "p95 ms", "verdict"]]
    if swept.baseline is not None:
        before = swept.baseline.evaluation
        means = [number(before.means.get(name)) for name in measures]
        rows.append(["baseline", *means, "-", "-", "-", _time(before.latency_of("p95")), "-"])
    rows += [_row(trial, measures) for trial in swept.trials]
    head, *lines = render(rows).split("\n")
    return "\n".join([head, *map(_with_colour, lines)])


def _row(trial: Trial, measures: tuple[str, ...]) -> list[str]:
    change, evaluation = trial.claims.change, trial.evaluation
    delta = "-" if change is None else f"{change.difference:+.4f}"
    known = change is not None and change.low is not None and change.high is not None
    return [
        printable(trial.variant.name, _WIDTH),
        *(number(evaluation.means.get(name) if evaluation else None) for name in measures),
        delta,
        f"{change.low:+.3f} to {change.high:+.3f}" if change and known else "-",
        "-" if trial.judged.corrected is None else f"{trial.judged.corrected:.4f}",
        _time(trial.latency),
        "failed" if trial.error else trial.judged.verdict,
    ]


def _with_colour(line: str) -> str:
    """Colour the verdict, which stands last, when the columns are aligned."""
    rest, _, verdict = line.rpartition(" ")
    return f"{rest} {coloured(verdict, _COLOURS[verdict])}" if verdict in _COLOURS else line


def _time(value: float | None) -> str:
    return "-" if value is None or value != value else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _reason(trial: Trial) -> str:
    judged = trial.judged
    word = coloured(judged.verdict, _COLOURS[judged.verdict])
    return f"{word}  {printable(trial.variant.name, _WIDTH)}: {escaped(judged.reason)}"


def _front(swept: Swept) -> str:
    """Show quality beside latency, the fastest first, with a mark where no other is as good and as fast."""
    there = [trial for trial in swept.trials if trial.latency is not None]
    measure = swept.objective.measure
    if len(there) < 2:
        return ""
    rows = [["quality and latency", measure, "p95 ms", "best"]]
    for trial in sorted(there, key=lambda one: one.latency or 0.0):
        assert trial.evaluation is not None
        value = number(trial.evaluation.mean(measure))
        rows.append([printable(trial.variant.name, _WIDTH), value, _time(trial.latency), "*" if trial.pareto else ""])
    return render(rows)


def _summary(swept: Swept) -> str:
    accepted = sum(trial.judged.verdict == "ACCEPTED" for trial in swept.trials)
    ids = [trial.id for trial in swept.trials]
    gain = f" and better by {swept.objective.measure}" if swept.objective.required else ""
    lines = [
        bold(f"{accepted} of {len(swept.trials):,} accepted: not worse by policy {printable(swept.policy.name)}{gain}")
    ]
    if swept.tested > 1:
        lines.append(f"p is corrected for {swept.tested:,} variants (Holm); intervals are not")
    elif not swept.tested and swept.baseline is not None:
        lines.append("the policy makes no test: of many variants some pass it by chance")
    if before := sum(trial.before for trial in swept.trials):
        lines.append(f"{before:,} of the latencies were measured earlier, under another load; --again measures anew")
    if swept.unreached:
        named = ", ".join(map(printable, swept.unreached))
        lines.append(f"the baseline itself is below the floors of {named}: to be accepted a variant has to reach them")
    if swept.earlier:
        lines.append(
            f"{swept.earlier:,} other variant{'s were' if swept.earlier > 1 else ' was'} held against this baseline "
            "before, and not corrected for"
        )
    named = escaped(ids[0] if len(ids) == 1 else f"{ids[0]} to {ids[-1]}")
    lines.append(f"{escaped(str(swept.log))} has them as {named}")
    return "\n".join(lines)
