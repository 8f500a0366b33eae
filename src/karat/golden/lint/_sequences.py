"""All runs of words in a text, so that the longest shared ones are found in one pass, however often words repeat.

It is the suffix automaton of the text: a state stands for the runs that end at the same places. Looking for every run
of a query in the text would take the product of their lengths, and more where both repeat a few words.

Blumer et al., The smallest automaton recognizing the subwords of a text, Theoretical Computer Science 40, 1985.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence


class Sequences:
    """The runs of words in a text.

    >>> list(Sequences(["turn", "it", "off", "and", "on"]).longest(["off", "and", "on", "it", "off"]))
    [1, 2, 3, 1, 2]
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._next: list[dict[str, int]] = [{}]
        self._link = [-1]
        self._length = [0]
        last = 0
        for word in words:
            last = self._extend(last, word)

    def _extend(self, last: int, word: str) -> int:
        """Add a word after the state of all words so far; return the state of all words."""
        state, at = self._add({}, 0, self._length[last] + 1), last
        while at >= 0 and word not in self._next[at]:
            self._next[at][word] = state
            at = self._link[at]
        if at >= 0:
            self._link[state] = self._split(at, word)
        return state

    def _split(self, before: int, word: str) -> int:
        """Return the state of exactly the longest run of ``before`` and a word, which may have to be divided."""
        whole = self._next[before][word]
        if self._length[whole] == self._length[before] + 1:
            return whole
        part = self._add(dict(self._next[whole]), self._link[whole], self._length[before] + 1)
        self._link[whole] = part
        while before >= 0 and self._next[before].get(word) == whole:
            self._next[before][word] = part
            before = self._link[before]
        return part

    def _add(self, following: dict[str, int], link: int, length: int) -> int:
        self._next.append(following)
        self._link.append(link)
        self._length.append(length)
        return len(self._length) - 1

    def longest(self, words: Sequence[str]) -> Iterator[int]:
        """Yield for each word the length of the longest run that ends with it and is in the text."""
        state = length = 0
        for word in words:
            while state and word not in self._next[state]:
                state = self._link[state]
                length = self._length[state]
            if word in self._next[state]:
                state, length = self._next[state][word], length + 1
            yield length
