"""The members of the outermost object or array of a JSON document.

There is one piece for each member, because a question asks about a member, and because a member stays the same when
another one changes. An array of plain values is one piece: ``3`` alone answers nothing. Brackets and commas belong to
their neighbours, so that every character but white space is in one piece.
"""

from __future__ import annotations

import json
import re

from karat.text._pieces import Piece

_SPACE = re.compile(r"[ \t\n\r]*+")
_DECODER = json.JSONDecoder()


def members(text: str) -> list[Piece]:
    """Return the members of a JSON text as pieces of code; none where it is not a JSON object or array.

    >>> text = '{"room": 12, "beds": [1, 2]}'
    >>> [text[piece.start:piece.end] for piece in members(text)]
    ['{"room": 12,', '"beds": [1, 2]}']
    >>> members("[a link](x)")
    []
    """
    opening = _skip(text, 0)
    if text[opening : opening + 1] not in ("{", "["):
        return []
    try:
        places = _walk(text, opening)
    except (ValueError, RecursionError):  # not JSON, a number of thousands of digits, or nested too deep
        return []
    return [Piece("code", start, end) for start, end in places]


def _walk(text: str, opening: int) -> list[tuple[int, int]]:
    """Return where each member begins and ends, with the comma or bracket after it; raise ValueError if not JSON."""
    closing = "}" if text[opening] == "{" else "]"
    places: list[tuple[int, int]] = []
    plain = False
    start, at = opening, _skip(text, opening + 1)
    mark = ","
    if text[at : at + 1] == closing:  # nothing inside
        places, mark, at = [(opening, at + 1)], closing, _skip(text, at + 1)
    while mark == ",":
        at = _key(text, at) if closing == "}" else at
        value, at = _DECODER.raw_decode(text, at)
        plain = plain or not isinstance(value, dict | list)
        at = _skip(text, at)
        mark = text[at : at + 1]
        places.append((start, at + 1))
        start = at = _skip(text, at + 1)
    if mark != closing or at != len(text):
        raise ValueError
    return [(opening, places[-1][1])] if plain and closing == "]" else places


def _key(text: str, at: int) -> int:
    """Return where the value of a member begins."""
    key, at = _DECODER.raw_decode(text, at)
    at = _skip(text, at)
    if not isinstance(key, str) or text[at : at + 1] != ":":
        raise ValueError
    return _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at
