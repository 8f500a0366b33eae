"""Text: canonical form, sections and blocks with their places, sentences, and words."""

from karat.text._canonical import canonical
from karat.text._ids import distance, section_of_block, section_path
from karat.text._outline import Block, Outline, Section, outline, resolve
from karat.text._places import resolver
from karat.text._prose import Paragraph, prose
from karat.text._sentences import line_places, sentence_places, sentences
from karat.text._words import NEGATIONS, STOP_WORDS, UNSPACED, content, folded, letters, numbers, subject, words

__all__ = [
    "NEGATIONS",
    "STOP_WORDS",
    "UNSPACED",
    "Block",
    "Outline",
    "Paragraph",
    "Section",
    "canonical",
    "content",
    "distance",
    "folded",
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
    "words",
]
