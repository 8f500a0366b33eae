"""Answerers, which make an answer with citations from the best hits of a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from karat.systems.answer._answerer import Answerer, Passage
from karat.systems.answer._choice import KINDS, make_answerer
from karat.systems.answer._extractive import Extractive

if TYPE_CHECKING:
    from karat.systems.answer._generating import Generating

__all__ = ["KINDS", "Answerer", "Extractive", "Generating", "Passage", "make_answerer"]


def __getattr__(name: str) -> Any:
    if name == "Generating":  # imported at first use, with the client of models
        from karat.systems.answer._generating import Generating

        return Generating
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
