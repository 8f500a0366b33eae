"""One scored run: the value that gate, comparison, reports and history look at. A baseline is one, written down."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from karat.core import Provenance, Scores, Trace

Segment = tuple[str, str]
"""A field of the queries and its value, such as category and cold-start."""
Segments = Mapping[Segment, Sequence[str]]
"""The queries of each segment."""


def empty_scores(name: str) -> Scores:
    """Return a table without queries and measures."""
    return Scores(name=name, queries=(), measures=(), values=np.zeros((0, 0)), codes=np.zeros((0, 0), np.uint8))


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A run with its scores, and why a score is missing where it is."""

    provenance: Provenance
    scores: Scores
    """By query; the mean over wordings and repeats. Without queries where only the means are known."""
    repeats: tuple[Scores, ...] = ()
    """One table for each repeat, its wordings averaged; empty where nothing was repeated."""
    wordings: tuple[Scores, ...] = ()
    """One table for the queries as they are and one for each paraphrase; empty where there are no paraphrases."""
    means: Mapping[str, float] = field(default_factory=dict)
    """By measure; NaN where no query has a value."""
    latency: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Milliseconds by stage and statistic: n, mean, p50, p95, p99; the stage ``total`` is all of it."""
    queries: tuple[str, ...] = ()
    """All that were asked."""
    total: int = 0
    """How many queries the golden set has, of which a sample may have been asked; 0 if that is not known."""
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The documents of each query as it is, best first; a baseline file keeps the first ten."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """The error of each query that failed, in any wording or repeat."""
    unfound: frozenset[str] = frozenset()
    """Queries with nothing relevant among their hits: those that failed and the unanswerable ones included."""
    unanswerable: frozenset[str] = frozenset()
    """Queries for which the golden set has no relevant document."""
    segments: Segments = field(default_factory=dict)
    """The queries of each field and value."""
    traces: tuple[Trace, ...] = ()
    """What was asked and answered; empty for a baseline, which keeps only the lists."""

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.provenance.name

    def renamed(self, name: str) -> Evaluation:
        """Return the same evaluation under another name: two runs of one system are told apart by their files."""
        return replace(self, provenance=replace(self.provenance, name=name))

    @property
    def has_queries(self) -> bool:
        """Whether the scores of single queries are known, so that tests can be made."""
        return bool(self.scores.measures)

    def values(self, measure: str, queries: Iterable[str] | None = None) -> dict[str, float]:
        """Return the value of each query that has one, or of some queries; {} for a measure that was not computed."""
        return self.scores.column(measure, queries) if measure in self.scores.measures else {}

    def repeated_values(self, measure: str, query: str) -> tuple[float, ...]:
        """Return the value of each repeat, or the only one; NaN where it is missing."""
        tables = [table for table in self.repeats if query in table.rows] or [self.scores]
        values = (table.value(query, measure) for table in tables)
        return tuple(math.nan if value is None else value for value in values)

    def mean(self, measure: str, queries: Iterable[str] | None = None) -> float:
        """Return the mean over the queries that have a value; NaN if none has, or the measure was not computed."""
        if queries is None:
            return self.means.get(measure, math.nan)
        values = self.values(measure, queries).values()
        return math.fsum(values) / len(values) if values else math.nan

    @property
    def coverage(self) -> float:
        """The share of the golden set's queries that were answered; NaN if none was asked."""
        answered = sum(query not in self.failures for query in self.queries)
        return answered / max(self.total, len(self.queries)) if self.queries else math.nan

    @property
    def noise(self) -> dict[str, float]:
        """The standard deviation of each mean from repeat to repeat; {} where nothing was repeated."""
        means = [scores.mean() for scores in self.repeats]
        return {name: float(np.std([mean[name] for mean in means], ddof=1)) for name in self.scores.measures if means}

    def latency_of(self, name: str) -> float:
        """Return a statistic such as ``p95``, of the whole, or ``embed.p95``, of a stage; NaN if not measured."""
        stage, _, statistic = name.rpartition(".")
        return self.latency.get(stage or "total", {}).get(statistic, math.nan)

    def summary(self) -> Evaluation:
        """Return it without what is known of single queries: a history of hundreds of runs has no room for that."""
        return replace(self, scores=empty_scores(self.name), repeats=(), wordings=(), lists={}, segments={}, traces=())
