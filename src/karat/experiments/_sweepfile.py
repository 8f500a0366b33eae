"""A sweep file: which variants of a configuration are to be tried, as a grid or as a list."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from karat.config import resolve_key
from karat.core import InputError, Measure, MeasureError, did_you_mean, shorten
from karat.files import decode, read_bytes

LIMIT = 100
"""So many variants are tried without being asked for more."""
_KEYS = ("project", "objective", "require_gain", "policy", "description", "base", "grid", "variant")
_TEXTS = ("project", "objective", "policy", "description")
_FREE = ("system", "tenant", "concurrency", "batch", "timeout", "ready_timeout", "warm_up")
"""Keys of [eval] in which variants may differ: the others decide what a score means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A configuration to try: that of the project, but for some keys."""

    name: str
    changes: Mapping[str, Any]
    """Dotted keys of karat.toml with their values."""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What a sweep file says."""

    source: str
    project: Path
    variants: tuple[Variant, ...]
    grid: bool = False
    """Whether the variants are all combinations of a grid, of which some may make no sense."""
    base: Mapping[str, Any] = field(default_factory=dict)
    """Changes that all variants share."""
    objective: str | None = None
    """The measure that is to rise; None for the first that the policy looks at, of which no gain is asked for."""
    require_gain: bool = False
    policy: str | None = None
    description: str = ""


def read_sweep(path: str | Path, *, limit: int = LIMIT) -> Sweep:
    """Read a sweep file; an unknown key is a mistake, and so are more variants than the limit."""
    source = str(path)
    try:
        table = tomllib.loads(decode(read_bytes(path), source))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is not valid TOML: {error}", source=source) from None
    try:
        return _sweep(table, Path(path), limit)
    except InputError as error:
        raise InputError(error.what, source=source, hint=error.hint) from None


def _sweep(table: Mapping[str, Any], path: Path, limit: int) -> Sweep:
    for key in table:
        if key not in _KEYS:
            raise InputError(f"has no key {shorten(key)}{did_you_mean(key, _KEYS) or '; it has ' + ', '.join(_KEYS)}")
    for key in _TEXTS:
        if not isinstance(table.get(key, ""), str):
            raise InputError(f"{key} = {shorten(table[key])}; write a text")
    if not isinstance(table.get("require_gain", False), bool):
        raise InputError(f"require_gain = {shorten(table['require_gain'])}; write true or false")
    if ("grid" in table) == ("variant" in table):
        both = "has both [grid] and [[variant]]" if "grid" in table else "has neither [grid] nor [[variant]]"
        raise InputError(both, hint='write one of them, such as [grid] with "pipeline.chunk.size" = [128, 256]')
    objective = table.get("objective")
    return Sweep(
        source=str(path),
        project=path.parent / table.get("project", "."),
        variants=_grid(table["grid"], limit) if "grid" in table else _list(table["variant"], limit),
        grid="grid" in table,
        base=_keys(_table(table.get("base", {}), "base")),
        objective=None if objective is None else objective_name(objective),
        require_gain=table.get("require_gain", objective is not None),
        policy=_policy(table.get("policy"), path.parent),
        description=table.get("description", ""),
    )


def _policy(name: str | None, folder: Path) -> str | None:
    """Give a policy's name, or its file as seen from here."""
    if name is None or not (name.endswith(".toml") or "/" in name):
        return name
    return f"{folder}/{name}" if not Path(name).is_absolute() else name


def objective_name(name: str) -> str:
    """Give the canonical name of an objective; one that is neither better nor worse is a mistake."""
    try:
        found = Measure.parse(name)
    except MeasureError as error:
        raise InputError(f"objective: {error}") from None
    if found.definition.higher_is_better is None:
        raise InputError(f"objective = {shorten(name)}: neither more nor less of it is better")
    return str(found)


def _table(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"{name} is {shorten(value)}, not a table", hint=f"write [{name}]")
    return value


