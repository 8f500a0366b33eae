"""Finding words that a model copied in the text that it names."""

from __future__ import annotations

import re

_SAME = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-", "\u00a0": " "}
)
"""Marks that models write in another form, each with one character, so that places stay the same."""
_LEAST = 2  # words: a single one is in many texts
_MOST = 400


def find_quote(quote: str, text: str) -> tuple[int, int] | None:
    r"""Return where a quote of two words or more is in a text; None if it is not there.

    White space, case and the form of quotation marks and dashes do not count.

    >>> find_quote("the pool\u2019s  hours", "Here are The pool's\nhours.")
    (9, 25)
    >>> find_quote("the", "the pool") is None
    True
    """
    words = quote.translate(_SAME).strip(" \t\n\"'.").split()
    if not _LEAST <= len(words) <= _MOST:
        return None
    pattern = r"\s+".join(map(re.escape, words))
    match = re.search(pattern, text.translate(_SAME), re.IGNORECASE)
    return match.span() if match else None
