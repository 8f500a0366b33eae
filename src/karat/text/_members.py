"""A JSON document, taken apart into the members of its outermost object or array.

One piece for each member, because a member is what a question asks about, and because it stays the same when another
one changes, which the whole text does not. An array that holds plain values is one piece: ``3`` alone answers nothing.
Brackets and commas go with their neighbours, so that every character but white space is in one piece.
"""

from __future__ import annotations

import json
import re

from karat.text._pieces import Piece

_SPACE = re.compile(r"[ \t\n\r]*+")
_DECODER = json.JSONDecoder()


def members(text: str) -> list[Piece]:
    """Give the members of a JSON text as pieces of code; none where it is no JSON object or array.

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
        found = _walk(text, opening)
    except (ValueError, RecursionError):  # no JSON, a number of thousands of digits, or nested too deep
        return []
    return [Piece("code", start, end) for start, end in found]


def _walk(text: str, opening: int) -> list[tuple[int, int]]:
    """Give where each member begins and ends, with the comma or bracket after it; ValueError where it is no JSON."""
    closing = "}" if text[opening] == "{" else "]"
    found: list[tuple[int, int]] = []
    plain = False
    start, at = opening, _skip(text, opening + 1)
    mark = ","
    if text[at : at + 1] == closing:  # nothing inside
        found, mark, at = [(opening, at + 1)], closing, _skip(text, at + 1)
    while mark == ",":
        at = _key(text, at) if closing == "}" else at
        value, at = _DECODER.raw_decode(text, at)
        plain = plain or not isinstance(value, dict | list)
        at = _skip(text, at)
        mark = text[at : at + 1]
        found.append((start, at + 1))
        start = at = _skip(text, at + 1)
    if mark != closing or at != len(text):
        raise ValueError
    return [(opening, found[-1][1])] if plain and closing == "]" else found


def _key(text: str, at: int) -> int:
    """Give where the value of a member begins."""
    key, at = _DECODER.raw_decode(text, at)
    at = _skip(text, at)
    if not isinstance(key, str) or text[at : at + 1] != ":":
        raise ValueError
    return _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
