"""Chunkers, which cut documents into chunks by size, sentence, separator, section or type."""

from typing import TYPE_CHECKING

from karat.core import open_lazily
from karat.systems.chunk._factory import ALIASES, CHUNKERS, make_chunker
from karat.systems.chunk._options import Context
from karat.systems.chunk._tokens import WORDS, Tokens, Words

if TYPE_CHECKING:
    from karat.systems.chunk._blocks import Blocks
    from karat.systems.chunk._fixed import Fixed
    from karat.systems.chunk._heading import Heading
    from karat.systems.chunk._recursive import SEPARATORS, Recursive
    from karat.systems.chunk._sentence import Sentence
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

# Imported at first use: a pipeline has one chunker.
_HOME = {
    "Blocks": "_blocks",
    "Fixed": "_fixed",
    "Heading": "_heading",
    **dict.fromkeys(("SEPARATORS", "Recursive"), "_recursive"),
    "Sentence": "_sentence",
    "Whole": "_whole",
}

__getattr__ = open_lazily(__name__, _HOME)
