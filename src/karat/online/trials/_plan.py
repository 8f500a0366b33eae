"""What a trial is about: fixed before it begins, because rules that are chosen later fit whatever came out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

import msgspec

from karat.core import UsageError, did_you_mean
from karat.online.flags import CONTROL, Flag
from karat.online.trials._behaviour import is_behavioural
from karat.online.trials._observations import UNJUDGED
from karat.stats.sequential import StoppingRule

Source = Literal["judgments", "interleaving", "sessions", "clicks"]
"""Where differences come from: scores of both lists by judgments, choices from interleaved lists, outcomes of sessions
that saw either system, or clicks on the control's list."""
_VARIANTS = {CONTROL: 1.0, "treatment": 1.0}
_DEFAULT = "RR@10"
CHOICES = "choices"
"""What interleaved lists measure: whose documents a session chose, from -1 (the control's) to 1 (the treatment's)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPlan:
    """What is compared, by which rules, and what else has to hold before the treatment graduates.

    >>> TrialPlan(feature="rerank").measure
    'RR@10'
    """

    feature: str
    """The key of the flag of the feature, if it has one."""
    measure: str = ""
    """The measure that decides; by default RR@10, or what people choose (``choices``) from interleaved lists."""
    source: Source = "judgments"
    rule: StoppingRule = field(default_factory=StoppingRule)
    least: int = 100
    """The least number of sessions before anything graduates."""
    guardrails: tuple[str, ...] = ()
    """Measures that can stop the trial for harm, each at the level of the rule."""
    must_show: str = "MustShowAll@10"
    """The measure of documents that must be shown, which must not drop; empty if there are none."""
    latency_ratio: float = 1.2
    """The treatment's p95 of the latency has to be below so many times the control's."""
    unjudged_margin: float = 0.05
    """By how much the treatment's share of results without a judgment may exceed the control's."""
    shares: Mapping[str, float] | None = None
    """How many units each variant should get, for the check of the sample ratio; by default, as many as the flag says
    when the trial starts, or equal numbers."""
    corpus_measure: str = ""
    """The measure that has to improve on the golden set; by default the one that decides, or RR@10 if that one is
    about what people did."""
    sigma: float | None = None
    """The standard deviation of a difference, if it is known before the trial: then Wald's test is shown, too."""
    idle: float = 3600.0
    """A session of the log is over if nothing was recorded of it for so many seconds; what comes later is left out."""

    flag_version: int | None = None
    """The version of the feature's flag when the trial started, 0 if it had none; ``start_trial`` sets it."""

    def __post_init__(self) -> None:
        Flag(key=self.feature)  # refuses what is no key
        if self.source not in get_args(Source):
            raise UsageError(f"unknown source {self.source!r}{did_you_mean(str(self.source), get_args(Source))}")
        if not self.measure:
            object.__setattr__(self, "measure", CHOICES if self.source == "interleaving" else _DEFAULT)
        if self.least < 1:
            raise UsageError(f"least={self.least} sessions; use 1 or more")
        if not 1 <= self.latency_ratio < math.inf:
            raise UsageError(f"latency_ratio={self.latency_ratio} should be 1 or more")
        if not 0 <= self.unjudged_margin <= 1:
            raise UsageError(f"unjudged_margin={self.unjudged_margin} should be a share")
        if self.measure in self.guardrails:
            raise UsageError(f"measure {self.measure!r} decides, and cannot be a guardrail, too")
        if len(self.planned) < 2 or not all(share > 0 for share in self.planned.values()):
            raise UsageError("shares should be positive numbers of two or more variants")
        if self.sigma is not None and not 0 < self.sigma < math.inf:
            raise UsageError(f"sigma={self.sigma} is not a standard deviation above 0")
        if not 0 < self.idle < math.inf:
            raise UsageError(f"idle={self.idle} is not a number of seconds above 0")

    @property
    def planned(self) -> Mapping[str, float]:
        """How many units each variant should get."""
        return _VARIANTS if self.shares is None else self.shares

    @property
    def treatments(self) -> tuple[str, ...]:
        """The variants that are compared with the control."""
        return tuple(name for name in self.planned if name != CONTROL)

    @property
    def compared(self) -> tuple[str, ...]:
        """All that is measured of a treatment, beside the control."""
        return tuple(dict.fromkeys((self.measure, *self.guardrails, *filter(None, (self.must_show,)), UNJUDGED)))

    def label(self, measure: str, treatment: str) -> str:
        """Return the name of the differences of a treatment in a measure: that of the measure if there is only one.

        >>> plan = TrialPlan(feature="f", shares={"control": 1, "a": 1, "b": 1})
        >>> plan.label("RR@10", "a"), TrialPlan(feature="f").label("RR@10", "treatment")
        ('RR@10 of a', 'RR@10')
        """
        return measure if len(self.treatments) == 1 else f"{measure} of {treatment}"

    @property
    def on_golden_set(self) -> str:
        """The measure that has to improve on the golden set."""
        chosen = self.source == "interleaving" or is_behavioural(self.measure)
        return self.corpus_measure or (_DEFAULT if chosen else self.measure)


def encode_plan(plan: TrialPlan) -> str:
    """Return the JSON of a plan."""
    return msgspec.json.encode(asdict(plan)).decode()


def decode_plan(text: str) -> TrialPlan:
    """Return the plan of its JSON."""
    values: dict[str, Any] = msgspec.json.decode(text)
    rule = StoppingRule(**values.pop("rule"))
    return TrialPlan(**values | {"rule": rule, "guardrails": tuple(values["guardrails"])})
