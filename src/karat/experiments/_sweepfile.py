"""Sweep files: which variants of a configuration to try, as a grid or as a list."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from karat.config import resolve_key
from karat.core import InputError, Measure, MeasureError, did_you_mean, shorten
from karat.files import read_toml
from karat.net import hide_settings
from karat.schema import PlannedVariant, SweepPlan

LIMIT = 100
"""More variants than this are refused unless a higher limit is given."""
_KEYS = ("project", "objective", "require_gain", "policy", "description", "base", "grid", "variant")
_TEXTS = ("project", "objective", "policy", "description")
_FREE = ("system", "tenant", "concurrency", "batch", "timeout", "ready_timeout", "patience", "warm_up", "parameters")
"""Keys of [eval] in which variants may differ; the others decide what a score means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A configuration to try: that of the project with some keys changed."""

    name: str
    changes: Mapping[str, Any]
    """Dotted keys of karat.toml with their values."""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """The contents of a sweep file."""

    source: str
    project: Path
    variants: tuple[Variant, ...]
    grid: bool = False
    """Whether the variants are all combinations of a grid, some of which may be impossible."""
    base: Mapping[str, Any] = field(default_factory=dict)
    """Changes that all variants share."""
    objective: str | None = None
    """The measure to improve; None for the first one of the policy, without asking for a gain."""
    require_gain: bool = False
    policy: str | None = None
    description: str = ""


def read_sweep(path: str | Path, *, limit: int = LIMIT) -> Sweep:
    """Read a sweep file; an unknown key is an error, and so are more variants than ``limit``."""
    source = str(path)
    table = read_toml(path)
    try:
        return _sweep(table, Path(path), limit)
    except InputError as error:
        raise InputError(error.what, source=source, hint=error.hint) from None


def plan_document(sweep: Sweep) -> SweepPlan:
    """Return the variants of a sweep as the document that ``karat sweep --dry-run --json`` prints."""
    return SweepPlan(
        project=str(sweep.project),
        base=dict(sweep.base),
        variants=tuple(
            PlannedVariant(name=variant.name, config_changes=dict(variant.changes)) for variant in sweep.variants
        ),
    )


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
        variants=_read_grid(table["grid"], limit) if "grid" in table else _read_list(table["variant"], limit),
        grid="grid" in table,
        base=_dotted_keys(_require_table(table.get("base", {}), "base")),
        objective=None if objective is None else objective_name(objective),
        require_gain=table.get("require_gain", objective is not None),
        policy=_policy(table.get("policy"), path.parent),
        description=table.get("description", ""),
    )


def _policy(name: str | None, folder: Path) -> str | None:
    """Return the name of a policy, or the path of its file, which is relative to the sweep file."""
    if name is None or not (name.endswith(".toml") or "/" in name):
        return name
    return f"{folder}/{name}" if not Path(name).is_absolute() else name


def objective_name(name: str) -> str:
    """Return the canonical name of an objective; refuse a measure that has no better and worse."""
    try:
        measure = Measure.parse(name)
    except MeasureError as error:
        raise InputError(f"objective: {error}") from None
    if measure.definition.higher_is_better is None:
        raise InputError(f"objective = {shorten(name)}: neither more nor less of it is better")
    return str(measure)


def _require_table(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"{name} is {shorten(value)}, not a table", hint=f"write [{name}]")
    return value


def _dotted_keys(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the dotted keys of a table with their values.

    ``"pipeline.chunk" = { name = "whole" }``, in quotes, is one key with a table as its value. Without quotes TOML
    makes tables of the dots, and each innermost entry is a key of its own.
    """
    keys: dict[str, Any] = {}
    for key, value in table.items():
        name = f"{prefix}{key}"
        inner = _dotted_keys(value, f"{name}.") if isinstance(value, Mapping) and "." not in key else _leaf(name, value)
        for inner_key in inner:
            if inner_key in keys:
                raise InputError(f"{shorten(inner_key)} is set twice, under two names")
        keys |= inner
    return keys


def _leaf(key: str, value: Any) -> dict[str, Any]:
    name = resolve_key(key)
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):  # dates and infinities, which no option takes and no log can hold
        raise InputError(f"{key} = {shorten(value)}; write texts, numbers, true, false, or tables of them") from None
    _refuse_secret(name, value)
    return {name: value}


