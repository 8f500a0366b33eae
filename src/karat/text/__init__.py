"""Text: canonical form, sections and blocks with their places, sentences, and words."""

from typing import TYPE_CHECKING

from karat.core import open_lazily
from karat.text._canonical import canonical
from karat.text._ids import distance, section_of_block, section_path
from karat.text._outline import Block, Outline, Section, outline, resolve
from karat.text._places import resolver
from karat.text._sentences import line_places, sentence_places, sentences
from karat.text._words import (
    NEGATIONS,
    STOP_WORDS,
    content,
    folded,
    is_unspaced,
    letters,
    numbers,
    subject,
    word_pattern,
    words,
)

if TYPE_CHECKING:
    from karat.text._prose import Paragraph, prose
    from karat.text._quotes import find_quote, find_quote_again, has_quote

__all__ = [
    "NEGATIONS",
    "STOP_WORDS",
    "Block",
    "Outline",
    "Paragraph",
    "Section",
    "canonical",
    "content",
    "distance",
    "find_quote",
    "find_quote_again",
    "folded",
    "has_quote",
    "is_unspaced",
    "letters",
    "line_places",
    "numbers",
    "outline",
    "prose",
    "resolve",
    "resolver",
    "section_of_block",
    "section_path",
    "sentence_places",
    "sentences",
    "subject",
    "word_pattern",
    "words",
]

# Imported at first use: only those who make queries from documents, or judge spans, need them, and patterns take time.
if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(
        __name__,
        dict.fromkeys(("Paragraph", "prose"), "_prose")
        | dict.fromkeys(("find_quote", "find_quote_again", "has_quote"), "_quotes"),
    )
