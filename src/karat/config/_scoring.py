"""How a run is scored: the options of ``[eval]`` in karat.toml, of the commands that score, and of ``evaluate``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypedDict, cast, get_args

from karat.core import Ids, Undefined, Unit, UsageError, shorten


class Scoring(TypedDict, total=False):
    """How a run is scored, apart from its measures."""

    unit: Unit
    """What counts as found: whole documents, or the judged parts of them."""
    undefined: Undefined
    """How to score a query for which a measure is undefined."""
    ids: Ids
    """How the ids of hits name documents and parts."""
    min_score: float | None
    """The score from which on a hit counts as returned, for systems that leave the cut to their caller."""


SCORING: Scoring = {"unit": "document", "undefined": "exclude", "ids": "chunk", "min_score": None}
"""The default of each option. Evaluations with different options cannot be compared."""
CHOICES: Mapping[str, tuple[str, ...]] = {
    "unit": get_args(Unit),
    "undefined": get_args(Undefined),
    "ids": get_args(Ids),
}
"""The values of the options that have a fixed set of them."""


def choose_scoring(*options: Mapping[str, Any]) -> Scoring:
    """Return all options, the first mapping that has one deciding; None means that an option is not chosen.

    >>> choose_scoring({"unit": None}, {"unit": "target"})
    {'unit': 'target', 'undefined': 'exclude', 'ids': 'chunk', 'min_score': None}
    >>> choose_scoring({"undefined": "nil"})
    Traceback (most recent call last):
    karat.core._errors.UsageError: undefined='nil'; choose from exclude, zero, one
    """
    chosen: dict[str, Any] = {}
    for name, default in SCORING.items():
        values = (mapping[name] for mapping in options if mapping.get(name) is not None)
        chosen[name] = value = next(values, default)
        if name in CHOICES and value not in CHOICES[name]:
            raise UsageError(f"{name}={shorten(value)}; choose from {', '.join(CHOICES[name])}")
    least = chosen["min_score"]
    if least is not None and (
        isinstance(least, bool) or not isinstance(least, int | float) or not math.isfinite(least)
    ):
        raise UsageError(f"min_score={shorten(least)}; choose a number")
    return cast("Scoring", chosen)
