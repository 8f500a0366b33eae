"""Indexes of chunks, by their words and by their vectors. Each is built once, searched, saved and loaded."""

from karat.systems.index._dense import Dense
from karat.systems.index._lexical import Lexical, LexicalIndex
from karat.systems.index._saved import Saved, fingerprint, save
from karat.systems.index._vectors import VectorIndex

__all__ = ["Dense", "Lexical", "LexicalIndex", "Saved", "VectorIndex", "fingerprint", "save"]
