"""Long prose, taken apart where sentences end."""

from __future__ import annotations

import re
from collections.abc import Iterator

_BREAK = re.compile(
    # White space after a full stop, perhaps with a bracket or quotation mark in between. Not before a lower-case
    # letter: that was "e.g." or the like.
    r"(?:(?<=[.!?\u2026])|(?<=[.!?\u2026][\"'\u201d\u2019\u00bb)\]]))\s++(?![a-z])"
    # Chinese and Japanese write no blank after it.
    r"|(?<=[\u3002\uff01\uff1f])(?![\s\u201d\u2019\u300d\u300f\uff09])"
    # An item of a list begins.
    r"|\n(?=[ \t]*+(?:[-+*]|[0-9]{1,9}[.)])[ \t])"
)


def sentence_parts(text: str, limit: int) -> Iterator[tuple[int, int]]:
    """Give the start and end, in characters, of parts of at most ``limit`` bytes, without the white space in between.

    A sentence that is longer than the limit is taken apart at the ends of its lines, and a line that is longer stays
    whole.

    >>> text = "Pay at the desk. Cards, e.g. debit cards, are fine. Cash is not."
    >>> [text[start:end] for start, end in sentence_parts(text, 40)]
    ['Pay at the desk.', 'Cards, e.g. debit cards, are fine.', 'Cash is not.']
    """
    first, end, size = -1, 0, 0
    for start, stop in _units(text, limit):
        more = len(text[end:stop].encode())  # with the white space before it
        if first >= 0 and size + more > limit:
            yield first, end
            first = -1
        if first < 0:
            first, size, more = start, 0, len(text[start:stop].encode())
        end, size = stop, size + more
    if first >= 0:
        yield first, end


def _units(text: str, limit: int) -> Iterator[tuple[int, int]]:
    start = 0
    for found in _BREAK.finditer(text):
        yield from _sentence(text, start, found.start(), limit)
        start = found.end()
    yield from _sentence(text, start, len(text), limit)


def _sentence(text: str, start: int, stop: int, limit: int) -> Iterator[tuple[int, int]]:
    if len(text[start:stop].encode()) <= limit:
        if start < stop and not text[start:stop].isspace():
            yield start, stop
        return
    for line in re.finditer(r"[^\n]+", text[start:stop]):
        if not line[0].isspace():
            yield start + line.start(), start + line.end()
