"""What several pages show: a run in a line, one of its measures, and how far the index is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from karat.schema._checks import Outcome, Status
from karat.schema._types import Count, Score


class RunMeasure(Struct, frozen=True, kw_only=True):
    """The mean of a measure over a run."""

    name: str
    mean: Score
    low: Score
    """The ends of the 95 % interval of the mean; null with fewer than two queries."""
    high: Score
    n: Count
    """How many queries have a value."""
    status: Status
    floor: Score
    lower_is_better: bool = False


class RunLine(Struct, frozen=True, kw_only=True):
    """A run file of a project."""

    id: str
    """Its id in addresses, spans and reports."""
    file: str
    """The name of its file in the folder ``runs``."""
    title: str
    """Its label, or its system and commit."""
    state: Literal["complete", "unfinished", "other golden set", "no judged document", "damaged", "undecided"]
    """``undecided`` if the gate could not look at it; the note says why."""
    note: str
    date: str
    begun: str | None
    order: str
    """The sort key: newer runs have a greater one."""
    label: str
    commit: str
    branch: str
    dirty: bool | None
    is_baseline: bool
    system: str
    """The name of the system."""
    settings: Mapping[str, Any]
    """How it was asked."""
    golden: str
    """The fingerprint of the golden set that it was made on."""
    queries: Count
    failed: Count
    """Queries on which the system failed."""
    failures: Count
    """Queries among the failures of the report, for whatever reason."""
    outcome: Outcome | None
    """What the gate says, by policy and baseline as they are now; null where there is no decision."""
    measures: tuple[RunMeasure, ...]

    def find(self, name: str) -> RunMeasure | None:
        """Return a measure by its name."""
        return next((measure for measure in self.measures if measure.name == name), None)


class IndexState(Struct, frozen=True, kw_only=True):
    """How far the index is."""

    waiting: Count
    """Run files that are not in it yet, or have changed since."""
    problem: str
    """Why the project cannot be read; empty if it can."""
