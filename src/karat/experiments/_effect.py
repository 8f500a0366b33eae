"""Whether the keys of a sweep have an effect: a parameter that nothing reads gives equal variants."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from karat.config import Config
from karat.core import InputError, shorten
from karat.experiments._sweepfile import Sweep

_OWN = "sweep a parameter of your own retriever as eval.parameters.NAME"


def require_read(config: Config, keys: Iterable[str]) -> None:
    """Refuse keys of a table that the configured system does not read."""
    own = config.eval.system or ("the service of [system]" if config.system else "")
    single = next((name for name in ("lexical", "dense") if config.pipeline.get(name) is False), "")
    for key in keys:
        if key.startswith("pipeline.") and own:
            raise InputError(f"{key} is not read: the system is {own}, not the built-in pipeline; {_OWN}")
        if key.startswith("pipeline.fusion") and single:
            raise InputError(f"{key} is not read: the {single} channel is off, and there is nothing to fuse")


def require_effect(sweep: Sweep, systems: Sequence[str | None]) -> None:
    """Refuse a sweep with a key that changes nothing.

    ``systems`` has for each variant a text that describes its system and how it is asked; None for one that cannot be
    tried. A list of variants may not have two that are the same. In a grid each key has to make a difference
    somewhere: one that matters only together with another is fine.
    """
    tried = [(variant, system) for variant, system in zip(sweep.variants, systems, strict=True) if system is not None]
    if sweep.grid:
        for key in tried[0][0].changes if tried else ():
            if not _has_effect(key, [(variant.changes, system) for variant, system in tried]):
                message = f"{key} has no effect: the system does not read it, whatever its value"
                hint = "remove it from the sweep, or turn on what reads it"
                raise InputError(message, source=sweep.source, hint=hint)
        return
    first: dict[str, str] = {}
    for variant, system in tried:
        if system in first:
            names = f"{shorten(first[system])} and {shorten(variant.name)}"
            message = f"variants {names} are the same system: what they change is not read"
            raise InputError(message, source=sweep.source)
        first[system] = variant.name


def _has_effect(key: str, variants: Sequence[tuple[Mapping[str, Any], str]]) -> bool:
    """Whether two variants that differ only in a key are different systems; also if there are no two such variants."""
    groups: dict[str, list[str]] = {}
    for changes, system in variants:
        others = {name: value for name, value in changes.items() if name != key}
        groups.setdefault(json.dumps(others, sort_keys=True), []).append(system)
    pairs = [systems for systems in groups.values() if len(systems) > 1]
    return not pairs or any(len(set(systems)) > 1 for systems in pairs)