def _refuse_secret(key: str, value: Any) -> None:
    """Refuse a value that must not stand in names of variants and in the log; headers hold names of variables."""
    setting = {key.rpartition(".")[2]: value}
    if ".headers" not in key and hide_settings(setting) != setting:
        hint = "keep it in an environment variable, which key_variable or headers name"
        raise InputError(f"{key} holds a secret, which the log of experiments would keep", hint=hint)


def _read_grid(value: Any, limit: int) -> tuple[Variant, ...]:
    grid = _dotted_keys(_require_table(value, "grid"))
    if not grid:
        raise InputError(
            "[grid] is empty", hint='write a key with its values, such as "pipeline.chunk.size" = [128, 256]'
        )
    for key, values in grid.items():
        _check_key(key)
        if not isinstance(values, list) or not values:
            raise InputError(f"[grid] {key} = {shorten(values)}", hint="write a list of the values to try")
        _require_distinct(map(_value_text, values), f"[grid] {key} has {{}} twice")
    _check_number(math.prod(map(len, grid.values())), limit)
    labels = label_keys([key for key, values in grid.items() if len(values) > 1] or list(grid))
    return tuple(
        Variant(name=_name(changes, labels), changes=changes)
        for values in product(*grid.values())
        for changes in [dict(zip(grid, values, strict=True))]
    )


def _read_list(value: Any, limit: int) -> tuple[Variant, ...]:
    if not isinstance(value, list) or not value:
        raise InputError(f"variant = {shorten(value)}", hint="write [[variant]] for each of them")
    _check_number(len(value), limit)
    variants = [_variant(_require_table(table, "[variant]")) for table in value]
    _require_distinct((variant.name for variant in variants), "two variants are called {}")
    _require_distinct(
        (json.dumps(variant.changes, sort_keys=True) for variant in variants), "two variants have the same keys: {}"
    )
    return tuple(variants)


def _variant(table: Mapping[str, Any]) -> Variant:
    texts = {key: table[key] for key in ("name", "description") if key in table}
    for key, value in texts.items():
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"[[variant]] {key} = {shorten(value)}; write a text")
    changes = _dotted_keys({key: value for key, value in table.items() if key not in texts})
    for key in changes:
        _check_key(key)
    return Variant(
        name=texts.get("name") or _name(changes, label_keys(list(changes))),
        changes=changes,
        description=texts.get("description", ""),
    )


def _check_key(key: str) -> None:
    """Refuse a key that changes what is measured: such variants could not be compared."""
    table, name, *_ = key.split(".")
    if table == "gate" or (table == "eval" and name not in _FREE):
        free = f"in [eval] they may differ in {', '.join(_FREE)}; " if table == "eval" else ""
        raise InputError(f"{key} has to be the same for all variants", hint=f"{free}[base] sets it for all of them")


def _check_number(number: int, limit: int) -> None:
    if number > limit:
        message = f"there are {number:,} variants to try, and the limit is {limit:,}"
        raise InputError(message, hint="try fewer values at once, or allow more with --limit")


def _require_distinct(values: Iterable[str], message: str) -> None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise InputError(message.format(shorten(value)))
        seen.add(value)


def label_keys(keys: Sequence[str]) -> dict[str, str]:
    """Return for each key its shortest ending that no other key has.

    >>> label_keys(["pipeline.chunk.size", "pipeline.depth", "pipeline.mmr.depth"])
    {'pipeline.chunk.size': 'size', 'pipeline.depth': 'pipeline.depth', 'pipeline.mmr.depth': 'mmr.depth'}
    """
    endings = {key: [key.split(".", start)[-1] for start in range(key.count("."), -1, -1)] for key in keys}
    counts = Counter(ending for own in endings.values() for ending in own)
    return {key: next((ending for ending in own if counts[ending] == 1), key) for key, own in endings.items()}


def _name(changes: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """Name a variant by the values of the keys in which the variants differ."""
    return " ".join(f"{label}={_value_text(changes[key])}" for key, label in labels.items()) or "as it is"


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
