"""What ``karat init``, ``karat fuse`` and ``karat measures`` print as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from karat.schema._types import Count


class StartedFile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What ``karat init`` did with a file."""

    path: str
    state: Literal["written", "extended", "same", "kept"]
    """Kept: it exists and differs. Same: it exists as it would be written."""
    diff: str = ""
    """The changes from the existing file to the one that would have been written."""
    notes: tuple[str, ...] = ()
    todo: tuple[str, ...] = ()
    """What is left to do by hand."""


class StartReport(Struct, frozen=True, kw_only=True):
    """The files of a new project."""

    files: tuple[StartedFile, ...]


class FusionSummary(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run fused from others."""

    written: str
    runs: tuple[str, ...]
    method: str
    k: float | None = None
    """The constant of reciprocal rank fusion; absent for other methods."""
    weights: Mapping[str, float] | None = None
    """Absent for methods that use none."""
    norm: str | None = None
    """How scores are made comparable; absent for methods that look at ranks."""
    depth: Count | None
    queries: Count
    hits: Count


class MeasureParameter(Struct, frozen=True, kw_only=True):
    """A parameter of a measure."""

    name: str
    type: str
    default: Any
    help: str


class MeasureDefinition(Struct, frozen=True, kw_only=True):
    """A measure that karat knows."""

    name: str
    aliases: tuple[str, ...]
    cutoff: Literal["none", "optional", "required", "recall"]
    parameters: tuple[MeasureParameter, ...]
    aggregate: str
    """How values of queries become one."""
    higher_is_better: bool | None
    queries: str
    """Which queries have a value."""
    doc: str


class MeasureListing(Struct, frozen=True, kw_only=True):
    """The measures that karat knows."""

    measures: tuple[MeasureDefinition, ...]
