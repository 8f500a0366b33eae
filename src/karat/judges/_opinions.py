"""What a judge says of an answer: a value, or why there is none, and the evidence for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a judge has decided: a claim, a text or a question."""

    subject: str
    """The claim, the question, or which text it is."""
    verdict: bool | float
    text: int = 0
    """The number of the text that decides, from 1; 0 for none."""
    quote: str = ""
    """The words of that text."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What a judge says of one answer, in one vote."""

    judge: str
    query: str
    value: float | None
    """From 0 to 1; None if it could not be measured."""
    reason: str = ""
    """Why there is no value."""
    findings: tuple[Finding, ...] = ()
    paraphrase: int = 0
    repeat: int = 0
    vote: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The mean of a judge over all that was asked, and how far what is missing could move it."""

    mean: float
    """Over the items that have a value; NaN if none has."""
    scored: int
    total: int
    low: float
    """The mean if every item without a value had the worst one."""
    high: float
    """The mean if every item without a value had the best one."""


def summarise(opinions: Sequence[Opinion], *, lower_is_better: bool = False) -> Summary:
    """Return the mean of opinions, over what was asked and not over what came back.

    >>> asked = [Opinion(judge="j", query=str(i), value=value) for i, value in enumerate([1.0, 0.5, None, None])]
    >>> summarise(asked)
    Summary(mean=0.75, scored=2, total=4, low=0.375, high=0.875)
    """
    values = [opinion.value for opinion in opinions if opinion.value is not None]
    total, lost = len(opinions), len(opinions) - len(values)
    if not total:
        return Summary(mean=math.nan, scored=0, total=0, low=math.nan, high=math.nan)
    mean = math.fsum(values) / len(values) if values else math.nan
    ends = (math.fsum(values) / total, (math.fsum(values) + lost) / total)
    low, high = (ends[1], ends[0]) if lower_is_better else ends
    return Summary(mean=mean, scored=len(values), total=total, low=low, high=high)
