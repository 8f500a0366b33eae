"""The parameters of trec_eval's measures: the text after the dot in ``P.5,10`` and ``ndcg.1=3.5,2=9``."""

from __future__ import annotations

import re
from typing import Any

from karat.core import UsageError

LARGEST = 1e9  # beyond it trec_eval's own arithmetic overflows
# C's atol reads the digits at the beginning: trec_eval takes 23.4, which its own tests have, as 23, and 1e2 as 1.
_RANK = re.compile(r"\s*\+?(\d{1,18})(?:\.\d*)?(?:[eE][+-]?\d+)?\s*", re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)
_GAIN = re.compile(rf"\s*(?P<grade>\d{{1,15}})\s*=(?P<gain>{_NUMBER.pattern})", re.ASCII)


def named(name: str, text: str | None) -> str:
    """Return the name that trec_eval prints for a measure with parameters."""
    return name if text is None else f"{name}_{text}"


def read_ranks(name: str, text: str) -> list[int]:
    """Return cut-offs, in the ascending order in which they are printed.

    >>> read_ranks("P", "10,5")
    [5, 10]
    >>> read_ranks("recall", "1e2")
    [1]
    """
    ranks = [_read(_RANK, part, name, text, "ranks, as in P.5,10") for part in text.split(",")]
    ordered = sorted(int(rank[1]) for rank in ranks)
    if ordered[0] < 1:
        raise UsageError(f"measure {name}.{text}: a rank should be 1 or more")
    return distinct(name, text, ordered)


def read_numbers(name: str, text: str, low: float = 0.0) -> list[float]:
    """Return numbers, in the order in which they are written."""
    numbers = [float(_read(_NUMBER, part, name, text, "numbers, as in set_F.2.0")[0]) for part in text.split(",")]
    return _within(name, text, numbers, low)


def read_gains(name: str, text: str) -> dict[int, float]:
    """Return the gains of grades, in the order in which they are written."""
    pairs = [_read(_GAIN, part, name, text, "gains of grades, as in ndcg.1=3.5,2=9") for part in text.split(",")]
    grades = distinct(name, text, [int(pair["grade"]) for pair in pairs])
    gains = _within(name, text, [float(pair["gain"]) for pair in pairs], -LARGEST)
    return dict(zip(grades, gains, strict=True))


def _read(pattern: re.Pattern[str], part: str, name: str, text: str, wanted: str) -> re.Match[str]:
    match = pattern.fullmatch(part)
    if match is None:
        raise UsageError(f"measure {name}.{text}: {part!r} does not belong there; {name} takes {wanted}")
    return match


def _within(name: str, text: str, numbers: list[float], low: float) -> list[float]:
    if not all(low <= number <= LARGEST for number in numbers):
        raise UsageError(f"measure {name}.{text}: a number should be from {low:g} to {LARGEST:g}")
    return numbers


def distinct(name: str, text: str, values: list[Any]) -> list[Any]:
    """Return the values, or raise an error if one appears twice."""
    if len(set(values)) < len(values):
        raise UsageError(f"measure {name}.{text}: a parameter appears twice")
    return values
