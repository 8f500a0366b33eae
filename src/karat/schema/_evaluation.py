"""The JSON of ``karat eval``: the scores of a run, its latency, and what failed."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from karat.schema._labels import LabelCorrection
from karat.schema._scores import MeasureScore, SegmentScores


class FailedQuestion(Struct, frozen=True, kw_only=True):
    """A question that the system did not answer; its query counts as 0."""

    query: str
    error: str


class ValueSpread(Struct, frozen=True, kw_only=True):
    """How the values of the queries spread."""

    sd: float
    """The standard deviation of the sample; 0 for a single query."""
    min: float
    max: float
    p50: float
    """Percentiles are interpolated linearly."""
    p95: float


class QueryFacts(Struct, frozen=True, kw_only=True):
    """What one query returned, in its original wording and its first repeat."""

    retrieved: int
    """How many documents it returned."""
    found: int
    """How many of them are relevant."""
    first: int
    """The rank of the first relevant one; -1 if there is none."""
    milliseconds: float | None
    """null if it was not measured."""


class QueryCounts(Struct, frozen=True, kw_only=True):
    """How many queries found nothing, and how many have a relevant document on top."""

    queries: int
    """All that were asked, without the unanswerable ones."""
    without_hit: int
    """Those with no relevant document among what they returned; failed ones are among them."""
    first_right: int
    """Those with a relevant document at rank 1: P@1 is 1."""


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
    id: str | UnsetType = UNSET
    """The id of the run that was made: as in spans, metrics and log records (``karat.run.id``)."""
    measures: dict[str, MeasureScore]
    not_in_run: list[str]
    """Queries that were not asked."""
    not_judged: int
    """How many queries of the run have no judgments."""
    spread: dict[str, ValueSpread | None]
    """How the values of each measure spread over the queries; null if no query has a value."""
    counts: QueryCounts | UnsetType = UNSET
    queries: dict[str, dict[str, float | None]] | UnsetType = UNSET
    """The values of each query, by measure; set with ``--per-query``."""
    facts: dict[str, QueryFacts] | UnsetType = UNSET
    """What each query returned; set with ``--per-query``."""
    by: dict[str, dict[str, SegmentScores]] | UnsetType = UNSET
    """By field and by its values."""
    latency: dict[str, dict[str, float]]
    """Milliseconds by stage and statistic."""
    failed: list[FailedQuestion]
    unfound: list[str]
    """Queries with nothing relevant among their hits, although nothing failed; not the unanswerable ones."""
    false_answers: list[str] | UnsetType = UNSET
    """Unanswerable queries that got hits, and no refusal."""
    invented: dict[str, list[str]] | UnsetType = UNSET
    """Ids that answers cite and that exist nowhere, neither among their hits nor in the golden set, by query."""
    noise: dict[str, float | None] | UnsetType = UNSET
    """The standard deviation of each mean over the repeats; null if no query has a value."""
    trials: SuccessRates | UnsetType = UNSET
    bands: dict[str, dict[str, int]] | UnsetType = UNSET
    """How many queries are in each band of delta-S (stable, transitional, risk), by measure."""
    wordings: list[dict[str, MeasureScore]] | UnsetType = UNSET
    """The measures of the queries as they are, then of each paraphrase."""
    by_labels: dict[str, LabelCorrection] | UnsetType = UNSET
    """The means of judges that people's labels correct, by measure. The gate uses these."""


class EvaluationReport(Struct, frozen=True, kw_only=True):
    """What ``karat eval --json`` prints."""

    golden: dict[str, Any]
    """Name, version and fingerprint of the golden set."""
    fingerprint: str
    """Of the system."""
    runs: list[EvaluatedRun]
    caveats: list[str] | UnsetType = UNSET
    """Errors of the golden set that do not make the scores wrong, and hits out of the order of their scores."""
