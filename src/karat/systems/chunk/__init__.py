"""Chunkers, which cut documents into chunks by size, sentence, separator, section or type."""

from karat.systems.chunk._blocks import Blocks
from karat.systems.chunk._factory import ALIASES, CHUNKERS, make_chunker
from karat.systems.chunk._fixed import Fixed
from karat.systems.chunk._heading import Heading
from karat.systems.chunk._options import Context
from karat.systems.chunk._recursive import SEPARATORS, Recursive
from karat.systems.chunk._sentence import Sentence
from karat.systems.chunk._tokens import WORDS, Tokens, Words
from karat.systems.chunk._whole import Whole

__all__ = [
    "ALIASES",
    "CHUNKERS",
    "SEPARATORS",
    "WORDS",
    "Blocks",
    "Context",
    "Fixed",
    "Heading",
    "Recursive",
    "Sentence",
    "Tokens",
    "Whole",
    "Words",
    "make_chunker",
]
