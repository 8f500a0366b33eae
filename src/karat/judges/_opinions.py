"""What a judge says of an answer: a value, or why there is none, and the evidence for it."""

from __future__ import annotations

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
    """A judge's opinion of one answer, in one vote."""

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


def bound_mean(
    mean: float | None, scored: int, lost: int, *, lower_is_better: bool = False
) -> tuple[float | None, float | None]:
    """Return the mean of some scores if the lost ones were the worst, and if they were the best.

    Both are None if nothing was to be scored.

    >>> bound_mean(0.75, 2, 2), bound_mean(None, 0, 4)
    ((0.375, 0.875), (0.0, 1.0))
    """
    total = scored + lost
    if not total:
        return None, None
    known = (mean or 0.0) * scored
    ends = known / total, (known + lost) / total
    return (ends[1], ends[0]) if lower_is_better else ends
