"""What people's labels make of a judge's scores."""

from __future__ import annotations

from msgspec import Struct

from karat.schema._types import Count


class LabelCorrection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A judge's mean, and its change, as people's labels correct them (prediction-powered inference)."""

    labels: Count
    """How many answers with a label it rests on; 0 if nothing is corrected."""
    judge: float | None
    """The judge's own mean."""
    mean: float | None
    """The corrected mean; null if the labels cannot be used."""
    low: float | None
    """The ends of its 95 % interval."""
    high: float | None
    baseline: float | None = None
    """The corrected mean of the baseline, over the questions that both have; null without labels of both."""
    difference: float | None = None
    """The corrected change since the baseline."""
    difference_low: float | None = None
    difference_high: float | None = None
    p: float | None = None
    """Of the two-sided test that there is no change."""
    problem: str = ""
    """Why the mean, or its change, is not corrected; empty if both are."""
