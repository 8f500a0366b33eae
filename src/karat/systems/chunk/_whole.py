"""Whole documents as chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from karat.core import NORMALISER, Document
from karat.systems._chunk import Chunk
from karat.systems.chunk._cutting import Cutting, Part
from karat.systems.chunk._options import Context, check_context
from karat.systems.chunk._tokens import WORDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """Makes each document one chunk.

    >>> [chunk.span for chunk in Whole()(Document(id="wifi", text="The network is free. Ask at the desk."))]
    [Span(start=0, end=37)]
    """

    context: Context = "none"

    def __post_init__(self) -> None:
        check_context("whole", self.context)

    def __call__(self, document: Document, /) -> list[Chunk]:
        """Return the one chunk of a document; none if it is empty."""
        cutting = Cutting(document, context=self.context, tokens=WORDS)
        return cutting.chunks([Part(0, cutting.measured.stop)])

    def describe(self) -> dict[str, Any]:
        """Return everything that decides what the chunks are."""
        return {"chunker": "whole", "version": 1, "normaliser": NORMALISER, "context": self.context}
