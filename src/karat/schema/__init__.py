"""Every JSON document that karat prints or writes: a type for each, and its published JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from karat.schema._scores import MeasureScore, RunScores, ScoreReport, SegmentScores

__all__ = [
    "MeasureScore",
    "RunScores",
    "ScoreReport",
    "SegmentScores",
]

# Loaded at first use: `karat --help` does without msgspec.
_HOME = {
    "MeasureScore": "_scores",
    "RunScores": "_scores",
    "ScoreReport": "_scores",
    "SegmentScores": "_scores",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        from importlib import import_module

        value = globals()[name] = getattr(import_module(f"karat.schema.{_HOME[name]}"), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
