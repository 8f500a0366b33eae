"""Judges of answers: what is supported, relevant and right, and how far that can be trusted."""

from karat.judges._lexical import Source, Support, lexical_support

__all__ = ["Source", "Support", "lexical_support"]
