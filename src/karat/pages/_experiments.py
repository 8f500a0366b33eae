"""The page of experiments: what a sweep found, with verdicts that are corrected for how many were tried."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from karat.core import InputError, KaratError, UsageError
from karat.experiments import LATENCY, LOG, Experiment, find_sweeps, label_keys, read_log, undominated
from karat.files import name_paths
from karat.gate import lower_is_better
from karat.index import Index
from karat.pages._tables import Cell, Table
from karat.schema import SweepEntry
from karat.schema.pages import ExperimentLine, ExperimentsPage, ExperimentVerdict, SweepCount

ALL, BY_HAND = "*", "-"
_VERDICTS: tuple[ExperimentVerdict, ...] = ("accepted", "rejected", "failed", "none")
_WORDS: dict[str, ExperimentVerdict] = {"ACCEPTED": "accepted", "REJECTED": "rejected"}
_FAR = 1e12  # between verdicts: more than any gain


class ExperimentsRequest(Struct, frozen=True, kw_only=True):
    """Which variants, and in which order."""

    sweep: Annotated[
        str,
        Meta(max_length=500, description="A sweep file; * for all, - for what no sweep wrote. The newest if empty."),
    ] = ""
    q: Annotated[str, Meta(max_length=200, description="Text in the id, the name, a setting or the reason.")] = ""
    verdict: Annotated[str, Meta(pattern="^(|accepted|rejected|failed|none)$")] = ""
    front: Annotated[
        str, Meta(pattern="^(|on)$", description="on: only what no other variant beats in quality and latency.")
    ] = ""
    sort: Annotated[
        str,
        Meta(
            max_length=500,
            description="best, tried, name, p, gain, a measure or a setting; with a minus in front the greatest first.",
        ),
    ] = "best"
    after: Annotated[str, Meta(max_length=500, description="Where the last page ended: its field more.")] = ""
    limit: Annotated[int, Meta(ge=1, le=500)] = 50


def show_experiments(index: Index, request: ExperimentsRequest) -> ExperimentsPage:
    """Return the variants of a sweep that the filters keep, in order, a page at a time."""
    lines, problem = _read_lines(index)
    sweeps = _count_sweeps(lines)
    chosen = request.sweep or (_name_sweep(sweeps[0].name) if sweeps else ALL)
    own = [line for line in lines if chosen in (ALL, _name_sweep(line.sweep))]
    settings, measures = _list_differing(own), _list_measures(own)
    kept = _sort([line for line in own if _is_wanted(line, request)], lines, request.sort, settings, measures)
    start = next((place + 1 for place, line in enumerate(kept) if line.id == request.after), 0) if request.after else 0
    shown = kept[start : start + request.limit]
    objectives = {line.measure for line in own if line.measure}
    filters = {"sweep": request.sweep, "q": request.q, "verdict": request.verdict, "front": request.front}
    return ExperimentsPage(
        project=index.meta.get("name", index.folder.name),
        sweep=chosen,
        sweeps=sweeps,
        objective=objectives.pop() if len(objectives) == 1 else "",
        settings=settings,
        labels=label_keys(settings),
        measures=measures,
        lower_is_better=tuple(name for name in measures if _is_lower_better(name)),
        baseline=_find_baseline(index, measures),
        variants=tuple(shown),
        counts={verdict: sum(line.verdict == verdict for line in own) for verdict in _VERDICTS},
        sort=request.sort,
        filters={key: value for key, value in filters.items() if value},
        total=len(lines),
        matching=len(kept),
        more=shown[-1].id if start + request.limit < len(kept) else None,
        files=find_sweeps(index.folder),
        system=index.meta.get("system", ""),
        parameters=msgspec.json.decode(index.meta.get("parameters", "[]"), type=tuple[str, ...]),
        problem=problem,
        index=index.find_state(),
    )


def table_experiments(page: ExperimentsPage) -> Table:
    """Return a row for each variant: its verdict, settings and results."""
    head = ["id", "date", "sweep", "name", "verdict", "reason", "objective", "difference", "low", "high", "n", "p"]
    head += ["p corrected", "tested", "policy", "baseline", "front", "run", *page.settings, *page.measures]
    rows = []
    for line in page.variants:
        row: list[Cell] = [line.id, line.date, line.sweep, line.name, line.verdict, line.reason, line.measure]
        row += [line.difference, line.low, line.high, line.n, line.p, line.p_corrected, line.tested, line.policy]
        row += [line.baseline, line.front, line.run]
        row += [show_value(line.settings[key]) if key in line.settings else None for key in page.settings]
        rows.append([*row, *(line.results.get(name) for name in page.measures)])
    return Table(head=head, rows=rows)


def _read_lines(index: Index) -> tuple[list[ExperimentLine], str]:
    """Return the entries of the log in its order, and why it cannot be read if it cannot."""
    path = index.folder / LOG
    if not path.exists():
        return [], ""
    try:
        log = read_log(path)
    except InputError as error:
        return [], name_paths(f"{LOG} {error.what}", index.folder)
    runs = {f"runs/{run.line.file}": run.line.id for run in index.list_runs()}
    lines = [_make_line(experiment, runs) for experiment in log]
    named = [msgspec.structs.replace(line, reason=name_paths(line.reason, index.folder)) for line in lines]
    return _mark_front(named), ""


def _make_line(experiment: Experiment, runs: Mapping[str, str]) -> ExperimentLine:
    try:
        entry = msgspec.convert(experiment.record, SweepEntry)
    except msgspec.ValidationError:  # written by a person or by another tool
        entry = None
    is_failed = entry is not None and entry.error is not UNSET
    objective = _given(entry.objective) if entry else None
    tests = _given(entry.tests) if entry else None
    baseline = _given(entry.baseline) if entry else None
    difference = _find_number(_given(objective.difference)) if objective else None
    is_lower = objective is not None and _is_lower_better(objective.measure)
    return ExperimentLine(
        id=experiment.id,
        name=(entry.variant if entry else "") or experiment.description or experiment.id,
        date=experiment.date,
        sweep=entry.sweep if entry else "",
        settings=experiment.changes,
        results={
            key: number for key, value in experiment.results.items() if (number := _find_number(value)) is not None
        },
        verdict="failed" if is_failed else _WORDS.get(experiment.verdict, "none"),
        reason=experiment.reason,
        measure=objective.measure if objective else "",
        required=objective.required if objective else False,
        difference=difference,
        low=_find_number(_given(objective.low)) if objective else None,
        high=_find_number(_given(objective.high)) if objective else None,
        n=(_given(objective.n) or 0) if objective else 0,
        gain=-difference if is_lower and difference is not None else difference,
        p=tests.p if tests else None,
        p_corrected=tests.p_corrected if tests else None,
        tested=tests.variants if tests else 0,
        policy=entry.policy if entry else "",
        baseline=f"{baseline.name}, {baseline.recorded}" if baseline else "",
        front=False,
        run=runs.get(str(_given(entry.run) if entry else ""), ""),
    )


def _given(value: Any) -> Any:
    return None if isinstance(value, UnsetType) else value


def _find_number(value: Any) -> float | None:
    """Return a result as a number; None for what is none, which logs of other tools may hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _is_lower_better(name: str) -> bool:
    try:
        return name == LATENCY or lower_is_better(name)
    except KaratError:  # a result of another tool
        return False


