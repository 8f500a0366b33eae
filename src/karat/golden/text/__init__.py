"""The text of documents: its canonical form, its sections and blocks, and where they stand."""

from karat.golden.text._canonical import canonical
from karat.golden.text._ids import distance, section_of_block, section_path
from karat.golden.text._outline import Block, Outline, Section, outline, resolve
from karat.golden.text._places import resolver

__all__ = [
    "Block",
    "Outline",
    "Section",
    "canonical",
    "distance",
    "outline",
    "resolve",
    "resolver",
    "section_of_block",
    "section_path",
]
