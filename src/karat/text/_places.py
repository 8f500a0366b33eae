"""Where judged parts of documents stand."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from karat.core import GoldenSet, Span, Target
from karat.text._canonical import canonical
from karat.text._outline import outline, resolve


def resolver(golden: GoldenSet) -> Callable[[Target], Span | None]:
    r"""Return a function from a target to its bytes, as :func:`karat.score_hits` takes it.

    The function returns a target's own span where it has one, and None where the set does not hold the document.

    >>> from karat.core import Document
    >>> wifi = Document(id="wifi", text="# WiFi\n\nFree.\n\n# Reset\n\nJoin again.\n")
    >>> where = resolver(GoldenSet(documents=(wifi,)))
    >>> where(Target(document="wifi", section="S.2")), where(Target(document="wifi"))
    (Span(start=24, end=35), Span(start=0, end=36))
    """

    @cache
    def whole(document: str) -> Span:
        return Span(0, len(canonical(golden.document_by_id[document].text).encode()))

    def place(target: Target) -> Span | None:
        document = golden.document_by_id.get(target.document)
        if document is None or target.span is not None:
            return target.span
        if target.whole:
            return whole(target.document)
        return resolve(outline(canonical(document.text)), section=target.section, block=target.block)

    return place