def _mark_front(lines: Sequence[ExperimentLine]) -> list[ExperimentLine]:
    """Mark the variants that no other one of the same sweep and baseline beats, as ``karat sweep`` does."""
    groups: dict[tuple[str, str, str], list[int]] = {}
    for place, line in enumerate(lines):
        if line.sweep:
            groups.setdefault((line.sweep, line.baseline, line.measure), []).append(place)
    marked = list(lines)
    for (_, _, measure), places in groups.items():
        sign = -1.0 if _is_lower_better(measure) else 1.0
        points = [
            (sign * results[measure], results[LATENCY]) if measure in results and LATENCY in results else None
            for results in (lines[place].results for place in places)
        ]
        for place, is_first in zip(places, undominated(points), strict=True):
            marked[place] = msgspec.structs.replace(lines[place], front=is_first)
    return marked


def _count_sweeps(lines: Sequence[ExperimentLine]) -> tuple[SweepCount, ...]:
    newest: dict[str, SweepCount] = {}
    for line in lines:
        before = newest.pop(line.sweep, None)
        newest[line.sweep] = SweepCount(name=line.sweep, count=1 + (before.count if before else 0), date=line.date)
    return tuple(reversed(newest.values()))


def _name_sweep(name: str) -> str:
    return name or BY_HAND


