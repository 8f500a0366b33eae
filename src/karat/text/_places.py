"""Where the parts of a document stand, for judgments that name a section or a block."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from karat.core import GoldenSet, Span, Target
from karat.text._canonical import canonical
from karat.text._outline import Outline, outline, resolve


def resolver(golden: GoldenSet) -> Callable[[Target], Span | None]:
    r"""Give a function that tells the bytes of a target, for :func:`karat.score_hits`.

    None where the set does not hold the document. Outlines are made when they are needed, and kept.

    >>> from karat.core import Document
    >>> wifi = Document(id="wifi", text="# WiFi\n\nFree.\n\n# Reset\n\nJoin again.\n")
    >>> where = resolver(GoldenSet(documents=(wifi,)))
    >>> where(Target(document="wifi", section="S.2")), where(Target(document="wifi"))
    (Span(start=24, end=35), Span(start=0, end=36))
    """

    @cache
    def made(document: str) -> Outline | None:
        found = golden.document_by_id.get(document)
        return None if found is None else outline(canonical(found.text))

    def place(target: Target) -> Span | None:
        parts = made(target.document)
        if parts is None or target.span is not None:
            return target.span
        if target.whole:
            return Span(0, parts.size)
        return resolve(parts, section=target.section, block=target.block)

    return place
