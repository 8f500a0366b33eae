"""What ``karat runs`` and ``karat show`` print as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from karat.schema._queries import LeftRow
from karat.schema._types import Count, Number, Rank, Score


class SavedRun(Struct, frozen=True, kw_only=True):
    """A run file of a project."""

    file: str
    """The path of the file."""
    title: str
    """The label of the run, or its system and commit."""
    state: Literal["complete", "unfinished", "other golden set", "no judged document", "damaged"]
    """``other golden set`` if it has no question of the golden set as it is now, ``no judged document`` if its ids are
    others than those of the set."""
    note: str
    """Why it is not complete, or what is odd about its date; empty otherwise."""
    date: str
    """The day on which it was made."""
    begun: str | None
    """When it began, in UTC; null if the file does not say so."""
    label: str
    commit: str
    """Empty where it is not known."""
    branch: str
    dirty: bool | None
    is_baseline: bool
    """Whether the project's baseline was made from this run."""
    queries: Count
    failed: Count
    measures: Mapping[str, Score]
    """The mean of each measure; empty if it was not scored."""


class RunListing(Struct, frozen=True, kw_only=True):
    """The saved runs of a project, the newest first."""

    karat: Literal["runs"] = "runs"
    project: str
    measures: tuple[str, ...]
    runs: tuple[SavedRun, ...]
    more: Count
    """How many older runs are not listed."""


class RunDetails(Struct, frozen=True, kw_only=True):
    """A saved run, and where it comes from."""

    karat: Literal["run-details"] = "run-details"
    run: SavedRun
    name: str
    """The name of the system."""
    golden: Mapping[str, Any]
    fingerprint: str
    """The fingerprint of the system."""
    system: Mapping[str, Any]
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    origin: Mapping[str, Any]
    """Label, commit, branch, dirty, machine and ci, as far as they are known."""
    latency: Mapping[str, Mapping[str, float | None]]
    """Milliseconds by stage and statistic."""
    failures: Mapping[str, str]
    """The error of each query that failed."""


class PrunedRun(Struct, frozen=True, kw_only=True):
    """A run file, and why it is kept or removed."""

    file: str
    title: str
    date: str
    reason: str


class RunPruning(Struct, frozen=True, kw_only=True):
    """Which runs of a project are removed, and which are kept."""

    karat: Literal["runs-pruned"] = "runs-pruned"
    project: str
    dry_run: bool
    """Whether nothing was removed."""
    removed: tuple[PrunedRun, ...]
    kept: tuple[PrunedRun, ...]


class LostPart(Struct, frozen=True, kw_only=True):
    """Something that a format cannot hold."""

    name: str
    what: str
    traces: Count
    """How many traces had it."""


class RunConversion(Struct, frozen=True, kw_only=True):
    """A run that was written in another format."""

    karat: Literal["runs-converted"] = "runs-converted"
    source: str
    written: str
    format: str
    traces: Count
    failed: Count
    """How many of them are questions that failed."""
    notes: tuple[str, ...]
    """What reading noticed or assumed."""
    lost: tuple[LostPart, ...]
    """What the format cannot hold."""


class ShownDocument(Struct, frozen=True, kw_only=True):
    """A judged document, and where it was found."""

    document: str
    title: str
    grade: int
    relevant: bool
    rank: Rank | None
    """null where it was not returned."""
    was: Rank | None
    """Its rank in the baseline; null where it is not among the first of it."""


class ShownHit(Struct, frozen=True, kw_only=True):
    """A returned hit."""

    rank: Rank
    id: str
    document: str
    score: Number
    grade: int | None
    """null where nobody judged it."""
    relevant: bool | None
    """null where nobody judged it."""
    was: Rank | None
    words: str
    """The beginning of its text."""


class ShownQuery(Struct, frozen=True, kw_only=True):
    """One query of a run: what was expected, what was returned, what moved, and why it scored as it did."""

    karat: Literal["query"] = "query"
    run: str
    """The title of the run."""
    file: str
    baseline: str | None
    """The title of the baseline; null where there is none, or it does not have the query."""
    query: str
    text: str
    answerable: bool = True
    """False if the right answer is no answer, so that each hit is a mistake."""
    error: str
    """The error message if the system failed; otherwise empty."""
    milliseconds: Score
    scores: Mapping[str, Score]
    before: Mapping[str, Score]
    """The scores of the baseline."""
    expected: tuple[ShownDocument, ...]
    """The judged documents, the best first."""
    returned: tuple[ShownHit, ...]
    left: tuple[LeftRow, ...]
    """Documents of the baseline that are no longer returned."""
    reasons: tuple[str, ...]
    """Why the query scored as it did."""
