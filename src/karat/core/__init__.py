"""The values that every other package speaks of, and the errors that they raise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from karat.core._errors import InputError, KaratError, MeasureError, UsageError, did_you_mean
from karat.core._measure import MEASURES, Definition, Measure, Parameter, Value
from karat.core._registry import Registry

if TYPE_CHECKING:
    from karat.core._scores import Floats, Scores

__all__ = [
    "MEASURES",
    "Definition",
    "Floats",
    "InputError",
    "KaratError",
    "Measure",
    "MeasureError",
    "Parameter",
    "Registry",
    "Scores",
    "UsageError",
    "Value",
    "did_you_mean",
]


def __getattr__(name: str) -> Any:
    # Scores needs NumPy, whose import takes longer than `karat --help` may.
    if name in ("Scores", "Floats"):
        from karat.core import _scores

        return getattr(_scores, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
