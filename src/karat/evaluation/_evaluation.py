"""A scored run: the value that gate, comparisons, reports and history work with. A baseline is one in a file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from karat.core import Provenance, Scores, Trace, average, is_missing, select_detailed, show_table
from karat.evaluation._hit_texts import HitTexts
from karat.evaluation._latency import falls_among_failed, find_slowest
from karat.evaluation._ranked import RankedLists, StoredLists
from karat.evaluation._revision import Revision
from karat.golden import Question
from karat.stats import bootstrap, make_generator

Segment = tuple[str, str]
"""A field of the queries and one of its values, such as category and cold-start."""
Segments = Mapping[Segment, Sequence[str]]
"""The queries of each segment."""
Variant = tuple[int, int]
"""The numbers of a wording (0 is the original text) and of a repeat."""


def empty_scores(name: str) -> Scores:
    """Return a table without queries or measures."""
    return Scores(name=name, queries=(), measures=(), values=np.zeros((0, 0)), codes=np.zeros((0, 0), np.uint8))


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A run with its scores, and a reason for each score that is missing."""

    provenance: Provenance
    scores: Scores
    """The scores by query, averaged over wordings and repeats; empty if only the means are known."""
    repeats: tuple[Scores, ...] = ()
    """One table per repeat, averaged over wordings; empty if nothing was repeated."""
    wordings: tuple[Scores, ...] = ()
    """One table for the original texts and one for each paraphrase; empty if there are no paraphrases."""
    variants: Mapping[Variant, Scores] = field(default_factory=dict)
    """A table for each wording and repeat, as the gate counts: an answer that failed or is empty has the worst value of
    measures that are undefined for it. Empty if every question was asked once."""
    counts: Scores | None = None
    """How many documents each query returned, how many of them are relevant, and how high the first of those stands, in
    the original wording and the first repeat: NumRet, NumRelRet, RR and P@1. None if only scores are known."""
    means: Mapping[str, float] = field(default_factory=dict)
    """The mean of each measure; NaN if no query has a value."""
    elsewhere: Mapping[str, float] = field(default_factory=dict)
    """Numbers of what was evaluated that no run has, such as what a trial on live traffic says of it."""
    latency: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Milliseconds by stage and statistic (n, mean, p50, p95, p99); the stage ``total`` is the whole system. If some
    failed, they are among the n, and ``failed`` counts them."""
    queries: tuple[str, ...] = ()
    """The queries that were asked."""
    total: int = 0
    """How many queries the golden set has, of which a sample may have been asked; 0 if unknown."""
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The documents of each query in its original wording, best first; a baseline file has the first of them."""
    empties: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Of each query that was asked several times, and returned nothing in some: in how many, and how many there are."""
    successes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Of each query that was asked several times: in how many wordings and repeats it succeeded, and how many there
    are. It succeeds with a relevant hit, or without hits if it is unanswerable."""
    contents: Mapping[str, str] | None = None
    """A digest of the text of each listed document that the golden set had, which a baseline file has so that a
    document with another id is found again; "" where it had no text, and None if they were not recorded."""
    depth: int | None = None
    """How many documents of each list there are at most; None if the lists are whole."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """The error of each query that failed in any wording or repeat."""
    unfound: frozenset[str] = frozenset()
    """Queries that have an answer, and no relevant hit, including those that failed."""
    unanswerable: frozenset[str] = frozenset()
    """Queries to which the right answer is no answer, as the golden set says."""
    invented: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What answers cite that exists nowhere, neither among their hits nor in the golden set: ids by query."""
    texts: HitTexts | None = None
    """Whether the texts of hits are those of their documents; None if that is not known, as for a baseline."""
    unmeasured: Mapping[str, Mapping[str, Mapping[str, int]]] = field(default_factory=dict)
    """Answers without a value of a measure that count as the worst one in the gate: by measure, by why (:data:`WHY`),
    and by query. Each wording and repeat is an answer."""
    false_answers: frozenset[str] = frozenset()
    """Unanswerable queries that did not fail, got hits, and were not refused in every wording and repeat."""
    unjudged: frozenset[str] = frozenset()
    """Queries without a relevant document that the golden set does not call unanswerable. They are unfound, too."""
    must_show: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The documents that have to be shown, of each query that has some."""
    segments: Segments = field(default_factory=dict)
    """The queries of each segment."""
    traces: Sequence[Trace] = ()
    """The traces of the run; empty for a baseline, which has only the lists."""
    questions: Mapping[str, Question] = field(default_factory=dict)
    """The text and the digests of each query that was asked, as far as they are known."""
    questions_of: str = ""
    """The fingerprint of the golden set that all of these are of; empty if some may be of an earlier version."""
    revision: Revision | None = None
    """How the golden set that it was made on differs from the one that it was scored with; None if it does not."""

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.provenance.name

    def renamed(self, name: str) -> Evaluation:
        """Return the same evaluation under another name, such as its file's, to tell two runs of one system apart.

        Its title stays the same.
        """
        origin = replace(self.provenance.origin, label=self.provenance.title)
        return replace(self, provenance=replace(self.provenance, name=name, origin=origin))

    @cached_property
    def query_set(self) -> frozenset[str]:
        """The queries that were asked, to look one up."""
        return frozenset(self.queries)

    @cached_property
    def answered(self) -> Mapping[str, bool]:
        """Whether each query that has a list, in its original wording, got any documents."""
        if isinstance(self.lists, RankedLists | StoredLists):
            return self.lists.find_answered()
        return {query: bool(documents) for query, documents in self.lists.items()}

    @cached_property
    def altered(self) -> Mapping[str, int]:
        """How many hits have a text that is not in their document, by query, where something rests on these texts.

        That is an answer, or the opinion of a judge. Of retrieval alone, the ids count and not the texts.
        """
        if self.texts is None or not any(
            trace.answer or trace.citations or trace.refused or trace.opinions for trace in select_detailed(self.traces)
        ):
            return {}
        return self.texts.altered

    @cached_property
    def refused(self) -> frozenset[str]:
        """The queries that have an answer, and were refused in some wording or repeat."""
        refused = {trace.query for trace in select_detailed(self.traces) if trace.refused}
        return frozenset(refused - self.unanswerable - self.unjudged)

    @cached_property
    def missed(self) -> frozenset[str]:
        """The queries that failed, or found nothing relevant although the golden set has something."""
        return frozenset((*self.failures, *(self.unfound - self.unjudged - self.unanswerable)))

    @property
    def has_queries(self) -> bool:
        """Whether it has the scores of single queries, which statistical tests need."""
        return bool(self.scores.measures)

    def values(self, measure: str, queries: Iterable[str] | None = None) -> dict[str, float]:
        """Return the values of a measure by query, of some queries only if they are named.

        Queries without a value are left out; for a measure that was not computed the result is {}.
        """
        return self.scores.column(measure, queries) if measure in self.scores.columns else {}

    def repeated_values(self, measure: str, query: str) -> tuple[float, ...]:
        """Return the value of a query in each repeat, or its only value; NaN for a missing one."""
        tables = [table for table in self.repeats if query in table.rows] or [self.scores]
        values = (table.value(query, measure) for table in tables)
        return tuple(math.nan if value is None else value for value in values)

    def mean(self, measure: str, queries: Iterable[str] | None = None) -> float:
        """Return the mean over the queries that have a value, of some queries only if they are named.

        It is NaN if no query has a value or the measure was not computed.
        """
        if queries is None:
            return self.means.get(measure, math.nan)
        if measure not in self.scores.columns:
            return math.nan
        return average(self.scores.present(measure, queries)[1], self.scores.aggregates.get(measure, "mean"))

    def interval(self, measure: str) -> tuple[float, float] | None:
        """Return the 95 % interval of a mean (BCa bootstrap over queries); None for fewer than two values."""
        values = sorted(self.values(measure).values())
        if len(values) < 2:
            return None
        interval = bootstrap(values, rng=make_generator(0, measure), method="bca")
        return interval.low, interval.high

    @property
    def coverage(self) -> float:
        """The share of the golden set's queries that were asked and did not fail; NaN if none was asked."""
        answered = sum(query not in self.failures for query in self.queries)
        return answered / max(self.total, len(self.queries)) if self.queries else math.nan

    @property
    def noise(self) -> dict[str, float]:
        """The standard deviation of each mean over the repeats; {} if nothing was repeated."""
        means = [scores.mean() for scores in self.repeats]
        return {name: float(np.std([mean[name] for mean in means], ddof=1)) for name in self.scores.measures if means}

    def latency_of(self, name: str) -> float:
        """Return a statistic of the latency, such as ``p95`` or, for a stage, ``embed.p95``; NaN if not measured."""
        stage, _, statistic = name.rpartition(".")
        return self.latency.get(stage or "total", {}).get(statistic, math.nan)

    def lacks_latency(self, name: str) -> bool:
        """Return whether a statistic of the latency falls among failed questions, so that it is only a lower bound."""
        stage, _, statistic = name.rpartition(".")
        return falls_among_failed(self.latency.get(stage or "total", {}), statistic)

    def slowest(self, excused: int) -> float:
        """Return the time of the slowest question but for the excused ones; infinite if it failed, NaN if not known."""
        return find_slowest(self.traces, excused)

    def __repr__(self) -> str:
        """Return the name, the number of queries and the means in one line: lists and traces would fill screens."""
        means = ", ".join(f"{name} {'-' if math.isnan(mean) else f'{mean:.4f}'}" for name, mean in self.means.items())
        return f"<Evaluation of {self.name!r}, {len(self.queries):,} queries: {means or 'no measures'}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: each measure with its mean, interval and n, and what failed."""
        rows = []
        for name, mean in self.means.items():
            interval, n = self.interval(name), self.scores.count(name) if name in self.scores.columns else 0
            spread = "-" if interval is None else f"{interval[0]:.4f} to {interval[1]:.4f}"
            rows.append([name, "-" if math.isnan(mean) else f"{mean:.4f}", spread, f"{n:,} of {len(self.queries):,}"])
        notes = [describe_failed(self)] if self.failures else []
        return show_table(self.name, ["measure", "mean", "95 % interval", "queries"], rows, notes)

    def summary(self) -> Evaluation:
        """Return the evaluation without its single queries, which would fill the memory in a history of many runs."""
        return replace(
            self,
            scores=empty_scores(self.name),
            repeats=(),
            wordings=(),
            variants={},
            counts=None,
            lists={},
            segments={},
            traces=(),
            questions={},
        )


def describe_failed(evaluation: Evaluation) -> str:
    """Return how many queries failed; for a file of another program, how many are not in it, which is not a failure.

    >>> from karat.core import Provenance, Scores
    >>> scores = Scores.from_columns("mine", {"RR": {"q1": 1.0, "q2": 0.0}})
    >>> run = Evaluation(provenance=Provenance(name="mine"), scores=scores, means=scores.mean(), queries=scores.queries)
    >>> describe_failed(replace(run, failures={"q2": "not in the run"}))
    '1 of 2 queries are not in the run'
    """
    total, failed = len(evaluation.queries), len(evaluation.failures)
    missing = sum(is_missing(error) for error in evaluation.failures.values())
    if missing == failed:
        return f"{missing:,} of {total:,} queries are not in the run"
    return f"{failed:,} of {total:,} queries failed" + (f", of which {missing:,} are not in the run" if missing else "")


def describe_definitions(evaluation: Evaluation, measures: Iterable[str]) -> Iterator[str]:
    """Yield the definitions of measures whose names do not state them."""
    definitions = evaluation.scores.definitions
    if others := [definitions[name] for name in dict.fromkeys(measures) if definitions.get(name, name) != name]:
        yield f"computed as {', '.join(others)}"
