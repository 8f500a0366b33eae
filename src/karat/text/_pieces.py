"""Pieces of a text in reading order: its headings, and between them prose, code, tables and figures.

Headings are ``#`` lines, and lines underlined with at least three ``=`` or ``-``: one line of at most 200 characters
that begins a paragraph, and is not a list item or part of one, a quotation or a row of a table.

Plain text has neither. There a heading is a line that begins with a number, such as ``4.2 Late check-out`` and
``1. Scope``. As such a line is as often a list item, **all** of this must hold:

- The document has no other kind of heading, except one that comes first, which is its title.
- It stands alone between blank lines, or at the beginning of the text, and something that is not indented follows.
- The number has up to six components of up to three digits. The title has at most 80 characters and 12 words, begins
  with a letter that is not lower-case, and does not end with a full stop, comma, colon, semicolon or exclamation mark.
- Where such lines follow each other with nothing in between, each continues the number of the one before (4, then 4.1);
  otherwise they are a list or a table of contents.
- All such numbers of the document rise, and there are at least two, or the only one has several components.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from typing import Literal, NamedTuple

from karat.text._ids import Path
from karat.text._lines import MARKER, atx, indent, runs
from karat.text._numbering import DEEPEST, number_of

_UNDERLINE = re.compile(r" ?(?P<mark>=|-)(?P=mark){2,}")
_LONGEST_TITLE = 200
_NUMBERED = re.compile(r"[0-9.]+[ \t]+(?P<title>[^\W\d_](?:.*[^.,:;!])?)")
_LONGEST_NUMBERED, _MOST_WORDS = 80, 12
_IMAGE = re.compile(r"\[?!\[[^\]]*\]\([^()]*(?:\([^()]*\)[^()]*)*\)(?:\]\([^()]*\))?")
_CAPTION = re.compile(r"[*_]*(?:figure|fig\.?|image|abbildung|abb\.?)\s*[0-9]", re.IGNORECASE)


class Piece(NamedTuple):
    """Whole lines, from the character ``start`` to the character ``end``, without the last line's end."""

    kind: Literal["heading", "prose", "code", "table", "figure"]
    start: int
    end: int
    level: int = 0
    title: str = ""


class _Part(NamedTuple):
    """A piece, counted in lines."""

    kind: Literal["heading", "prose", "code", "table", "figure"]
    start: int
    stop: int
    level: int = 0
    title: str = ""


def pieces(text: str) -> list[Piece]:
    r"""Return the pieces of a text, which hold every character that is not white space.

    >>> [(piece.kind, piece.start, piece.end) for piece in pieces("Prices\n======\nA room\ncosts 80.\n")]
    [('heading', 0, 13), ('prose', 14, 30)]
    """
    lines = text.split("\n")
    parts = _numbered(lines, _with_captions(lines, _parts(lines)))
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    return [Piece(part.kind, starts[part.start], starts[part.stop] - 1, part.level, part.title) for part in parts]


def _parts(lines: Sequence[str]) -> Iterator[_Part]:
    for kind, start, stop in runs(lines):
        if kind == "text":
            yield from _paragraph(lines, start, stop)
        elif kind == "heading":
            level, title = atx(lines[start]) or (1, "")
            yield _Part(kind, start, stop, level, title)
        elif kind != "blank":
            yield _Part(kind, start, stop)


def _paragraph(lines: Sequence[str], start: int, stop: int) -> Iterator[_Part]:
    """Yield the parts of lines without a blank one between them: underlined headings, images, and prose."""
    at = start
    while at < stop:
        line = lines[at]
        if _is_image(line):
            if start < at:
                yield _Part("prose", start, at)
            start = _after_figure(lines, at, stop)
            yield _Part("figure", at, start)
            at = start
        elif at == start and at + 1 < stop and (level := _underlined(line, lines[at + 1])):
            yield _Part("heading", at, at + 2, level, line.strip())
            at = start = at + 2
        else:
            at += 1
    if start < stop:
        yield _Part("prose", start, stop)


