"""Whether a query was copied from a document."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from karat.text import STOP_WORDS, UNSPACED, words

RUN = 8
"""A run of this many words is hardly ever chosen twice, if at least five of them carry the subject."""
_RUN_CONTENT = 5
WHOLE = 5
"""The fewest words of a query that can count as copied as a whole: fewer are keywords, which have to match."""
_WHOLE_CONTENT = 3
SHARE = 0.8
"""The share of a query's three-word runs in the document from which on all of it counts as copied."""


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
        """Return whether a query has a long run of words of this document, or nearly all of its short runs."""
        asked = words(query)
        # In scripts without spaces each character counts as a word, and a real word has about two.
        scale = 2 if sum(map(_unspaced, asked)) * 2 > len(asked) else 1
        if len(asked) < WHOLE * scale:
            return False
        shared = [run in self._runs for run in _runs(asked)]
        if sum(shared) >= SHARE * len(shared) and _content(asked) >= _WHOLE_CONTENT * scale:
            return True
        return any(self._gave_run(asked[i:], scale) for i in _stretches(shared, RUN * scale - 2))

    def _gave_run(self, asked: Sequence[str], scale: int) -> bool:
        """Return whether words begin with a long run of this document that is not mere grammar."""
        end = RUN * scale
        while end <= len(asked) and f" {' '.join(asked[:end])} " in self._joined:
            if _content(asked[:end]) >= _RUN_CONTENT * scale:
                return True
            end += 1
        return False


def _runs(words: Sequence[str]) -> list[tuple[str, ...]]:
    return list(zip(words, words[1:], words[2:], strict=False))


def _stretches(shared: Sequence[bool], length: int) -> list[int]:
    """Return the places at which ``length`` shared runs in a row begin."""
    starts, run = [], 0
    for i, is_shared in enumerate(shared):
        run = run + 1 if is_shared else 0
        if run >= length:
            starts.append(i - length + 1)
    return starts


def _content(words: Sequence[str]) -> int:
    return sum(word not in STOP_WORDS for word in words)


def _unspaced(word: str) -> bool:
    return len(word) == 1 and UNSPACED.match(word) is not None
