"""What a comparison of two runs says, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from karat.schema import ComparedMeasure
from karat.schema.pages import ComparisonPage

Kind = Literal["better", "worse", "chance", "untested"]
"""What a difference shows of B: chance if it may be no difference at all, untested if nothing was compared."""


def rate_difference(page: ComparisonPage, row: ComparedMeasure) -> Kind:
    """Return what the difference in a measure shows, by the direction that is better."""
    if row.p is None or row.difference is None:
        return "untested"
    if not row.significant:
        return "chance"
    is_low = next((own.lower_is_better for own in page.second.measures if own.name == row.measure), False)
    return "better" if (row.difference < 0) == is_low else "worse"


def head_comparison(page: ComparisonPage) -> str:
    """Return which run is better, in a few words."""
    kinds = {rate_difference(page, row) for row in page.comparison.pairs[0].measures}
    if {"better", "worse"} <= kinds:
        return "B is better in some, worse in others"
    if kinds & {"better", "worse"}:
        return "B is better" if "better" in kinds else "B is worse"
    return "No difference is shown" if "chance" in kinds else "A and B"


def describe_comparison(page: ComparisonPage) -> str:
    """Return in which measures B is better or worse, and in which nobody can tell."""
    named: dict[str, list[str]] = {}
    for row in page.comparison.pairs[0].measures:
        named.setdefault(rate_difference(page, row), []).append(row.measure)
    parts = [f"it is {kind} in {_join(named[kind])}" for kind in ("better", "worse") if kind in named]
    if "chance" in named:
        parts.append(f"in {_join(named['chance'])} what differs may be chance")
    if "untested" in named:
        parts.append(f"{_join(named['untested'])} cannot be compared: no query has a value in both")
    return "; ".join(parts)


def _join(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
