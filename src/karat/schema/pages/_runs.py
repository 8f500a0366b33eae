"""The pages of all runs and of the whole project."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from karat.schema._golden import GoldenFinding, GoldenResolution
from karat.schema._types import Count, Score
from karat.schema.feedback import OnlineRate
from karat.schema.pages._live import Span
from karat.schema.pages._shared import IndexState, RunLine


class RunsPage(Struct, frozen=True, kw_only=True):
    """The runs of a project, or those that a filter keeps."""

    karat: Literal["page-runs"] = "page-runs"
    project: str
    measures: tuple[str, ...]
    """The measures of the project."""
    runs: tuple[RunLine, ...]
    sort: str
    """The key of the order; with a minus in front the greatest first."""
    filters: dict[str, str]
    """The filters that are set."""
    systems: tuple[str, ...]
    branches: tuple[str, ...]
    """What the runs can be filtered by."""
    total: Count
    """How many runs there are without filters."""
    matching: Count
    more: str | None
    """What to pass as ``after`` to get the next runs; null after the last."""
    index: IndexState


class GoldenLine(Struct, frozen=True, kw_only=True):
    """The golden set of a project, and how healthy it is."""

    name: str
    version: str
    fingerprint: str
    queries: Count
    documents: Count
    judgments: Count
    errors: Count
    warnings: Count
    findings: tuple[GoldenFinding, ...]
    """What the linter says, errors first: the first of it."""
    resolution: GoldenResolution | None
    """The smallest drops that the set can tell from chance."""


class GatedMeasure(Struct, frozen=True, kw_only=True):
    """A measure that the gate looks at, in the newest run, and what it could be."""

    name: str
    mean: Score
    low: Score
    high: Score
    n: Count
    baseline: Score
    """The baseline's mean over the queries that both have."""
    floor: Score
    ceiling: Score
    """The best mean that any ranking can reach on the set; null where that is not known."""
    why_no_ceiling: str
    status: str
    lower_is_better: bool


class TrendPoint(Struct, frozen=True, kw_only=True):
    """One run of the trend."""

    run: str
    title: str
    date: str
    outcome: str | None
    means: dict[str, Score]
    low: dict[str, Score]
    high: dict[str, Score]


class NextStep(Struct, frozen=True, kw_only=True):
    """Something worth doing."""

    title: str
    why: str
    address: str


class ChecklistItem(Struct, frozen=True, kw_only=True):
    """A step on the way of a new project."""

    title: str
    done: bool
    how: str
    """The command, or what to do."""


class TrafficLine(Struct, frozen=True, kw_only=True):
    """Live traffic at a glance."""

    span: Span
    as_of: str
    queries: Count
    sessions: Count
    rates: tuple[OnlineRate, ...]
    """Failed, nothing found, asked again and used."""
    p95: Score
    """Milliseconds; null where nothing was measured."""
    status: str
    """fine, alert or not measurable."""
    firing: tuple[str, ...]
    """The alerts that fire, in words."""
    beyond: tuple[str, ...] = ()
    """The names of those that are beyond their limit, but not yet for as long as it takes."""


class TrialLine(Struct, frozen=True, kw_only=True):
    """A trial that is not over."""

    feature: str
    number: int
    status: str
    decision: str
    """What the evidence allows."""
    reason: str
    measure: str
    mean: Score
    low: Score
    high: Score
    samples: Count


class OverviewPage(Struct, frozen=True, kw_only=True):
    """A project at a glance: is it good, did it get worse, and what is next."""

    karat: Literal["page-overview"] = "page-overview"
    project: str
    policy: str
    baseline: str
    """The title of the baseline's run; empty without a baseline."""
    golden: GoldenLine | None
    """null while the golden set cannot be read."""
    latest: RunLine | None
    """The newest complete run that is no variant of a sweep; the newest of all if there is no other."""
    newer: Count = 0
    """Complete runs that are newer than that: variants of a sweep."""
    unknown: tuple[str, ...]
    """Why it is inconclusive: the first reasons; empty for any other verdict."""
    measures: tuple[GatedMeasure, ...]
    trend: tuple[TrendPoint, ...]
    """The newest complete runs, the oldest of them first."""
    runs: Count
    next: tuple[NextStep, ...]
    """At most five."""
    checklist: tuple[ChecklistItem, ...]
    """Empty once all of it is done."""
    traffic: TrafficLine | None
    """null while there is no live traffic, or nobody has looked at it yet."""
    trials: tuple[TrialLine, ...]
    """Those that run or are paused, the latest first."""
    live_problem: str
    """Why the store of live traffic cannot be read; empty if it can, or there is none."""
    index: IndexState
    unread: bool = False
    """Whether the index is made for the first time: then nothing of it is known yet."""
