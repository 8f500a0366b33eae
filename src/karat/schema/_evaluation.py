"""The JSON of ``karat eval``: the scores of a run, its latency, and what failed."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from karat.schema._scores import MeasureScore, SegmentScores


class FailedQuestion(Struct, frozen=True, kw_only=True):
    """A question that the system did not answer; its query counts as 0."""

    query: str
    error: str


class SuccessRates(Struct, frozen=True, kw_only=True):
    """How often queries succeed when they are asked several times."""

    success: float
    """The value from which on a query succeeds."""
    columns: list[str]
    """``pass@n`` and ``pass^n``: in any of the n repeats, and in all of them."""
    measures: dict[str, list[float | None]]
    """The share of queries for each column; null if no query has a value."""


class EvaluatedRun(Struct, frozen=True, kw_only=True):
    """One run with its scores."""

    name: str
    measures: dict[str, MeasureScore]
    not_in_run: list[str]
    """Queries that were not asked."""
    not_judged: int
    """How many queries of the run have no judgments."""
    queries: dict[str, dict[str, float | None]] | UnsetType = UNSET
    """The values of each query, by measure; set with ``--per-query``."""
    by: dict[str, dict[str, SegmentScores]] | UnsetType = UNSET
    """By field and by its values."""
    latency: dict[str, dict[str, float]]
    """Milliseconds by stage and statistic."""
    failed: list[FailedQuestion]
    unfound: list[str]
    """Queries with nothing relevant among their hits, although nothing failed; not the unanswerable ones."""
    false_answers: list[str] | UnsetType = UNSET
    """Unanswerable queries that got hits."""
    noise: dict[str, float | None] | UnsetType = UNSET
    """The standard deviation of each mean over the repeats; null if no query has a value."""
    trials: SuccessRates | UnsetType = UNSET
    wordings: list[dict[str, MeasureScore]] | UnsetType = UNSET
    """The measures of the queries as they are, then of each paraphrase."""


class EvaluationReport(Struct, frozen=True, kw_only=True):
    """What ``karat eval --json`` prints."""

    golden: dict[str, Any]
    """Name, version and fingerprint of the golden set."""
    fingerprint: str
    """Of the system."""
    runs: list[EvaluatedRun]
    caveats: list[str] | UnsetType = UNSET
    """Errors of the golden set that do not make the scores wrong, and hits out of the order of their scores."""
