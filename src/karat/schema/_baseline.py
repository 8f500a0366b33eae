"""What ``karat baseline show --json`` and ``karat baseline rebase --json`` print."""

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
    """Why it was accepted although it did not pass its gate; empty if it passed."""
    inconclusive: tuple[str, ...]
    """What was inconclusive when it was accepted without force."""
    rebased: str
    """The day on which it was brought to a later version of its golden set; empty if it was not."""
    shrunk: str
    """Why it was rebased although many of its questions were gone; empty if few were."""
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


class RebasedValue(Struct, frozen=True, kw_only=True):
    """A number before and after; null where there is none."""

    before: Number | None
    after: Number | None


class RebasedQuestion(Struct, frozen=True, kw_only=True):
    """A question that the golden set gained, lost, or judges otherwise."""

    query: str
    text: str
    """Empty if unknown."""
    measures: Mapping[str, RebasedValue]
    """The scores that changed, appeared or disappeared."""
    stale: tuple[str, ...] = ()
    """Measures that keep their old score, because they could not be computed again."""


class BaselineRebase(Struct, frozen=True, kw_only=True):
    """How a baseline differs from the same baseline on the current golden set."""

    file: str
    written: bool
    """Whether the file was changed."""
    name: str
    """The name of the accepted run."""
    golden: Mapping[str, Any]
    """Name, version and fingerprints of the golden set as it is now."""
    was: Mapping[str, Any]
    """Those of the golden set that the baseline was on."""
    queries: RebasedValue
    """How many questions have scores."""
    means: Mapping[str, RebasedValue]
    added: tuple[RebasedQuestion, ...]
    """Questions that the baseline did not have; without scores unless a run provided them."""
    removed: tuple[RebasedQuestion, ...]
    """Questions that the golden set no longer has, and those that cannot be scored with it, because documents of their
    lists are gone. One with another text is both removed and added."""
    rejudged: tuple[RebasedQuestion, ...]
    """Questions whose judgments changed."""
    documents: tuple[str, ...]
    """Questions with judgments on documents that changed since the answers were recorded."""
    notes: tuple[str, ...]