def _keys(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Give the resolve_key keys of a table.

    ``"pipeline.chunk" = { name = "whole" }``, in quotes, is one key with a table as its value. Without quotes TOML
    makes tables of the dots, and what stands innermost is a key each.
    """
    found: dict[str, Any] = {}
    for key, value in table.items():
        name = f"{before}{key}"
        deeper = _keys(value, f"{name}.") if isinstance(value, Mapping) and "." not in key else _leaf(name, value)
        for inner in deeper:
            if inner in found:
                raise InputError(f"{shorten(inner)} is set twice, under two names")
        found |= deeper
    return found


def _leaf(key: str, value: Any) -> dict[str, Any]:
    name = resolve_key(key)
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):  # dates and infinities, which no option takes and no log can hold
        raise InputError(f"{key} = {shorten(value)}; write texts, numbers, true, false, or tables of them") from None
    return {name: value}


def _grid(value: Any, limit: int) -> tuple[Variant, ...]:
    grid = _keys(_table(value, "grid"))
    if not grid:
        raise InputError(
            "[grid] is empty", hint='write a key with its values, such as "pipeline.chunk.size" = [128, 256]'
        )
    for key, values in grid.items():
        _check_key(key)
        if not isinstance(values, list) or not values:
            raise InputError(f"[grid] {key} = {shorten(values)}", hint="write a list of the values to try")
        _once((_shown(one) for one in values), f"[grid] {key} has {{}} twice")
    _check_number(math.prod(map(len, grid.values())), limit)
    labels = _labels([key for key, values in grid.items() if len(values) > 1] or list(grid))
    return tuple(
        Variant(name=_name(changes, labels), changes=changes)
        for values in product(*grid.values())
        for changes in [dict(zip(grid, values, strict=True))]
    )


def _list(value: Any, limit: int) -> tuple[Variant, ...]:
    if not isinstance(value, list) or not value:
        raise InputError(f"variant = {shorten(value)}", hint="write [[variant]] for each of them")
    _check_number(len(value), limit)
    found = [_variant(_table(one, "[variant]")) for one in value]
    _once((one.name for one in found), "two variants are called {}")
    _once((json.dumps(one.changes, sort_keys=True) for one in found), "two variants have the same keys: {}")
    return tuple(found)


def _variant(table: Mapping[str, Any]) -> Variant:
    own = {key: table[key] for key in ("name", "description") if key in table}
    for key, value in own.items():
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"[[variant]] {key} = {shorten(value)}; write a text")
    changes = _keys({key: value for key, value in table.items() if key not in own})
    for key in changes:
        _check_key(key)
    return Variant(
        name=own.get("name") or _name(changes, _labels(list(changes))),
        changes=changes,
        description=own.get("description", ""),
    )


def _check_key(key: str) -> None:
    """Refuse a key that changes what is measured: the variants could not be compared."""
    table, name, *_ = key.split(".")
    if table == "gate" or (table == "eval" and name not in _FREE):
        free = ", ".join(_FREE) if table == "eval" else ""
        may = f"of [eval] they may differ in {free}; " if free else ""
        raise InputError(f"{key} would have to be the same for all variants", hint=f"{may}[base] sets it for all")


def _check_number(number: int, limit: int) -> None:
    if number > limit:
        what = f"there are {number:,} variants to try, and the limit is {limit:,}"
        raise InputError(what, hint="try fewer values at once, or allow more with --limit")


def _once(values: Iterable[str], message: str) -> None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise InputError(message.format(shorten(value)))
        seen.add(value)


def _labels(keys: Sequence[str]) -> dict[str, str]:
    """Give each key the end of it that no other has.

    >>> _labels(["pipeline.chunk.size", "pipeline.depth", "pipeline.mmr.depth"])
    {'pipeline.chunk.size': 'size', 'pipeline.depth': 'pipeline.depth', 'pipeline.mmr.depth': 'mmr.depth'}
    """
    ends = {key: [key.split(".")[-size:] for size in range(1, key.count(".") + 2)] for key in keys}
    return {
        key: next((".".join(end) for end in own if sum(end in other for other in ends.values()) == 1), key)
        for key, own in ends.items()
    }


def _name(changes: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """Name a variant by what it changes, of what others change too."""
    return " ".join(f"{label}={_shown(changes[key])}" for key, label in labels.items()) or "as it is"


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
