"""What ``karat baseline show --json`` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from karat.schema._types import Count, Number


class BaselineSummary(Struct, frozen=True, kw_only=True):
    """The baseline of a project: where it comes from, its means and its latency."""

    file: str
    """The path of the baseline."""
    name: str
    """The name of the accepted run."""
    recorded: str
    """The day on which it was recorded; empty if unknown."""
    forced: str
    """Why it was accepted although it failed its gate; empty if it passed."""
    golden: Mapping[str, Any]
    """Name, version and fingerprint of the golden set."""
    fingerprint: str
    """The fingerprint of the system."""
    system: Mapping[str, Any]
    """The parts of the system, as it describes itself."""
    settings: Mapping[str, Any]
    """How the system was asked and scored."""
    queries: Count
    """How many queries were asked; 0 for a baseline of means alone."""
    repeats: Count
    """How often each of them was asked; 0 for a baseline of means alone."""
    failed: Count
    """How many of them failed."""
    means: Mapping[str, Number | None]
    """The mean of each measure; null if no query has a value."""
    latency: Mapping[str, Mapping[str, Number | None]]
    """Milliseconds by stage and statistic; the stage ``total`` is the whole system."""
