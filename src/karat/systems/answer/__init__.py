"""Answerers, which make an answer with citations from the best hits of a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core import open_lazily
from karat.systems.answer._answerer import Answerer, Passage
from karat.systems.answer._choice import KINDS, make_answerer
from karat.systems.answer._extractive import Extractive

if TYPE_CHECKING:
    from karat.systems.answer._generating import Generating

__all__ = ["KINDS", "Answerer", "Extractive", "Generating", "Passage", "make_answerer"]

# Imported at first use, with the client of models.
if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, {"Generating": "_generating"})
