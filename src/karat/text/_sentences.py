"""Where sentences begin and end.

A sentence ends with a full stop, a question mark, an exclamation mark or an ellipsis, perhaps with brackets or
quotation marks after it, before white space; and with the end of a paragraph, whatever stands there. It goes on where a
lower-case letter follows, and after initials, the number of a list item and the abbreviations below. Chinese and
Japanese write no white space after a full stop. An item of a list begins a sentence. A heading with a number sign
belongs to what follows it.

Two callers need other rules:

- :func:`sentences`, which makes queries, lets a sentence begin with a lower-case letter, as in chats and logs. A
  sentence that is cut too short is dropped there, while a whole log in one sentence could not be used at all.
- :func:`sentence_parts` takes long blocks apart for the outline. A golden set stores the ids of these parts
  (``S.4.2.p.Bk011a``), and one sentence more or less would rename all parts after it. Its rules are therefore frozen,
  as those of canonical text are. They know no abbreviations, test only for lower-case ASCII letters, allow one closing
  mark instead of three, take numbers of up to nine digits for those of list items, and see neither half-width full
  stops (U+FF61) nor bullets (U+2022). Paragraphs and headings never occur within a block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

_STOP = r"[.!?\u2026]"
_CLOSING = r"\"'\u201d\u2019\u00bb)\]"
_WIDE_STOP = r"\u3002\uff01\uff1f"
_WIDE_CLOSING = r"\u201d\u2019\u300d\u300f\uff09"
_ITEM = r"[ \t]*+(?:[-+*\u2022]|[0-9]{1,3}[.)])[ \t]"
_BLOCK_ITEM = r"[ \t]*+(?:[-+*]|[0-9]{1,9}[.)])[ \t]"

# The first character is one set, which the regex engine finds quickly; what it was is tested afterwards. All that
# repeats is possessive or bounded, so that no text makes it slow.
_BREAK = re.compile(
    rf"[.!?\u2026{_WIDE_STOP}\uff61\n](?:"
    rf"(?<={_STOP})[{_CLOSING}\u203a]{{0,3}}+(?P<blank>\s++)"
    rf"|(?<=[{_WIDE_STOP}\uff61])[{_WIDE_CLOSING}]{{0,3}}+(?![{_WIDE_STOP}\uff61\u2026])\s*+"
    r"|(?<=\n)(?P<paragraph>[^\S\n]*+\n\s*+)"
    rf"|(?<=\n)(?={_ITEM}|\#{{1,6}}[ \t])"
    r")"
)
_BLOCK_BREAK = re.compile(
    rf"(?:(?<={_STOP})|(?<={_STOP}[{_CLOSING}]))\s++(?![a-z])"
    rf"|(?<=[{_WIDE_STOP}])(?![\s{_WIDE_CLOSING}])"
    rf"|\n(?={_BLOCK_ITEM})"
)
_LINE = re.compile(r"\n\s*+")
_ABBREVIATION = re.compile(
    "approx|ca|cf|dr|e[.]g|eq|figs?|i[.]e|incl|jr|max|min|mr|mrs|ms|mt|prof|resp|sr|st|tel|vs|bzw|nr|u[.]a|vgl|z[.]b",
    re.IGNORECASE,
)
_BEFORE_NUMBER = re.compile("ch|nos?|pp?|sec|vol", re.IGNORECASE)
_LONGEST_WORD = 12
_LONGEST_HEADING = 300


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, each on one line; one may begin with a lower-case letter.

    >>> sentences("Wow! That is amazing. It weighs 3.5 kg, e.g. with Mr. Kay in it.")
    ['Wow!', 'That is amazing.', 'It weighs 3.5 kg, e.g. with Mr. Kay in it.']
    """
    starts = [0, *sentence_places(text, 0, len(text), lower=True), len(text)]
    lines = (" ".join(text[start:end].split()) for start, end in pairwise(starts))
    return [line for line in lines if line]


def sentence_places(text: str, start: int, stop: int, *, lower: bool = False) -> Iterator[int]:
    """Yield the places in ``text[start:stop]`` at which a sentence begins after another one, in order.

    With ``lower`` a sentence may begin with a lower-case letter.

    >>> text = "Pay at the desk. Cards, e.g. debit cards, are fine. Ask Mr. Kay!"
    >>> [text[at:at + 5] for at in sentence_places(text, 0, len(text))]
    ['Cards', 'Ask M']
    """
    for match in _BREAK.finditer(text, start, stop):
        at = match.end()
        if at == stop:
            return
        blank = match["blank"]
        if blank is not None and blank.count("\n") < 2 and _goes_on(text, start, match, lower):
            continue
        if not ((blank or match["paragraph"]) and _in_heading(text, start, match.start())):
            yield at


def line_places(text: str, start: int, stop: int) -> Iterator[int]:
    """Yield the places in ``text[start:stop]`` at which a line begins that is not blank, in order."""
    return (match.end() for match in _LINE.finditer(text, start, stop) if match.end() < stop)


def _goes_on(text: str, start: int, match: re.Match[str], lower: bool) -> bool:
    """Return whether a sentence goes on after what might be its full stop."""
    after, stop = text[match.end()], match.start()
    if after.islower() and not lower:
        return True
    if text[stop] != "." or match.start("blank") > stop + 1:
        return False
    before = text[max(start, stop - _LONGEST_WORD) : stop]
    word = before[max(map(before.rfind, " \t\n(")) + 1 :]
    if word.isdecimal():
        margin = before[: -len(word)].rstrip(" \t")
        return len(word) <= 3 and margin[-1:] in ("", "\n")
    if len(word) == 1:
        return word.isupper()
    return bool(_ABBREVIATION.fullmatch(word) or (after.isdecimal() and _BEFORE_NUMBER.fullmatch(word)))


def _in_heading(text: str, start: int, end: int) -> bool:
    """Return whether a place is on the line of a heading, or at its end."""
    # Not further back: the text may be one endless line.
    first = text.rfind("\n", max(start, end - _LONGEST_HEADING), end) + 1 or start
    return text[first] == "#" and end - first <= _LONGEST_HEADING and text[first:end].lstrip("#")[:1] in (" ", "\t")


def sentence_parts(text: str, limit: int) -> Iterator[tuple[int, int]]:
    """Yield start and end, in characters, of parts of whole sentences with at most ``limit`` bytes.

    The white space between two parts belongs to neither. A sentence that is longer than the limit is taken apart at
    its line ends, and a line that is longer stays whole. Ids of blocks depend on the result, so that it must never
    change.

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
    """Yield the sentences of a block, and the lines of those that are longer than the limit."""
    start = 0
    for match in _BLOCK_BREAK.finditer(text):
        yield from _sentence(text, start, match.start(), limit)
        start = match.end()
    yield from _sentence(text, start, len(text), limit)


def _sentence(text: str, start: int, stop: int, limit: int) -> Iterator[tuple[int, int]]:
    if len(text[start:stop].encode()) <= limit:
        if start < stop and not text[start:stop].isspace():
            yield start, stop
        return
    for line in re.finditer(r"[^\n]+", text[start:stop]):
        if not line[0].isspace():
            yield start + line.start(), start + line.end()
