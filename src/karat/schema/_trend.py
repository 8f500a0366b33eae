"""What ``karat trend --json`` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from karat.schema._types import SystemChange


class _File(Struct, frozen=True, kw_only=True):
    run: str
    """The name of the file."""
    path: str
    date: str
    date_from: Literal["name", "begun", "modified"]
    time: str | None
    """In UTC; null where it is not known, or of another day than the date."""
    time_from: Literal["begun", "modified"] | None


class TrendSetChange(Struct, frozen=True, kw_only=True):
    """How the golden set changed between two runs."""

    added: int
    """How many questions only the later run was asked; one with another text is added and removed."""
    removed: int
    judgments: bool
    """Whether the questions are the same and their judgments, or how they count, changed."""
    documents: bool


class TrendRun(_File, frozen=True, kw_only=True):
    """A run of a history."""

    title: str
    """The label of the run, or its system and commit."""
    queries: int
    failed: int
    measures: Mapping[str, float | None]
    p95: float | None
    """Latency in milliseconds."""
    changes: tuple[SystemChange, ...] | None
    """What changed in the system since the run before; null for the first."""
    golden_change: TrendSetChange | None
    """How the golden set changed since the run before; null if it did not, and for the first.

    All runs are scored with the golden set as it is now, each on the questions of the set that it was asked.
    """


class TrendHistory(Struct, frozen=True, kw_only=True):
    """Runs whose scores mean the same, the oldest first."""

    asked: Mapping[str, Any]
    """The settings in which it differs from the other histories."""
    runs: tuple[TrendRun, ...]


class TrendOtherRun(_File, frozen=True, kw_only=True):
    """A run without a question of the golden set, which is not scored."""

    title: str
    """The label of the run, or its system and commit."""
    queries: int
    golden: Mapping[str, Any]


class TrendSkippedFile(_File, frozen=True, kw_only=True):
    """A file that could not be used."""

    reason: str


class TrendReport(Struct, frozen=True, kw_only=True):
    """How quality changed from run to run."""

    golden: Mapping[str, Any]
    measures: tuple[str, ...]
    histories: tuple[TrendHistory, ...]
    """The one with the newest run first."""
    apart: tuple[TrendOtherRun, ...]
    skipped: tuple[TrendSkippedFile, ...]
    variants: int = 0
    """How many runs were left out because a sweep tried them; files that are named are all read."""
