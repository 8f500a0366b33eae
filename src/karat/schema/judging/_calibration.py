"""How far a judge agrees with people."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from karat.schema._types import Count

Share = Annotated[float, Meta(ge=0, le=1)]


class LabelSample(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``karat judge sample --json`` prints."""

    run: str
    output: str
    drawn: Count
    answers: Count
    """How many answers were drawn from."""
    seed: int
    refused: Count = 0
    """How many were left out because they were refused, or are to questions that have no answer."""


class JudgeEstimate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A number with its 95 % interval; null where it is undefined."""

    value: float | None
    low: float | None
    high: float | None


class CalibrationBin(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The items whose scores lie between two values."""

    low: Share
    high: Share
    items: Count
    judge: Share
    """The mean of the judge's scores."""
    people: Share
    """The mean of people's labels."""


class PeopleReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far people agree with each other: what a judge can hope for."""

    people: Count
    items: Count
    """Items that at least two of them labelled."""
    kappa: JudgeEstimate
    quadratic_kappa: JudgeEstimate
    alpha: JudgeEstimate


class CorrectedEstimate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What people would say of all items, from their labels of some and the judge's scores of all."""

    mean: float | None
    low: float | None
    high: float | None
    weight: Share
    """How much the judge counts, from 0 (the labels alone) to 1."""
    labels: Count
    judged: Count
    """Items that only the judge has scored."""
    judge_mean: float | None
    """The mean of the judge's scores, not corrected."""
    reason: str
    """Why the judge does not count; empty if it does."""


class CalibrationReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``karat judge calibrate --json`` prints."""

    judge: str
    """The judge, or the name under which a machine graded a pool."""
    fingerprint: str
    """What decides about its scores; empty if that is not known."""
    scores: str
    """The file that the judge's scores are about: a run, or a pool."""
    labels: str
    items: Count
    """Items with a label and a score."""
    queries: Count
    annotators: list[str]
    unlabelled: Count
    """Rows that nobody has filled in."""
    unknown: Count
    """Labels of questions that the run does not have."""
    changed: Count
    """Labels of other answers than those of the run, which do not count."""
    unjudged: Count
    """Labelled items for which the judge has no score."""
    levels: list[Share]
    """The labels that people gave, as shares of the highest."""
    positive: Share
    """From which label on an item is good."""
    threshold: Share | None
    """From which score on the judge says good; null for the nearest level."""
    statistics: dict[str, JudgeEstimate]
    """agreement, within_one, difference (judge less people), kappa, quadratic_kappa, alpha, pearson, spearman, auroc,
    calibration_error; the intervals are from resamples of whole queries."""
    confusion: list[list[Count]]
    """A row for each level of people's labels, a column for each level that the judge's scores are rounded to."""
    bins: list[CalibrationBin]
    base_rate: JudgeEstimate
    """The share of good items, with Wilson's interval."""
    majority: Share
    """The agreement of a judge that always gives the commonest label."""
    people: PeopleReport | None
    """Null if no item has the labels of two people."""
    drawn_p: Share
    """The p-value of the hypothesis that labelled items were drawn at random, whatever the judge said of them."""
    corrected: CorrectedEstimate | None
    """Null if the labelled items are not like the others."""
    notes: list[str]