def _list_differing(lines: Sequence[ExperimentLine]) -> tuple[str, ...]:
    """Return the keys in which variants differ, in the order of the log."""
    keys = dict.fromkeys(key for line in lines for key in line.settings)
    return tuple(key for key in keys if len({show_value(line.settings.get(key)) for line in lines}) > 1)


def _list_measures(lines: Sequence[ExperimentLine]) -> tuple[str, ...]:
    """Return the results that variants have: the objective first, the latency last."""
    objectives = [line.measure for line in lines if line.measure in line.results]
    names = dict.fromkeys((*objectives, *(name for line in lines for name in line.results)))
    return tuple(sorted(names, key=lambda name: name == LATENCY))


def _find_baseline(index: Index, measures: Sequence[str]) -> dict[str, float]:
    """Return the means of the baseline's run, on the golden set as it is now."""
    line = next((run.line for run in index.list_runs() if run.line.is_baseline), None)
    means = {} if line is None else {name: line.find(name) for name in measures}
    return {name: float(own.mean) for name, own in means.items() if own is not None and own.mean is not None}


def _is_wanted(line: ExperimentLine, request: ExperimentsRequest) -> bool:
    if (request.verdict and line.verdict != request.verdict) or (request.front and not line.front):
        return False
    settings = json.dumps(dict(line.settings), ensure_ascii=False, default=str)
    texts = (line.id, line.name, line.reason, line.sweep, settings)
    return not request.q or any(request.q.casefold() in text.casefold() for text in texts)


def _sort(
    kept: Sequence[ExperimentLine],
    lines: Sequence[ExperimentLine],
    sort: str,
    settings: Sequence[str],
    measures: Sequence[str],
) -> list[ExperimentLine]:
    """Return the variants in order; what has no value comes last, whichever way the order goes."""
    name, descending = sort.removeprefix("-"), sort.startswith("-")
    places = {line.id: place for place, line in enumerate(lines)}
    find_value = _choose_value(name, kept, places, settings, measures)
    keys: dict[str, tuple[float | str, int]] = {
        line.id: (value, places[line.id]) for line in kept if (value := find_value(line)) is not None
    }
    ordered = sorted((line for line in kept if line.id in keys), key=lambda line: keys[line.id], reverse=descending)
    return [*ordered, *(line for line in kept if line.id not in keys)]


def _choose_value(
    name: str,
    kept: Sequence[ExperimentLine],
    places: Mapping[str, int],
    settings: Sequence[str],
    measures: Sequence[str],
) -> Callable[[ExperimentLine], float | str | None]:
    """Return the function that gives what variants are sorted by."""
    plain: dict[str, Callable[[ExperimentLine], float | str | None]] = {
        "best": _rate,
        "tried": lambda line: places[line.id],
        "name": lambda line: line.name.casefold(),
        "verdict": lambda line: _VERDICTS.index(line.verdict),
        "p": lambda line: line.p_corrected,
        "gain": lambda line: line.gain,
    }
    if name in plain:
        return plain[name]
    if name in measures:
        return lambda line: line.results.get(name)
    if name in settings:
        ranks = {text: rank for rank, text in enumerate(order_values(line.settings.get(name) for line in kept))}
        return lambda line: ranks[show_value(line.settings.get(name))]
    raise UsageError(f"there is no order {name!r}; choose from {', '.join((*plain, *measures, *settings))}")


def _rate(line: ExperimentLine) -> float | None:
    """Return the number by which variants are sorted: accepted ones first, then by gain, or by the objective itself."""
    quality = line.gain
    if quality is None and line.measure in line.results:
        quality = line.results[line.measure] * (-1 if _is_lower_better(line.measure) else 1)
    rank = _VERDICTS.index(line.verdict)
    return None if quality is None and rank > 1 else rank * _FAR - (quality or 0.0)


def order_values(values: Iterable[Any]) -> tuple[str, ...]:
    """Return the distinct values of a setting as texts in their order: none, numbers by size, then texts.

    >>> order_values([256, 64, None, "whole", 64])
    ('-', '64', '256', 'whole')
    """
    keys = {show_value(value): _order_key(value) for value in values}
    return tuple(sorted(keys, key=keys.__getitem__))


def _order_key(value: Any) -> tuple[int, float, str]:
    number = _find_number(value)
    return (0, 0.0, "") if value is None else (1, number, "") if number is not None else (2, 0.0, show_value(value))


def show_value(value: Any) -> str:
    """Return the value of a setting as a text; a dash for one that a variant leaves as it is."""
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
