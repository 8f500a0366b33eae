"""What ``karat eval --json`` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from karat.schema._scores import MeasureScore, SegmentScores


class FailedQuestion(Struct, frozen=True, kw_only=True):
    """A question that failed; it counts as 0."""

    query: str
    error: str


class RepeatRates(Struct, frozen=True, kw_only=True):
    """How often queries that were asked several times succeeded."""

    success: float
    """The value from which on a query has succeeded."""
    columns: tuple[str, ...]
    """The names of the two rates: succeeded in any of the repeats, and in all of them."""
    measures: Mapping[str, tuple[float | None, ...]]
    """The share of queries for each rate, by measure; null if no query has a value."""


class RunEvaluation(Struct, frozen=True, kw_only=True):
    """The evaluation of a run."""

    name: str
    measures: Mapping[str, MeasureScore]
    not_in_run: tuple[str, ...]
    """Judged queries that the run does not answer."""
    not_judged: int
    """How many queries of the run have no judgments."""
    queries: Mapping[str, Mapping[str, float | None]] | UnsetType = UNSET
    """The values of each query, by measure; set with ``--per-query``."""
    by: Mapping[str, Mapping[str, SegmentScores]] | UnsetType = UNSET
    """The segments, by field and value; a field with a single value is left out."""
    latency: Mapping[str, Mapping[str, float]]
    """Milliseconds by stage and statistic; the stage ``total`` is the whole system."""
    failed: tuple[FailedQuestion, ...]
    unfound: tuple[str, ...]
    """Queries without a relevant hit, except those that failed and those that are unanswerable."""
    noise: Mapping[str, float | None] | UnsetType = UNSET
    """The standard deviation of each mean over the repeats; set if there are any."""
    trials: RepeatRates | UnsetType = UNSET
    """Set if there are repeats."""
    wordings: tuple[Mapping[str, MeasureScore], ...] | UnsetType = UNSET
    """The measures of the original texts, then of each paraphrase; set if paraphrases were asked."""


class EvaluationReport(Struct, frozen=True, kw_only=True):
    """The evaluation of a run on a golden set."""

    golden: Mapping[str, Any]
    """Name, version and fingerprint of the golden set."""
    fingerprint: str
    """The fingerprint of the system."""
    runs: tuple[RunEvaluation, ...]
    """Always one."""
