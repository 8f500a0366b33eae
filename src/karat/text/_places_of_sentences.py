"""Where sentences and lines begin.

A sentence ends with a full stop, a question mark, an exclamation mark or an ellipsis, perhaps with brackets or
quotation marks after it, before white space; and with the end of a paragraph, whatever stands there. Not where a
lower-case letter follows, nor after initials, the number of a list item, and the abbreviations below. Chinese and
Japanese need no blank. An item of a list begins a sentence. A heading with a number sign belongs to what follows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# The first character is one set, which is looked for quickly; what it was is asked afterwards. All that repeats is
# possessive or bounded, so that no text makes it slow.
_BREAK = re.compile(
    r"[.!?\u2026\u3002\uff01\uff1f\uff61\n](?:"
    r"(?<=[.!?\u2026])[\"'\u201d\u2019\u00bb\u203a)\]]{0,3}+(?P<blank>\s++)"
    r"|(?<=[\u3002\uff01\uff1f\uff61])[\u201d\u2019\u300d\u300f\uff09]{0,3}+(?![\u3002\uff01\uff1f\uff61\u2026])\s*+"
    r"|(?<=\n)(?P<paragraph>[^\S\n]*+\n\s*+)"
    r"|(?<=\n)(?=[ \t]*+(?:[-+*\u2022]|[0-9]{1,3}[.)])[ \t]|\#{1,6}[ \t])"
    r")"
)
_LINE = re.compile(r"\n\s*+")
_ABBREVIATION = re.compile(
    "approx|ca|cf|dr|e[.]g|eq|figs?|i[.]e|incl|jr|max|min|mr|mrs|ms|mt|prof|resp|sr|st|tel|vs|bzw|nr|u[.]a|vgl|z[.]b",
    re.IGNORECASE,
)
_BEFORE_NUMBER = re.compile("ch|nos?|pp?|sec|vol", re.IGNORECASE)
_LONGEST_WORD = 12
_LONGEST_HEADING = 300


def sentence_places(text: str, start: int, stop: int) -> Iterator[int]:
    """Give the characters between two others at which a sentence begins, in order.

    >>> text = "Pay at the desk. Cards, e.g. debit cards, are fine. Ask Mr. Kay!"
    >>> [text[at:at + 5] for at in sentence_places(text, 0, len(text))]
    ['Cards', 'Ask M']
    """
    for found in _BREAK.finditer(text, start, stop):
        at = found.end()
        if at == stop:
            return
        blank = found["blank"]
        if blank is not None and blank.count("\n") < 2 and _goes_on(text, start, found):
            continue
        if not ((blank or found["paragraph"]) and _in_heading(text, start, found.start())):
            yield at


def line_places(text: str, start: int, stop: int) -> Iterator[int]:
    """Give the characters between two others at which a line begins that is not blank, in order."""
    return (found.end() for found in _LINE.finditer(text, start, stop) if found.end() < stop)


def _goes_on(text: str, start: int, found: re.Match[str]) -> bool:
    """Say whether a sentence goes on after what might be its full stop."""
    after, stop = text[found.end()], found.start()
    if after.islower():
        return True
    if text[stop] != "." or found.start("blank") > stop + 1:
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
    """Say whether a character stands on the line of a heading, or at its end."""
    # Not further back: the text may be one endless line.
    first = text.rfind("\n", max(start, end - _LONGEST_HEADING), end) + 1 or start
    return text[first] == "#" and end - first <= _LONGEST_HEADING and text[first:end].lstrip("#")[:1] in (" ", "\t")
