"""A check: one requirement of a rule, and whether a run meets it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from karat.core import counts_queries, describe_limit, format_ms
from karat.evaluation import Segment
from karat.stats import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One requirement of a rule, and whether the run meets it."""

    metric: str
    kind: str
    """A limit or test of a rule (min, max, max_drop_abs, max_drop_rel, max_rise_abs, max_rise_rel, min_gain_abs,
    significant_drop, non_inferior), must_pass, or an operational rule (failed, unscored, unasked, removed, new,
    moved, empty, texts, slow), or attempt: a newer attempt to ask the system failed."""
    outcome: Outcome
    reason: str
    where: Segment | None = None
    """The segment that it is about; None for all queries."""
    query: str = ""
    """The query that it is about, for ``must_pass``."""
    current: float | None = None
    baseline: float | None = None
    difference: float | None = None
    """The difference of the means over the queries that both runs have."""
    low: float | None = None
    """The one-sided lower confidence limit of the difference, at the policy's level, if higher is better."""
    high: float | None = None
    """The one-sided upper confidence limit of the difference, if lower is better."""
    limit: float | None = None
    """The limit of the current number, of the drop or of the rise."""
    p: float | None = None
    """The p-value of the one-sided test for a drop, corrected for all tests of the gate (Westfall and Young) unless
    answers were lost."""
    p_worse: float | None = None
    """The p-value of the test that rules out a drop larger than tolerated, not corrected."""
    n: int | None = None
    total: int | None = None
    """How many queries of the run have a value, if only n of them are compared with the baseline."""
    unanswered: int | None = None
    """How many answers count as the worst value because they were refused, are empty, or say nothing to measure."""
    unjudged: int | None = None
    """How many answers count as the worst value because the judge failed on them."""
    unknown: int | None = None
    """How many answers count as the worst value because the text of a hit or a citation is not known."""
    scored: int | None = None
    """How many answerable queries the mean is of, if the golden set has nothing relevant for some of them."""
    answerable: int | None = None
    """How many answerable queries there are, if the mean is not of all."""
    needed: int | None = None
    """How many queries would decide, if these do not."""

    @property
    def name(self) -> str:
        """The metric and the queries that it is about."""
        if self.query:
            return f"{self.query} {self.metric}".rstrip()
        return self.metric if self.where is None else f"{self.metric} {self.where[0]}={self.where[1]}"

    def describe(self) -> tuple[str, str, str, str]:
        """Return what it asks for, and its current number, the baseline's and the difference; ``-`` if there is none.

        >>> Check(metric="R@5", kind="min", outcome=Outcome.PASS, reason="", current=0.5, limit=0.45).describe()
        ('at least 0.45', '0.5000', '-', '-')
        """
        numbers = (self._format(self.current), self._format(self.baseline), self._format(self.difference, "+"))
        return describe_limit(self.kind, self.metric, self.limit), *numbers

    def _format(self, value: float | None, sign: str = "") -> str:
        if value is None:
            return "-"
        if counts_queries(self.kind):
            return f"{value:{sign},.0f}"
        if self.metric.startswith("latency."):
            return f"{sign if value >= 0 else ''}{format_ms(value)}"
        return f"{value:{sign}.4f}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data for JSON, without empty fields."""
        fields = asdict(self) | {"outcome": self.outcome.value, "where": self.where and dict([self.where])}
        return {key: value for key, value in fields.items() if value not in (None, "")}
