"""Words of a document that somebody chose: where they stand, and whether they stand there still."""

from __future__ import annotations

import re

from karat.core import Span, UsageError, shorten
from karat.text._canonical import canonical


def squeeze(text: str) -> str:
    """Return the words of a text with one blank between them."""
    return " ".join(text.split())


def has_quote(text: str, span: Span, quote: str) -> bool:
    """Return whether a span of a canonical text has some words; line breaks and blanks count the same.

    >>> has_quote("Free for guests.", Span(9, 15), "guests"), has_quote("Free for all guests.", Span(9, 15), "guests")
    (True, False)
    """
    return squeeze(text.encode()[span.start : span.end].decode(errors="replace")) == squeeze(canonical(quote))


def find_quote_again(text: str, span: Span, quote: str) -> Span | None:
    """Return where the words of a span stand now in a canonical text; None if they are gone, or stand there twice.

    >>> find_quote_again("Free for all guests.", Span(9, 15), "guests")
    Span(start=13, end=19)
    """
    if has_quote(text, span, quote):
        return span
    words = squeeze(canonical(quote))
    squeezed = squeeze(text)
    first = squeezed.find(words)
    if not words or first < 0 or squeezed.find(words, first + 1) >= 0:
        return None
    return Span(*find_quote(text, quote))


def find_quote(text: str, quote: str) -> tuple[int, int]:
    r"""Return the bytes of a canonical text at which some words stand first; line breaks and blanks count the same.

    >>> find_quote("Free for\n\nguests.\n", "for guests")
    (5, 16)
    """
    words, squeezed = " ".join(canonical(quote).split()), " ".join(text.split())
    first = squeezed.find(words)
    if first < 0:
        raise UsageError(f"the document does not have the words {shorten(words)}; copy them from it")
    # A pattern with all words would be tried at each place, for as long as it fits there.
    begins = [match.start() for match in re.finditer(r"\S+", text)]

    def locate(place: int) -> int:
        """Return where a character of the squeezed text stands in the text."""
        return begins[squeezed.count(" ", 0, place)] + place - (squeezed.rfind(" ", 0, place) + 1)

    start, end = locate(first), locate(first + len(words) - 1) + 1
    return len(text[:start].encode()), len(text[:end].encode())