def _underlined(line: str, below: str) -> int:
    """Return the level of an underlined heading, or 0 if the lines are not one."""
    if not (rule := _UNDERLINE.fullmatch(below.rstrip())) or len(line) > _LONGEST_TITLE:
        return 0
    # What is indented further belongs to a list item.
    if indent(line) > 1 or "|" in line or MARKER.match(line) or _is_drawn(line):
        return 0
    return 0 if line.lstrip()[0] == ">" else 1 if rule["mark"] == "=" else 2


def _is_drawn(line: str) -> bool:
    """Return whether a line is drawn with dashes and the like, and has no words."""
    return not line.strip().strip("-=_*")


def _is_image(line: str) -> bool:
    return "![" in line and _IMAGE.fullmatch(line.strip()) is not None


def _after_figure(lines: Sequence[str], at: int, stop: int) -> int:
    """Return the line after an image and its caption: the last line of the paragraph, or one like "Figure 1"."""
    after = at + 1
    if after == stop or _is_image(lines[after]) or _is_drawn(lines[after]):
        return after
    return after + 1 if after + 1 == stop or _CAPTION.match(lines[after]) else after


def _with_captions(lines: Sequence[str], parts: Iterable[_Part]) -> list[_Part]:
    """Return the parts, with the caption that follows a figure after one blank line joined to it."""
    joined: list[_Part] = []
    for part in parts:
        if joined and joined[-1].kind == "figure" and _is_caption(lines, joined[-1], part):
            joined[-1] = joined[-1]._replace(stop=part.stop)
        else:
            joined.append(part)
    return joined


def _is_caption(lines: Sequence[str], figure: _Part, part: _Part) -> bool:
    if part.kind != "prose" or part.start != figure.stop + 1 or not _is_image(lines[figure.stop - 1]):
        return False  # there is not exactly one blank line in between, or the figure has a caption already
    return _CAPTION.match(lines[part.start]) is not None


def _numbered(lines: Sequence[str], parts: list[_Part]) -> list[_Part]:
    """Return the parts, with numbered lines of a plain text as headings."""
    if any(part.kind == "heading" for part in parts[1:]):
        return parts
    numbers = {at: number for at in range(len(parts) - 1) if (number := _number(lines, parts, at))}
    numbers = _without_lists(numbers)
    if not _rise(list(numbers.values())):
        return parts
    # Below every other kind of heading, as the only other one may be the title.
    return [
        _Part("heading", part.start, part.stop, DEEPEST + len(numbers[at]), lines[part.start].strip())
        if at in numbers
        else part
        for at, part in enumerate(parts)
    ]


def _number(lines: Sequence[str], parts: Sequence[_Part], at: int) -> Path:
    """Return the number of a line that may be a heading, judged by itself; () if it cannot be one."""
    part, line = parts[at], lines[parts[at].start].rstrip()
    if part.kind != "prose" or part.stop - part.start > 1 or not "0" <= line[0] <= "9":
        return ()
    if (part.start and lines[part.start - 1].strip()) or lines[part.stop].strip():
        return ()
    match = _NUMBERED.fullmatch(line) if len(line) <= _LONGEST_NUMBERED else None
    if not match or match["title"][0].islower() or len(line.split()) > _MOST_WORDS:
        return ()
    return number_of(line) if indent(lines[parts[at + 1].start]) < 2 else ()


def _without_lists(numbers: dict[int, Path]) -> dict[int, Path]:
    """Return the numbers without neighbours, unless each of them continues the number of the one before."""
    headings: dict[int, Path] = {}
    for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        neighbours = [at for _, at in group]
        if all(numbers[b][: len(numbers[a])] == numbers[a] for a, b in pairwise(neighbours)):
            headings.update((at, numbers[at]) for at in neighbours)
    return headings


def _rise(numbers: Sequence[Path]) -> bool:
    if len(numbers) == 1:
        return len(numbers[0]) > 1
    return all(a < b for a, b in pairwise(numbers))
