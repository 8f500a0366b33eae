"""A chunk: a part of a document that is indexed and retrieved as a unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from karat.core import Document, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A part of a document, with its place in the document's canonical text."""

    id: str
    """``<document>:chunk:<n>``, counted from 0."""
    document: str
    span: Span
    """The bytes of the body: without context, and without white space at either end."""
    text: str
    """The indexed text: the body, perhaps after a line of context with the title or the headings above it."""
    type: str = ""
    """prose, code, table or figure; empty for a mixture, or if the chunker does not determine it."""
    section: str = ""
    """The id of the smallest section that contains it; empty without one, or if the chunker does not determine it."""


class Chunker(Protocol):
    """Cuts documents into chunks; the same document always gives the same chunks, in reading order."""

    def __call__(self, document: Document, /) -> Sequence[Chunk]:
        """Return the chunks of a document; every character that is not white space is in at least one."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return everything that decides what the chunks are, as plain data for fingerprints."""
        ...
