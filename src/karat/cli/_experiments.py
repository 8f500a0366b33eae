"""``karat experiments``: what was tried, and what came of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli._table import bold, coloured, emit, escaped, printable, render

if TYPE_CHECKING:
    from karat.experiments import Experiment

_LOG = click.option(
    "--log", metavar="FILE|DIR", default=".", help="The log, or its folder.  [default: experiments.json here]"
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_COLOURS = {"ACCEPTED": "green", "REJECTED": "red"}
_SHOWN = 4  # columns of results
_SIX = ("id", "date", "description", "config_changes", "results", "verdict")


@click.group("experiments", short_help="List, show or compare what was tried.")
def command() -> None:
    """Read experiments.json, to which karat sweep adds what it tried; one of source 000 will do too.

    Example: karat experiments list
    """


@command.command("list", short_help="List all experiments.")
@_LOG
@click.option("--accepted", is_flag=True, help="Only those that were accepted.")
@_JSON
def list_(log: str, accepted: bool, as_json: bool) -> None:
    """List the experiments of a log in their order, with results and verdicts.

    Example: karat experiments list --accepted
    """
    from karat.experiments import read_log

    found = [one for one in read_log(_path(log)) if not accepted or one.verdict == "ACCEPTED"]
    emit(_dump({"experiments": [dict(one.record) for one in found]}) if as_json else _list(found))


@command.command("show", short_help="Show one experiment.")
@click.argument("id_", metavar="ID")
@_LOG
@_JSON
def show(id_: str, log: str, as_json: bool) -> None:
    """Show the experiment ID: what was changed, what it scored, and why it was accepted or rejected.

    Example: karat experiments show exp-001
    """
    (found,) = _found(log, id_)
    emit(_dump(dict(found.record)) if as_json else _show(found))


@command.command("diff", short_help="Compare two experiments.")
@click.argument("first", metavar="ID")
@click.argument("second", metavar="ID")
@_LOG
@_JSON
def diff(first: str, second: str, log: str, as_json: bool) -> None:
    """Compare two experiments: in which keys of the configuration they differ, and in which results.

    Example: karat experiments diff exp-001 exp-002
    """
    before, after = _found(log, first, second)
    keys = _differing(before.changes, after.changes)
    results = {name: (before.results.get(name), after.results.get(name)) for name in _names([before, after])}
    if as_json:
        document = {
            "experiments": [before.id, after.id],
            "config_changes": {key: {"first": one, "second": other} for key, (one, other) in keys.items()},
            "results": {
                name: {"first": one, "second": other, "difference": _minus(other, one)}
                for name, (one, other) in results.items()
            },
            "verdicts": [before.record.get("verdict"), after.record.get("verdict")],
        }
        emit(_dump(document))
        return
    rows = [["changed", before.id, after.id], *([key, _value(a), _value(b)] for key, (a, b) in keys.items())]
    parts = [_printed(rows) if keys else "the same configuration"]
    table = [["result", before.id, after.id, "delta"]]
    table += [[name, _number(a), _number(b), _signed(_minus(b, a))] for name, (a, b) in results.items()]
    emit("\n\n".join([*parts, _printed(table), "\n".join(map(_verdict, (before, after)))]))


def _path(log: str) -> Path:
    from karat.experiments import LOG

    return Path(log) / LOG if Path(log).is_dir() else Path(log)


def _found(log: str, *ids: str) -> list[Experiment]:
    from karat.experiments import find_experiment, read_log

    path = _path(log)
    known = read_log(path)
    return [find_experiment(known, one, str(path)) for one in ids]


def _dump(document: Any) -> str:
    return json.dumps(document, allow_nan=False)


def _names(experiments: list[Experiment]) -> list[str]:
    return list(dict.fromkeys(name for one in experiments for name in one.results))


def _list(found: list[Experiment]) -> str:
    """Give a table with the results that most experiments have."""
    if not found:
        return "no experiment"
    names = _names(found)
    common = sorted(names, key=lambda name: -sum(name in one.results for one in found))[:_SHOWN]
    shown = [name for name in names if name in common]
    rows = [["id", "date", "description", *shown, "verdict"]]
    for one in found:
        results = [_number(one.results.get(name)) for name in shown]
        rows.append([one.id, one.date or "-", one.description or _changed(one), *results, one.verdict or "-"])
    rest = ", ".join(printable(name) for name in names if name not in shown)
    return _printed(rows, left=3) + (f"\n\nnot shown: {rest}; karat experiments show ID has them" if rest else "")


def _show(one: Experiment) -> str:
    from karat.evaluation import flatten

    head = f"{bold(escaped(one.id))}  {escaped(one.date)}  {escaped(one.description)}".rstrip()
    changes = [["changed", "value"], *([key, _value(value)] for key, value in one.changes.items())]
    results = [["result", "value"], *([name, _number(value)] for name, value in one.results.items())]
    rest = flatten({key: value for key, value in one.record.items() if key not in _SIX})
    more = [f"  {escaped(key)}: {escaped(_value(value))}" for key, value in rest.items()]
    parts = [head, _printed(changes) if one.changes else "", _printed(results) if one.results else "", _verdict(one)]
    return "\n\n".join(part for part in (*parts, "\n".join(more)) if part)


def _printed(rows: list[list[str]], *, left: int = 1) -> str:
    return render([[printable(cell, 60) for cell in row] for row in rows], left=left)


def _verdict(one: Experiment) -> str:
    word = escaped(one.verdict or "no verdict")
    shown = coloured(word, _COLOURS[word]) if word in _COLOURS else word
    return f"{escaped(one.id)}  {shown}{f': {escaped(one.reason)}' if one.reason else ''}"


def _changed(one: Experiment) -> str:
    return " ".join(f"{key}={_value(value)}" for key, value in one.changes.items())


def _differing(first: Any, second: Any) -> dict[str, tuple[Any, Any]]:
    return {key: (first.get(key), second.get(key)) for key in {**first, **second} if first.get(key) != second.get(key)}


def _value(value: Any) -> str:
    return "-" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _value(value)
    return f"{value:.4f}" if abs(value) < 10 else f"{value:.1f}"


def _minus(after: Any, before: Any) -> float | None:
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (after, before))
    return after - before if numbers else None


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.4f}" if abs(value) < 10 else f"{value:+.1f}"
