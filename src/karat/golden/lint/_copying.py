"""Whether a query was copied from a document."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from karat.text import STOP_WORDS, UNSPACED, words

RUN = 8
"""Words in a row that two people hardly ever choose alike, when at least five of them carry the subject."""
_RUN_CONTENT = 5
WHOLE = 5
"""Words that a query has at least when all of it can count as copied: fewer are keywords, which have to match."""
_WHOLE_CONTENT = 3
SHARE = 0.8
"""Of a query's three-word runs, how many stand in the document when all of it counts as copied."""


class Source:
    """A document that queries may have been copied from.

    >>> guide = Source("Hold the reset button of the access point for ten seconds, then wait.")
    >>> guide.gave("hold the reset button for ten seconds"), guide.gave("reset button of the access point?")
    (False, True)
    """

    def __init__(self, text: str) -> None:
        self._words = words(text)

    @cached_property
    def _runs(self) -> frozenset[tuple[str, ...]]:
        return frozenset(_runs(self._words))

    @cached_property
    def _joined(self) -> str:
        return f" {' '.join(self._words)} "

    def gave(self, query: str) -> bool:
        """Say whether a query has a long run of words from here, or nearly all of its short ones."""
        asked = words(query)
        # A word has about two characters where each counts as one.
        scale = 2 if sum(map(_unspaced, asked)) * 2 > len(asked) else 1
        if len(asked) < WHOLE * scale:
            return False
        shared = [run in self._runs for run in _runs(asked)]
        if sum(shared) >= SHARE * len(shared) and _content(asked) >= _WHOLE_CONTENT * scale:
            return True
        return any(self._gave_run(asked[i:], scale) for i in _stretches(shared, RUN * scale - 2))

    def _gave_run(self, asked: Sequence[str], scale: int) -> bool:
        """Say whether some words begin with a long run from here that is not mere grammar."""
        end = RUN * scale
        while end <= len(asked) and f" {' '.join(asked[:end])} " in self._joined:
            if _content(asked[:end]) >= _RUN_CONTENT * scale:
                return True
            end += 1
        return False


def _runs(words: Sequence[str]) -> list[tuple[str, ...]]:
    return list(zip(words, words[1:], words[2:], strict=False))


def _stretches(shared: Sequence[bool], length: int) -> list[int]:
    """Give the places from which so many in a row are shared."""
    starts, run = [], 0
    for i, one in enumerate(shared):
        run = run + 1 if one else 0
        if run >= length:
            starts.append(i - length + 1)
    return starts


def _content(words: Sequence[str]) -> int:
    return sum(word not in STOP_WORDS for word in words)


def _unspaced(word: str) -> bool:
    return len(word) == 1 and UNSPACED.match(word) is not None
