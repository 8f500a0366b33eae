"""``karat power``: how many queries are needed to find a difference, and what a number of queries can find."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from karat.cli._options import load_named_measures
from karat.cli._progress import Progress, say
from karat.cli._table import emit, printable, render
from karat.core import count_things

if TYPE_CHECKING:
    from karat.schema import PowerPlan


@click.command("power")
@click.argument("place", metavar="[DIR]", required=False)
@click.option("--run", metavar="RUN", help="Measure the spread of the differences between this run and --against.")
@click.option(
    "--against", metavar="RUN", help="The run or baseline to compare --run with.  [default: the project's baseline]"
)
@click.option(
    "--golden",
    "--project",
    "folder",
    metavar="DIR",
    help="The same as DIR.  [default: the folder that --run is in, or the current one]",
)
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="MEASURE",
    callback=load_named_measures,
    help="With --run: a measure such as R@5; can be repeated.",
)
@click.option(
    "--effect",
    type=click.FloatRange(min=0, min_open=True),
    default=0.05,
    show_default=True,
    help="The difference between two means to find.",
)
@click.option(
    "--sd",
    type=click.FloatRange(min=0, min_open=True),
    help="Standard deviation of the differences, query by query.  [default: three guesses]",
)
@click.option(
    "-n", "--n", type=click.IntRange(min=2), help="The number of queries.  [default: that of --run, or of the project]"
)
@click.option(
    "--power",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.8,
    show_default=True,
    help="How often an existing difference should be found.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 0.5, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="How often a difference may be found where there is none.",
)
@click.option(
    "--sides", type=click.Choice(["1", "2"]), default="2", show_default=True, help="1: only drops, as a gate does."
)
@click.option("--gate", is_flag=True, help="Simulate how often the project's gate is wrong, from its baseline.")
@click.option(
    "--policy", metavar="NAME|FILE", help="With --gate: a policy by name, or a TOML file.  [default: the project's]"
)
@click.option(
    "--runs",
    type=click.IntRange(20, 10_000),
    default=200,
    show_default=True,
    help="With --gate: how many runs to simulate.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool, place: str | None, **options: Any) -> None:
    """Plan how many queries are needed to find a difference between two systems, and what a number of them can find.

    That depends on how much the differences vary from query to query. --run measures it; otherwise pass --sd, or see
    three guesses: 0.15 for two similar systems, 0.25 for a usual change, 0.35 for very different systems.

    In a project, or with DIR, the number of queries is that of its golden set.

    With --gate, karat simulates runs from the scores of the project's baseline and decides on them by its policy. It
    shows how many fail although nothing changed except by chance, and how many are caught if some queries lost their
    answers.

    Example: karat power --effect 0.03 --sd 0.2 --n 120
    """
    from karat.core import UsageError

    if place is not None:
        if options["folder"] is not None:
            raise UsageError(f"the project is {place} or {options['folder']}; name one")
        options["folder"] = place
    if options.pop("gate"):
        _print_gate(as_json, **options)
        return
    from karat.gate.power import Aim
    from karat.projects import is_project, plan_power
    from karat.schema import to_json

    if options["run"] is not None and options["sd"] is not None:
        raise UsageError("--sd is measured with --run; give one of them")
    if options["policy"] is not None:
        raise UsageError("--policy goes with --gate")
    for name, key in (("--against", "against"), ("--measure", "measures")):
        if options["run"] is None and options[key]:
            raise UsageError(f"{name} goes with --run")
    if options["run"] is None and options["folder"] is None and is_project("."):
        options["folder"] = "."
    plan = plan_power(
        options["run"],
        Aim(effect=options["effect"], power=options["power"], alpha=options["alpha"], sides=int(options["sides"])),
        sd=options["sd"],
        n=options["n"],
        against=options["against"],
        golden=options["folder"],
        measures=options["measures"],
        say=say,
    )
    emit(to_json(plan) if as_json else _text(plan))


def _print_gate(as_json: bool, **options: Any) -> None:
    """Print how often the project's gate is wrong."""
    from karat.core import UsageError
    from karat.projects import plan_gate_power
    from karat.schema import to_json

    for name, key in (("--against", "against"), ("--measure", "measures"), ("--sd", "sd"), ("--n", "n")):
        if options[key]:
            raise UsageError(f"{name} does not go with --gate, which simulates the project's baseline and policy")
    with Progress() as progress:
        plan = plan_gate_power(
            options["folder"] or ".",
            policy=options["policy"],
            run=options["run"],
            runs=options["runs"],
            say=progress.say,
            progress=progress,
        )
    emit(to_json(plan) if as_json else _gate_text(plan))


def _gate_text(plan: PowerPlan) -> str:
    assert plan.gate is not None
    table = [["what happened", "fail", "inconclusive", "pass"]]
    for rate in (plan.gate.noise, *plan.gate.losses):
        cause = f"{rate.lost} of {plan.gate.n:,} queries lost" if rate.lost else "nothing but chance"
        table.append([cause, *(f"{100 * share:.1f} %" for share in (rate.fail, rate.inconclusive, rate.passed))])
    head = f"policy {printable(plan.gate.policy)}, {count_things(plan.gate.runs, 'simulated run')} for each line"
    return "\n\n".join([head, render(table), plan.meaning])


def _text(plan: PowerPlan) -> str:
    named, sized = any(row.measure for row in plan.rows), any(row.n for row in plan.rows)
    effect = f"{plan.effect:g}"
    head = [*(["measure"] if named else []), "sd", f"needed for {effect}"]
    table = [[*head, *(["queries", f"power for {effect}", "detectable"] if sized else [])]]
    for row in plan.rows:
        cells = [row.measure or "-"] if named else []
        cells += [_number(row.sd, 4), "-" if row.needed is None else f"{row.needed:,}"]
        if sized:
            cells += [f"{row.n:,}", _number(row.power, 3), _number(row.detectable, 4)]
        table.append(cells)
    parts = [render(table), plan.meaning]
    if plan.runs:
        parts.insert(0, " against ".join(printable(name, 80) for name in reversed(plan.runs)))
    return "\n\n".join(parts)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
