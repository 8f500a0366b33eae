"""The page of experiments: what sweeps tried, and what they found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from karat.schema._types import Count, Score
from karat.schema.pages._shared import IndexState

ExperimentVerdict = Literal["accepted", "rejected", "failed", "none"]


class ExperimentLine(Struct, frozen=True, kw_only=True):
    """One entry of the log of experiments."""

    id: str
    name: str
    """The name of the variant, or what an entry that no sweep wrote is about."""
    date: str
    sweep: str
    """The name of the sweep file; empty for an entry that no sweep wrote."""
    settings: Mapping[str, Any]
    """Dotted keys of the configuration with the values that were tried."""
    results: dict[str, float]
    """Means by measure; ``latency.p95`` in milliseconds."""
    verdict: ExperimentVerdict
    """``failed`` if there is no result, ``none`` if nobody decided."""
    reason: str
    measure: str
    """The objective; empty for an entry that no sweep wrote."""
    required: bool
    """Whether a variant without a gain is rejected."""
    difference: Score
    """The objective minus the baseline's; null without a baseline."""
    low: Score
    high: Score
    """The ends of the 95 % interval of the difference."""
    n: Count
    """How many queries the difference rests on."""
    gain: Score
    """The difference, turned so that more is better."""
    p: Score
    p_corrected: Score
    """Corrected for the variants that were tested together."""
    tested: Count
    """How many these are."""
    policy: str
    baseline: str
    """The baseline that it was held against, and when that was recorded."""
    front: bool
    """Whether no other variant of its sweep is at least as good in quality and latency, and better in one of them."""
    run: str
    """The id of its run; empty if the project does not have it any more."""


class SweepCount(Struct, frozen=True, kw_only=True):
    """A sweep file, and how often it was tried."""

    name: str
    """Empty for entries that no sweep wrote."""
    count: Count
    date: str
    """Of its newest entry."""


class ExperimentsPage(Struct, frozen=True, kw_only=True):
    """What was tried, with the results: one sweep, or all of them."""

    karat: Literal["page-experiments"] = "page-experiments"
    project: str
    sweep: str
    """The sweep that is shown; ``*`` for all, ``-`` for entries that no sweep wrote."""
    sweeps: tuple[SweepCount, ...]
    """All sweeps of the log, the newest first."""
    objective: str
    """The measure that the sweep should improve; empty if that is not one."""
    settings: tuple[str, ...]
    """The keys in which the variants differ."""
    labels: dict[str, str]
    """A short name for each of them."""
    measures: tuple[str, ...]
    """The results that they have, the objective first."""
    lower_is_better: tuple[str, ...]
    """Those of the measures of which less is better."""
    baseline: dict[str, float]
    """The means of the baseline's run by measure, where the project has that run."""
    variants: tuple[ExperimentLine, ...]
    counts: dict[ExperimentVerdict, int]
    """How many of the sweep have each verdict, without filters."""
    sort: str
    filters: dict[str, str]
    total: Count
    """How many entries the log has."""
    matching: Count
    more: str | None
    """What to pass as ``after`` to get the next ones; null after the last."""
    files: tuple[str, ...]
    """Sweep files in the folder of the project."""
    system: str
    """The retriever of the project's own that ``[eval] system`` names; empty for a pipeline of karat."""
    parameters: tuple[str, ...]
    """What ``[eval.parameters]`` passes to it."""
    problem: str
    """Why the log cannot be read; empty if it can."""
    index: IndexState
