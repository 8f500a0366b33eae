"""Answerers, which make an answer with citations from the best hits of a pipeline."""

from karat.systems.answer._answerer import Answerer, Passage
from karat.systems.answer._choice import make_answerer
from karat.systems.answer._extractive import Extractive

__all__ = ["Answerer", "Extractive", "Passage", "make_answerer"]
