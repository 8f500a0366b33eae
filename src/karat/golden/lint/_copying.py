"""Whether a query was copied from a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate

from karat.core import Query
from karat.golden.lint._sequences import Sequences
from karat.text import STOP_WORDS, is_unspaced, words

RUN = 8
"""A run of this many words is hardly ever chosen twice, if at least five of them carry the subject."""
_RUN_CONTENT = 5
WHOLE = 5
"""The fewest words of a query that can count as copied as a whole: fewer are keywords, which have to match."""
_WHOLE_CONTENT = 3
SHARE = 0.8
"""The share of a query's three-word runs in the document from which on all of it counts as copied."""
_COMPARED = 1_000_000
"""Characters of a query's texts that are compared, counted once for each relevant document: without a limit the time
would grow with the product of paraphrases and documents."""
_KEPT = 8192  # texts of queries whose words are kept: a query is compared with all its relevant documents
_LEAST = 1_000  # characters of a query's texts that are compared with each document, however many there are


class Wording:
    """A text of a query, cut into words and into runs of three words."""

    def __init__(self, text: str) -> None:
        self.words = words(text)
        # In scripts without spaces each character counts as a word, and a real word has about two.
        self.scale = 2 if sum(map(_unspaced, self.words)) * 2 > len(self.words) else 1
        self.runs = list(_runs(self.words)) if len(self.words) >= WHOLE * self.scale else []
        self.distinct = frozenset(self.runs)


read_wording = lru_cache(maxsize=_KEPT)(Wording)


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
    def _sequences(self) -> Sequences:
        return Sequences(self._words)

    def gave(self, query: str) -> bool:
        """Return whether a query has a long run of words of this document, or nearly all of its short runs."""
        wording = read_wording(query)
        if self._runs.isdisjoint(wording.distinct):  # as nearly every query
            return False
        shared = [run in self._runs for run in wording.runs]
        if sum(shared) >= SHARE * len(shared) and _content(wording.words) >= _WHOLE_CONTENT * wording.scale:
            return True
        return _has_stretch(shared, RUN * wording.scale - 2) and self._gave_run(wording.words, wording.scale)

    def _gave_run(self, query_words: Sequence[str], scale: int) -> bool:
        """Return whether words hold a long run of this document that is not mere grammar."""
        content = [0, *accumulate(word not in STOP_WORDS for word in query_words)]
        return any(
            length >= RUN * scale and content[end] - content[end - length] >= _RUN_CONTENT * scale
            for end, length in enumerate(self._sequences.longest(query_words), 1)
        )


def choose_texts(query: Query, documents: int) -> Iterator[str]:
    """Yield the texts of a query that are compared with each of its relevant documents: the first ones, if it has many.

    >>> query = Query(id="q", text="x" * 900, paraphrases=("y" * 900, "z" * 900))
    >>> [len(text) for text in choose_texts(query, 10)], [len(text) for text in choose_texts(query, 10_000)]
    ([900, 900, 900], [900, 100])
    """
    left = max(_COMPARED // documents, _LEAST)
    for text in (query.text, *query.paraphrases):
        if left <= 0:
            return
        yield text[:left]
        left -= len(text)


def _runs(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return zip(words, words[1:], words[2:], strict=False)


def _has_stretch(shared: Sequence[bool], length: int) -> bool:
    """Return whether there are ``length`` shared runs in a row, without which no long run can be shared."""
    row = 0
    for is_shared in shared:
        row = row + 1 if is_shared else 0
        if row >= length:
            return True
    return False


def _content(words: Sequence[str]) -> int:
    return sum(word not in STOP_WORDS for word in words)


def _unspaced(word: str) -> bool:
    return len(word) == 1 and is_unspaced(word)
