"""A chunk: the part of a document that is indexed and found as one."""

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
    """What is indexed: the body, perhaps with its context, the title or the headings above it, on a line before it."""
    type: str = ""
    """prose, code, table or figure; empty where it is a mixture, or nobody looked."""
    section: str = ""
    """The id of the smallest section that holds all of it; empty where there is none, or nobody looked."""


class Chunker(Protocol):
    """Takes documents apart: the same document always gives the same chunks, in reading order."""

    def __call__(self, document: Document, /) -> Sequence[Chunk]:
        """Give the chunks of a document; every character that is not white space is in at least one."""
        ...

    def describe(self) -> dict[str, Any]:
        """Give all that decides what the chunks are, as plain data for fingerprints."""
        ...
