"""A number with its interval."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number with its interval; NaN where it is undefined."""

    value: float
    low: float
    high: float
