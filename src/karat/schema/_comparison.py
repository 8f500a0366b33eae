"""What ``karat compare --json`` and ``karat baseline diff --json`` print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, field

from karat.schema._labels import LabelCorrection
from karat.schema._types import SystemChange


class DifferenceBounds(Struct, frozen=True, kw_only=True):
    """How far the grades of unjudged documents could move a difference."""

    worst: float | None
    """The difference with the grades of unjudged documents that are worst for the candidate beside the baseline; null
    where there is no bound."""
    best: float | None
    decided: bool
    """Whether the same run is better at both ends, or none is, so that no more judging can change that."""
    unjudged: int
    """How many pairs of query and document have no judgment, in the top k of queries whose lists differ."""
    exact: bool = False
    """Whether some grades reach both ends, with one grade for each document in both runs. If not, each end takes the
    grades of one run by themselves, so that the true difference lies between them and may reach neither."""


class AnsweredChange(Struct, frozen=True, kw_only=True):
    """One measure of two runs, only on the queries that both answered."""

    n: int
    baseline: float | None
    candidate: float | None
    difference: float | None


class AnsweredMean(Struct, frozen=True, kw_only=True):
    """The mean of a measure over what a run answered, and how much that leaves out."""

    mean: float | None
    answers: int
    """How many answers have a value; each wording and repeat is one."""
    unanswered: int
    """How many were refused, are empty, or say nothing that could be measured."""


class ComparedMeasure(Struct, frozen=True, kw_only=True):
    """One measure of two runs, on the queries that both have a value for.

    As in the gate, a query that the baseline has a value for, and that the candidate refuses or does not answer, has
    the worst value.
    """

    measure: str
    segment: Mapping[str, str] | None
    """A field of the queries and its value; null for all queries."""
    n: int
    """How many queries were compared; 0 where a run has means only, and then nothing is tested."""
    baseline: float | None
    candidate: float | None
    difference: float | None
    low: float | None
    """The ends of the interval of the difference; null with fewer than two queries."""
    high: float | None
    p: float | None
    """Of the two-sided sign-flip test."""
    p_corrected: float | None
    p_t: float | None
    """Of the paired t-test; not corrected."""
    effect: float | None
    """Cohen's d_z."""
    wins: int
    ties: int
    losses: int
    significant: bool
    bounds: DifferenceBounds | UnsetType = UNSET
    """Of the difference; set with ``--bounds``, not for segments."""
    by_labels: LabelCorrection | UnsetType = UNSET
    """The same as people's labels correct it, as in the gate; set for a judge's measure that the project has labels
    for, not for segments. All other numbers are the judge's alone."""
    answered: AnsweredChange | UnsetType = UNSET
    """The same without what either run left unanswered; set where that is something, not for segments."""


class ListSummary(Struct, frozen=True, kw_only=True):
    """How alike the ranked lists of two runs are, over all queries that both have a list for."""

    queries: int
    k: int | None
    """The rank at which the lists were cut; null for whole lists."""
    rbo: float | None
    kendall_tau: float | None
    spearman: float | None
    jaccard: float | None
    top1_changed: int
    top1_changed_share: float | None
    unchanged: int
    both_empty: int
    one_empty: int
    classes: Mapping[str, int]


class ListComparison(Struct, frozen=True, kw_only=True):
    """How alike the lists of one query are."""

    rbo: float
    kendall_tau: float
    jaccard: float
    top1_changed: bool
    similarity_class: str = field(name="class")


class MovedQuery(Struct, frozen=True, kw_only=True):
    """A query whose score changed, on the measure where it changed most."""

    query: str
    text: str
    measure: str
    baseline: float
    candidate: float
    gain: float
    """Positive where the candidate is better, also for a measure where less is better."""
    failed: str
    """The error of a query that failed in the candidate, else empty."""
    moved: tuple[str, ...]
    """What happened to the documents, in words."""


class QueryValues(Struct, frozen=True, kw_only=True):
    """What one query scored in both runs."""

    baseline: float
    candidate: float
    difference: float


class QueryComparison(Struct, frozen=True, kw_only=True):
    """One query of two runs, on every measure."""

    query: str
    measures: Mapping[str, QueryValues]
    list: ListComparison | None


class ComparedRun(Struct, frozen=True, kw_only=True):
    """One of the runs that are compared."""

    label: str
    """A, B, C ... in the order in which the runs were named."""
    name: str
    title: str
    """The label of the run, or its system and commit."""
    fingerprint: str
    queries: int
    failed: int
    means: Mapping[str, float | None]
    """As the gate holds them against floors: an answerable question that was refused has the worst value."""
    latency: Mapping[str, Mapping[str, float | None]]
    """Milliseconds by stage and statistic."""
    answered: Mapping[str, AnsweredMean] = {}
    """The means over what was answered, of the measures in which something was not."""


class ComparedPair(Struct, frozen=True, kw_only=True):
    """Two of the runs, by their labels, and all that is known about the difference."""

    baseline: str
    candidate: str
    measures: tuple[ComparedMeasure, ...]
    segments: tuple[ComparedMeasure, ...]
    changes: tuple[SystemChange, ...]
    lists: ListSummary | None
    movers: tuple[MovedQuery, ...]
    """The greatest losses first."""
    notes: tuple[str, ...]
    queries: tuple[QueryComparison, ...] | UnsetType = UNSET
    """Every query, those that changed most first; only where asked for."""


class ComparisonDocument(Struct, frozen=True, kw_only=True):
    """Runs side by side: every run against every later one."""

    karat: Literal["comparison"] = "comparison"
    kind: Literal["eval.regression_diff"] = "eval.regression_diff"
    runs: tuple[ComparedRun, ...]
    golden: Mapping[str, Any]
    measures: tuple[str, ...]
    correction: Literal["westfall-young", "holm", "bonferroni", "bh", "none"]
    tests: int
    """How many tests p is corrected for."""
    alpha: float
    level: float
    resamples: int
    seed: int
    pairs: tuple[ComparedPair, ...]
