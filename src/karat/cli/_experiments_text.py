"""Experiments as a terminal shows them."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from karat.cli._table import bold, coloured, escaped, printable, render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from karat.experiments import Experiment
    from karat.schema import ExperimentDiff

_COLOURS = {"ACCEPTED": "green", "REJECTED": "red"}
_COLUMNS = 4  # of results
_SIX = ("id", "date", "description", "config_changes", "results", "verdict")


def list_text(experiments: Sequence[Experiment]) -> str:
    """Render a table with the results that most experiments have."""
    if not experiments:
        return "no experiment"
    counts = Counter(name for experiment in experiments for name in experiment.results)  # in the order of the log
    common = {name for name, _ in counts.most_common(_COLUMNS)}
    shown = [name for name in counts if name in common]
    rows = [["id", "date", "description", *shown, "verdict"]]
    for experiment in experiments:
        results = [_number(experiment.results.get(name)) for name in shown]
        description = experiment.description or _changes(experiment)
        rows.append([experiment.id, experiment.date or "-", description, *results, experiment.verdict or "-"])
    rest = ", ".join(printable(name) for name in counts if name not in common)
    return _table(rows, left=3) + (f"\n\nnot shown: {rest}; karat experiments show ID has them" if rest else "")


def experiment_text(experiment: Experiment) -> str:
    """Render all that an entry holds."""
    from karat.evaluation import flatten

    head = f"{bold(escaped(experiment.id))}  {escaped(experiment.date)}  {escaped(experiment.description)}".rstrip()
    changes = [["changed", "value"], *([key, _value(value)] for key, value in experiment.changes.items())]
    results = [["result", "value"], *([name, _number(value)] for name, value in experiment.results.items())]
    rest = flatten({key: value for key, value in experiment.record.items() if key not in _SIX})
    parts = [
        head,
        _table(changes) if experiment.changes else "",
        _table(results) if experiment.results else "",
        _verdict(experiment.id, experiment.verdict, experiment.reason),
        "\n".join(f"  {escaped(key)}: {escaped(_value(value))}" for key, value in rest.items()),
    ]
    return "\n\n".join(part for part in parts if part)


def diff_text(diff: ExperimentDiff) -> str:
    """Render the keys and results of two experiments side by side, and both verdicts."""
    from karat.experiments import split_verdict

    changed = [["changed", *diff.experiments]]
    changed += [[key, _value(values.first), _value(values.second)] for key, values in diff.config_changes.items()]
    results = [["result", *diff.experiments, "delta"]]
    results += [
        [name, _number(values.first), _number(values.second), _signed(values.difference)]
        for name, values in diff.results.items()
    ]
    verdicts = [
        _verdict(id_, *split_verdict(verdict or ""))
        for id_, verdict in zip(diff.experiments, diff.verdicts, strict=True)
    ]
    configuration = _table(changed) if diff.config_changes else "the same configuration"
    return "\n\n".join([configuration, _table(results), "\n".join(verdicts)])


def _table(rows: list[list[str]], *, left: int = 1) -> str:
    return render([[printable(cell, 60) for cell in row] for row in rows], left=left)


def _verdict(id_: str, word: str, reason: str) -> str:
    word = escaped(word or "no verdict")
    shown = coloured(word, _COLOURS[word]) if word in _COLOURS else word
    return f"{escaped(id_)}  {shown}{f': {escaped(reason)}' if reason else ''}"


def _changes(experiment: Experiment) -> str:
    return " ".join(f"{key}={_value(value)}" for key, value in experiment.changes.items())


def _value(value: Any) -> str:
    return "-" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _value(value)
    try:
        return f"{value:.4f}" if abs(value) < 10 else f"{value:.1f}"
    except OverflowError:  # a whole number that no float can hold
        return _value(value)


def _signed(value: float | None) -> str:
    if value is None:
        return "-"
    return ("+" if value >= 0 else "") + _number(value)
