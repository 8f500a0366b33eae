"""``karat power``: how many queries are needed to see a difference, and what those that are there can see."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from karat.cli._progress import say
from karat.cli._table import emit, printable, render

if TYPE_CHECKING:
    from karat.gate import Aim, Reach


@click.command("power", short_help="Tell how many queries it takes to see a difference.")
@click.option("--run", metavar="RUN", help="Take the spread of the differences from this run and --against.")
@click.option("--against", metavar="RUN", help="What --run is compared with.  [default: the project's baseline]")
@click.option("--golden", "folder", metavar="DIR", help="The project.  [default: the folder that --run lies in]")
@click.option(
    "-m", "--measure", "measures", multiple=True, metavar="MEASURE", help="With --run: a measure such as R@5; repeat."
)
@click.option(
    "--effect",
    type=click.FloatRange(min=0, min_open=True),
    default=0.05,
    show_default=True,
    help="The difference of two means that is to be found.",
)
@click.option(
    "--sd",
    type=click.FloatRange(min=0, min_open=True),
    help="Standard deviation of the differences, query by query.  [default: three guesses]",
)
@click.option("--n", type=click.IntRange(min=2), help="So many queries.  [default: those of --run]")
@click.option(
    "--power",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.8,
    show_default=True,
    help="How often a difference that is there should be found.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 0.5, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="How often one may be found that is not there.",
)
@click.option(
    "--sides", type=click.Choice(["1", "2"]), default="2", show_default=True, help="1: only drops, as a gate does."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool, **options: Any) -> None:
    """Tell how many queries are needed to find a difference between two systems, and what a number of them can find.

    All depends on how much the differences vary from query to query. With --run it is measured; without, give --sd, or
    see three guesses: 0.15 for two systems much alike, 0.25 for a usual change, 0.35 for systems that differ.

    Example: karat power --effect 0.03 --sd 0.2 --n 120
    """
    from karat.core import UsageError
    from karat.gate import SPREADS, Aim, reach

    aim = Aim(effect=options["effect"], power=options["power"], alpha=options["alpha"], sides=int(options["sides"]))
    if options["run"] is not None:
        if options["sd"] is not None:
            raise UsageError("--sd is measured with --run; give one of them")
        document = _of_runs(options, aim)
    else:
        for name, key in (("--against", "against"), ("--golden", "folder"), ("--measure", "measures")):
            if options[key]:
                raise UsageError(f"{name} goes with --run")
        spreads = SPREADS if options["sd"] is None else (options["sd"],)
        document = _document(aim, [reach(sd, options["n"], aim) for sd in spreads], "given", [])
    emit(json.dumps(document, allow_nan=False) if as_json else _text(document))


def _of_runs(options: dict[str, Any], aim: Aim) -> dict[str, Any]:
    """Measure the spread: between two runs, or where there is one only, between its repeats."""
    from karat.core import InputError
    from karat.evaluation import require_comparable
    from karat.gate import reach_of_repeats, reach_of_runs
    from karat.projects import baseline_path, find_project, open_project, read_evaluations

    project = open_project(options["folder"] or find_project(options["run"]))
    against = options["against"]
    if against is None and baseline_path(project).exists():
        against = str(baseline_path(project))
    paths = [options["run"]] if against is None else [against, options["run"]]
    subjects = read_evaluations(paths, options["measures"], project=project, say=say)
    names = [evaluation.name for evaluation in subjects.evaluations]
    if against is None:
        found = reach_of_repeats(subjects.evaluations[0], subjects.measures, aim, n=options["n"])
        if all(one.sd is None for one in found):
            raise InputError(
                "there is nothing to compare the run with", source=options["run"],
                hint="name another with --against, record a baseline, or repeat a system that answers by chance",
            )  # fmt: skip
        return _document(aim, found, "repeats", names)
    baseline, candidate = subjects.evaluations
    require_comparable(candidate, baseline)
    if not (baseline.has_queries and candidate.has_queries):
        raise InputError("has means only, and no spread", source=baseline.name, hint="name a run with --against")
    return _document(aim, reach_of_runs(candidate, baseline, subjects.measures, aim, n=options["n"]), "runs", names)


def _document(aim: Aim, rows: Sequence[Reach], source: str, runs: Sequence[str]) -> dict[str, Any]:
    return {
        "effect": aim.effect,
        "power": aim.power,
        "alpha": aim.alpha,
        "sides": aim.sides,
        "spread_from": source,
        "runs": list(runs),
        "rows": [row.to_dict() for row in rows],
        "meaning": _meaning(aim, rows, source),
    }


def _text(document: dict[str, Any]) -> str:
    rows = document["rows"]
    named, sized = any(row["measure"] for row in rows), any(row["n"] for row in rows)
    effect = f"{document['effect']:g}"
    head = [*(["measure"] if named else []), "sd", f"needed for {effect}"]
    table = [[*head, *(["queries", f"power for {effect}", "detectable"] if sized else [])]]
    for row in rows:
        cells = [row["measure"]] if named else []
        cells += [_number(row["sd"], 4), "-" if row["needed"] is None else f"{row['needed']:,}"]
        if sized:
            cells += [f"{row['n']:,}", _number(row["power"], 3), _number(row["detectable"], 4)]
        table.append(cells)
    parts = [render(table), document["meaning"]]
    if document["runs"]:
        parts.insert(0, " against ".join(printable(name, 80) for name in reversed(document["runs"])))
    return "\n\n".join(parts)


def _meaning(aim: Aim, rows: Sequence[Reach], source: str) -> str:
    """Say in one sentence what the table means."""
    known = [row for row in rows if row.sd is not None]
    if not known:
        return "the runs do not differ on any query, and nothing can be planned by them: name another with --against"
    what, sides = ("drop", "one side") if aim.sides == 1 else ("difference", "two sides")
    share = f"{100 * aim.power:g} of 100"
    least = "at least " if source == "repeats" else ""
    needed = _range([row.needed for row in known], "{:,}")
    found = f"find a {what} of {aim.effect:g} (alpha {aim.alpha:g}, {sides})"
    text = f"{share} comparisons {found} with {least}{needed} queries"
    if source == "given":
        text += f", where the differences have an sd of {_range([row.sd for row in known], '{:g}')}"
    seen = [row for row in known if row.power is not None and row.detectable is not None]
    if seen:
        queries = _range([row.n for row in seen], "{:,}")
        chance = _range([min(99, 100 * row.power) for row in seen if row.power is not None], "{:.0f}")
        smallest = _range([row.detectable for row in seen], "{:.2g}")
        text += f"; with {queries} queries {chance} of 100 do, and {share} find one of {smallest}"
    if source == "repeats":
        text += "; this is the noise from one asking to the next, and a change of the system adds to it"
    return text


def _range(values: Sequence[float | None], form: str) -> str:
    found = sorted(value for value in values if value is not None)
    low, high = form.format(found[0]), form.format(found[-1])
    return low if low == high else f"{low} to {high}"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
