"""Tokens, which measure the size of chunks.

The built-in tokeniser, ``karat-words-1``, needs no model and never changes; other rules would have another name. White
space separates tokens and is part of none. Otherwise a token is

- a word: letters, digits, underscores and marks, at most 32 characters; anything longer, such as base64, counts as
  several tokens, so that no chunk can be arbitrarily long;
- in scripts that write no blanks between words (Chinese, Japanese, Thai, Lao, Burmese, Khmer), one character with its
  marks;
- a run of one and the same ASCII sign, at most 32: ``.``, ``...``, ``---``, ``##``;
- a flag of two letters;
- any other character with its marks and what zero-width joiners tie to it: one emoji, one token.

Python's Unicode tables decide what a letter is. In English, 1.1 to 1.4 tokens of a usual embedding model correspond to
one of these. To count as a model does, pass a chunker the model's own tokeniser: any function from a text to the start
and end of each token, in characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import ClassVar, TypeAlias

from karat.core import UsageError, shorten

Tokens: TypeAlias = Callable[[str], Sequence[tuple[int, int]]]
"""Returns the start and end of each token of a text, in characters and in order."""

LONGEST = 32
"""Characters in a token; a longer one counts as several, with any tokeniser."""

_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3"
    "\u0900-\u0903\u093a-\u093c\u093e-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc\u09be-\u09cd\u09d7\u09e2\u09e3"
    "\u0a01-\u0a03\u0a3c-\u0a51\u0a70\u0a71\u0a75\u0a81-\u0a83\u0abc\u0abe-\u0acd\u0ae2\u0ae3\u0b01-\u0b03\u0b3c"
    "\u0b3e-\u0b57\u0b62\u0b63\u0b82\u0bbe-\u0bcd\u0bd7\u0c00-\u0c04\u0c3c\u0c3e-\u0c56\u0c62\u0c63\u0c81-\u0c83\u0cbc"
    "\u0cbe-\u0cd6\u0ce2\u0ce3\u0d00-\u0d03\u0d3b\u0d3c\u0d3e-\u0d4d\u0d57\u0d62\u0d63\u0d81-\u0d83\u0dca-\u0ddf"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f35\u0f37\u0f39\u0f71-\u0f84\u0f8d-\u0fbc"
    "\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d"
    "\u135d-\u135f\u17b4-\u17d3\u17dd\u180b-\u180f\u1ab0-\u1ace\u1dc0-\u1dff\u200c\u200d\u20d0-\u20f0\u302a-\u302f"
    "\u3099\u309a\ufe00-\ufe0f\ufe20-\ufe2f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\U000e0100-\U000e01ef"
)
_UNSPACED = (
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2\u0eb3\u0ec0-\u0ec6\u1000-\u102a\u1050-\u1055\u1780-\u17b3"
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)


@cache
def _joined() -> re.Pattern[str]:
    """Return the pattern of two characters that belong together, compiled at first use: kept chunks need neither."""
    return re.compile(rf"[^\W{_UNSPACED}][^\W{_UNSPACED}]|\S[{_MARKS}]")


@cache
def _token() -> re.Pattern[str]:
    """Return the pattern of a token, compiled at first use."""
    return re.compile(
        rf"(?:(?![{_UNSPACED}])[\w{_MARKS}]){{1,{LONGEST}}}+"
        rf"|[{_UNSPACED}][{_MARKS}]{{0,{LONGEST}}}+"
        rf"|([!-/:-@\[-^`{{-~])\1{{0,{LONGEST - 1}}}+(?![{_MARKS}])"
        rf"|[\U0001f1e6-\U0001f1ff]{{2}}[{_MARKS}]{{0,{LONGEST}}}+"
        rf"|[^\w\s](?:\u200d[^\w\s]|[{_MARKS}]){{0,{LONGEST}}}+"
    )


class Words:
    """The built-in tokeniser.

    >>> text = "Late check-out: 20 €."
    >>> [text[start:end] for start, end in Words()(text)]
    ['Late', 'check', '-', 'out', ':', '20', '€', '.']
    """

    name: ClassVar[str] = "karat-words-1"

    def __call__(self, text: str) -> list[tuple[int, int]]:
        """Return the start and end of each token."""
        return [token.span() for token in _token().finditer(text)]

    def __repr__(self) -> str:
        return "WORDS"


WORDS = Words()


def token_starts(text: str, tokens: Tokens) -> list[int]:
    """Return the characters at which tokens begin, in rising order; several tokens may begin at one character.

    Byte-level tokenisers make several tokens of one character, all at the same place. An empty token, which they make
    of a blank, counts. A token from 0 to 0, which marks the beginning or the end of a text, does not.
    """
    if isinstance(tokens, Words):
        return [token.start() for token in _token().finditer(text)]
    spans = [(start, end) for start, end in tokens(text) if end]
    for (start, _), (after, _) in pairwise(spans):
        if after < start:
            raise UsageError(f"tokens: one at character {after} comes after one at {start}; return them in order")
    for start, end in spans:
        if not 0 <= start <= end <= len(text):
            raise UsageError(f"tokens: {start} to {end} is not part of a text of {len(text)} characters")
    # Sorted, as tokens may overlap.
    return sorted(at for start, end in spans for at in range(start, max(end, start + 1), LONGEST))


def continues(text: str, at: int) -> bool:
    """Return whether a character continues the one before: within a word, or within what a reader sees as one sign."""
    if not 0 < at < len(text):
        return False
    before, here = text[at - 1], text[at]
    if here <= "\u02ff" and before <= "\u02ff":
        return (before.isalnum() or before == "_") and (here.isalnum() or here == "_")
    return before == "\u200d" or _joined().fullmatch(before + here) is not None


def name_of(tokens: Tokens) -> str:
    """Return the name of a tokeniser for fingerprints."""
    name = getattr(tokens, "name", None)
    if isinstance(name, str) and name:
        return name
    function = getattr(tokens, "__qualname__", "<>")
    if "<" in function:  # a lambda, a function within another, or an object
        raise UsageError(
            f"tokens = {shorten(tokens)} has no name, which the fingerprint needs; "
            "give it an attribute `name` with model and version"
        )
    return f"{tokens.__module__}.{function}"
