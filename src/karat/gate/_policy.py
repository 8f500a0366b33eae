"""Policies: the rules of a gate, as values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from karat.core import Measure, UsageError, did_you_mean, shorten
from karat.evaluation import Segment
from karat.gate._operations import CHANGED_QUESTIONS, LEAST_MS, MOST_TIMES, Operations
from karat.gate._pairing import lower_is_better
from karat.stats import DropRule

OnInconclusive = Literal["pass", "fail"]
OnUnjudged = Literal["ignore", "bounds"]
OnChangedQuestions = Literal["fail", "pass"]
OnUntestable = Literal["fail", "inconclusive"]
DISTANCES: Mapping[str, float] = {"delta_s.median": 0.5, "delta_s.p90": 0.9, "delta_s.max": 1.0}
"""Quantiles over all answers of the distance between a question and what its answer cites, and the share of each."""
CITED = "CiteDeltaS"
"""The measure whose quantiles these are."""
ELSEWHERE = ("sequential_test",)
"""Numbers that online trials compute, which an evaluation has :attr:`Evaluation.elsewhere`; otherwise a rule fails."""
MUST_SHOW = re.compile(r"must_show@([1-9]\d{0,5})")
"""The share of the queries with must-show documents that have all of them in the first k."""
_DROPS = ("max_drop_abs", "max_drop_rel")
_RISES = ("max_rise_abs", "max_rise_rel")
LIMITS = ("min", "max", *_DROPS, *_RISES, "min_gain_abs")
TESTS = ("significant_drop", "non_inferior")
_STATISTICS = ("p50", "p95", "p99", "mean")
_LONGEST_MS = 3_600_000.0
"""Milliseconds that no answer takes: a limit above an hour is none."""


SCORED = "coverage."
"""What a metric begins with that is the share of the queries which have a value of a measure."""


def is_measure(metric: str) -> bool:
    """Return whether a metric is a measure, and not latency, coverage, a quantile, or computed by somebody else."""
    others = ("coverage", *DISTANCES, *ELSEWHERE)
    return not metric.startswith(("latency.", SCORED)) and metric not in others and not MUST_SHOW.fullmatch(metric)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The limits and tests of one metric.

    It is a measure, ``latency.p95``, ``latency.embed.p95``, ``coverage``, ``coverage.Faithfulness`` or ``must_show@5``.

    Limits on drops are for metrics where higher is better, limits on rises for the others. ``significant_drop`` fails
    if the mean dropped by more than the policy tolerates and the drop is significant. ``non_inferior`` does the same,
    and is inconclusive unless a test rules out such a drop.
    """

    metric: str
    where: Segment | None = None
    """The segment that the rule is about; None for all queries."""
    min: float | None = None
    max: float | None = None
    max_drop_abs: float | None = None
    max_drop_rel: float | None = None
    """A share of the baseline's mean."""
    max_rise_abs: float | None = None
    max_rise_rel: float | None = None
    """A share of the baseline's mean."""
    min_gain_abs: float | None = None
    """How much better than the baseline's the mean has to be."""
    significant_drop: bool = False
    non_inferior: bool = False
    on_untestable: OnUntestable = "fail"
    """What the outcome is if the golden set has nothing that the metric could be about, such as tiers."""

    def __post_init__(self) -> None:
        values = [getattr(self, name) for name in (*LIMITS, *TESTS)]
        if all(value is None or value is False for value in values):  # 0 is a limit, too
            raise UsageError(f"the rule on {self.shown} asks for nothing; it may have {', '.join((*LIMITS, *TESTS))}")
        if self.is_latency:
            self._check_latency()
        if self.scored is not None:
            Measure.parse(self.scored)  # raises MeasureError for one that does not exist
        self._check_changes()
        if not self.is_measure and (self.significant_drop or self.non_inferior):
            raise UsageError(f"{self.metric} has no values of single queries: it can have limits, but not tests")
        if not self.is_measure and self.where is not None:
            raise UsageError(f"{self.metric} is for all queries; leave out 'where'")

    def _check_latency(self) -> None:
        *_, stage, statistic = self.metric.split(".")
        if statistic not in _STATISTICS or not stage:
            hint = did_you_mean(statistic, _STATISTICS) or f"; write one of {', '.join(_STATISTICS)} after the stage"
            raise UsageError(f"{shorten(self.metric)} is not a latency{hint}")

    def _check_changes(self) -> None:
        """Refuse limits in the wrong direction, and limits that no run could exceed."""
        wrong, better = (_DROPS, "lower") if self.lower_is_better else (_RISES, "higher")
        for name in (*_DROPS, *_RISES, "min_gain_abs"):
            limit = getattr(self, name)
            if limit is None:
                continue
            if name in wrong:
                raise UsageError(f"the rule on {self.shown} has {name}, but {better} values of it are better")
            if limit < 0:
                raise UsageError(f"the rule on {self.shown} has {name} = {limit:g}; write 0 or a positive number")
            most = {"max_drop_rel": 0.5, "max_rise_rel": MOST_TIMES}.get(name, math.inf)
            if limit > most:
                raise UsageError(
                    f"the rule on {self.shown} has {name} = {limit:g}, which tolerates nearly everything; write a "
                    f"share of at most {most:g}, such as 0.05 for 5 %"
                )

    @property
    def name(self) -> str:
        """The metric and the segment, as tables show them."""
        return self.metric if self.where is None else f"{self.metric} {self.where[0]}={self.where[1]}"

    @property
    def shown(self) -> str:
        """The name in a message, which is one line, whatever the value of a segment is."""
        return shorten(self.name)[1:-1]

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest number that the metric can be."""
        if self.is_measure:
            return Measure.parse(self.metric).bounds
        if self.is_latency:
            return 0.0, _LONGEST_MS
        return 0.0, Measure.parse(CITED).bounds[1] if self.metric in DISTANCES else 1.0

    @property
    def is_vacuous(self) -> bool:
        """Whether the worst run passes the rule: no value can break its limits, or only a good one can."""
        low, high = self.bounds
        can_fail: dict[str, Callable[[float], bool]] = {
            "min": lambda limit: limit > low and not self.lower_is_better,
            "max": lambda limit: limit < high and self.lower_is_better,
            "max_drop_abs": lambda limit: limit < high - low,
            "max_rise_abs": lambda limit: limit < high - low,
        }
        limits = [(name, limit) for name in LIMITS if (limit := getattr(self, name)) is not None]
        return not (self.significant_drop or self.non_inferior) and not any(
            name not in can_fail or can_fail[name](limit) for name, limit in limits
        )

    @property
    def limits_change(self) -> bool:
        """Whether it says how much worse than the baseline a run may be."""
        limits = (getattr(self, name) for name in (*_DROPS, *_RISES, "min_gain_abs"))
        return self.significant_drop or self.non_inferior or any(limit is not None for limit in limits)

    @property
    def is_quality(self) -> bool:
        """Whether the metric is about what was found or answered, and not about how fast, or whether at all."""
        return not self.is_latency and self.metric != "coverage" and self.scored is None

    @property
    def is_measure(self) -> bool:
        """Whether the metric is a measure, which has a value for each query."""
        return is_measure(self.metric)

    @property
    def is_latency(self) -> bool:
        """Whether the metric is a time, in milliseconds."""
        return self.metric.startswith("latency.")

    @property
    def scored(self) -> str | None:
        """The measure whose coverage the metric is: the share of the queries that have a value; None for another."""
        return self.metric.removeprefix(SCORED) if self.metric.startswith(SCORED) else None

    @property
    def must_show(self) -> int | None:
        """The cut-off k of the metric ``must_show@k``; None for another metric."""
        match = MUST_SHOW.fullmatch(self.metric)
        return int(match[1]) if match else None

    @property
    def lower_is_better(self) -> bool:
        """Whether lower values of the metric are better."""
        if self.is_measure:
            return lower_is_better(self.metric)
        return self.is_latency or self.metric in DISTANCES


def describe_rule(rule: Rule) -> str:
    """Return the requirement of a rule, in words.

    >>> describe_rule(Rule(metric="R@5", min=0.8, max_drop_rel=0.05, non_inferior=True))
    'at least 0.8, falls by at most 5 %, not worse than tolerated'
    >>> describe_rule(Rule(metric="latency.p95", max=500, max_rise_rel=0.2))
    'at most 500 ms, rises by at most 20 %, from 50 ms on'
    """
    words = {
        "min": "at least {:g}", "max": "at most {:g}", "max_drop_abs": "falls by at most {:g}",
        "max_drop_rel": "falls by at most {:.3g} %", "max_rise_abs": "rises by at most {:g}",
        "max_rise_rel": "rises by at most {:.3g} %", "min_gain_abs": "better than the baseline by at least {:g}",
    }  # fmt: skip
    unit = " ms" if rule.is_latency else ""
    words |= {"max_rise_rel": f"{words['max_rise_rel']}, from {LEAST_MS:g} ms on"} if unit else {}
    parts = [
        text.format(limit * 100 if name.endswith("_rel") else limit) + ("" if name.endswith("_rel") else unit)
        for name, text in words.items()
        if (limit := getattr(rule, name)) is not None
    ]
    parts += ["no significant drop beyond the tolerated one"] if rule.significant_drop else []
    parts += ["not worse than tolerated"] if rule.non_inferior else []
    parts += ["inconclusive if the golden set has nothing to test"] if rule.on_untestable == "inconclusive" else []
    return ", ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Must:
    """A query that has to succeed by itself: with a relevant hit, or with at least ``min`` of a measure."""

    query: str
    metric: str = ""
    min: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rules of a gate."""

    name: str = "default"
    purpose: str = ""
    """What the policy is for, in a sentence."""
    extends: str = ""
    """The policy that it changes; empty if it stands alone."""
    changes: tuple[str, ...] = ()
    """What it changes in the policy that it extends, one change each."""
    notes: tuple[str, ...] = ()
    """What a reader of a decision has to know of it: floors of the golden set that it does not check."""
    rules: tuple[Rule, ...] = ()
    must_pass: tuple[Must, ...] = ()
    drop: DropRule = field(default_factory=DropRule)
    """The drop that the tests tolerate, and their level."""
    operations: Operations = field(default_factory=Operations)
    """The limits of the operational rules, which come before all others."""
    on_inconclusive: OnInconclusive = "pass"
    """Whether an inconclusive run passes with a warning, or fails with exit code 4."""
    on_changed_questions: OnChangedQuestions = "fail"
    """Whether a run of which too many questions are not compared, because they were removed, moved or not asked, or are
    new, fails with exit code 4 whatever ``on_inconclusive`` says, or is treated as any other inconclusive run."""
    on_unjudged: OnUnjudged = "ignore"
    """Whether unjudged documents count as not relevant, or a check passes only if it does whatever their grades are."""
    list_below: Mapping[str, float] = field(default_factory=dict)
    """By measure: queries with a lower value are listed."""
    documents_may_change: bool = False
    """Whether a baseline on other documents may be used if queries and judgments are the same."""

    def lets_pass(self, kind: str) -> bool:
        """Return whether a check of this kind may be inconclusive without failing the run."""
        if kind in CHANGED_QUESTIONS and self.on_changed_questions == "fail":
            return False
        return self.on_inconclusive == "pass"

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that have to be computed for the policy."""
        names = [rule.metric for rule in self.rules if rule.is_measure]
        names += [rule.scored for rule in self.rules if rule.scored is not None]
        names += [CITED] if any(rule.metric in DISTANCES for rule in self.rules) else []
        names += [must.metric for must in self.must_pass if must.metric]
        return tuple(dict.fromkeys((*names, *self.list_below)))


def require_rules(policy: Policy) -> None:
    """Refuse a policy without rules: every run would pass it."""
    if not policy.rules and not policy.must_pass:
        raise UsageError(
            f"policy {shorten(policy.name)} checks nothing, and everything would pass; write [[gate.rules]], "
            "must_pass, floors of the golden set, or [eval] measures that are better when higher"
        )
