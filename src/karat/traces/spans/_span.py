"""A span in one form, and how its attributes and times are read, whichever tool wrote it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from karat.core import shorten

_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = 2**63  # nanoseconds; OTLP has 64 bits for them
_DEEPEST, _LONGEST = 16, 256  # of names that are joined by dots: a hostile one would be repeated for each of its values


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One step of a traced request."""

    trace: str
    """The id of the request that it belongs to."""
    id: str = ""
    parent: str = ""
    """The id of the span that it is a part of; empty for the first of a request."""
    name: str
    start: int
    """Nanoseconds, of a clock that all spans of a request share; 0 if they are not known."""
    end: int
    attributes: Mapping[str, Any]
    """Flat: nested names are joined by dots. Lists of objects stay lists."""
    error: str = ""
    resource: Mapping[str, Any] = field(default_factory=dict)
    """What the whole process says of itself, such as ``service.name``."""
    scope: str = ""
    """The name of the instrumentation that wrote it."""


def flatten(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested attributes with dotted names; lists of objects are numbered, as OpenInference does.

    What is nested very deep, or under a very long name, stays a value.
    """
    flat: dict[str, Any] = {}
    _flatten_into(flat, attributes, "", 0)
    return flat


def _flatten_into(flat: dict[str, Any], attributes: Mapping[str, Any], prefix: str, depth: int) -> None:
    nests = depth < _DEEPEST and len(prefix) < _LONGEST
    for key, value in attributes.items():
        name = f"{prefix}{key}"
        if nests and isinstance(value, dict):
            _flatten_into(flat, value, f"{name}.", depth + 1)
        elif nests and isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            _flatten_into(flat, {str(number): item for number, item in enumerate(value)}, f"{name}.", depth + 1)
        else:
            flat[name] = value


def parse_text(value: Any) -> Any:
    """Return what a JSON text holds; any other value as it is."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def to_number(value: Any) -> float | None:
    """Return a number, infinite if no float holds it; None for anything else."""
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def read_nanoseconds(value: Any) -> int:
    if abs(number := int(value or 0)) >= _LATEST:
        raise ValueError(f"{shorten(value)} nanoseconds are no time")
    return number


def read_iso(value: Any) -> int:
    if not value:
        return 0
    if isinstance(value, int) and not isinstance(value, bool):  # a data frame writes milliseconds
        return read_nanoseconds(value * 1_000_000)
    time = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return read_nanoseconds((time - _EPOCH) // _MICROSECOND * 1000)
