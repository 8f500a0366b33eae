"""Query expansion by pseudo-relevance feedback: the words of the first hits are asked for too."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from karat.core import UsageError
from karat.systems.index import LexicalIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """RM3: the query's own words, mixed with the words that its first hits have in common.

    With the first hits d of the query, and their scores as how much each is believed, a word w weighs

        original * tf(w, query) / |query| + (1 - original) * P(w | feedback)
        P(w | feedback) = sum over d of score(d) / sum of scores * tf(w, d) / |d|

    where of P(w | feedback) only the ``terms`` highest are kept and made to add up to 1 (Lavrenko & Croft 2001;
    Abdul-Jaleel et al. 2004; defaults as in Anserini). It helps when the first hits are right, and drifts when they
    are not, so that it is off unless asked for.
    """

    hits: int = 10
    """How many of the first hits are believed."""
    terms: int = 10
    """How many of their words are added."""
    original: float = 0.5
    """The share of the query's own words; 1 changes nothing."""

    def __post_init__(self) -> None:
        if self.hits < 1 or self.terms < 1:
            raise UsageError(f"hits={self.hits}, terms={self.terms}; feedback needs at least one of each")
        if not 0 <= self.original <= 1:
            raise UsageError(f"original={self.original}; choose a share from 0 to 1")

    def describe(self) -> dict[str, Any]:
        """Give all that decides the result."""
        return {"kind": "rm3", "hits": self.hits, "terms": self.terms, "original": self.original}

    def weights(self, query: Sequence[str], found: Sequence[tuple[Sequence[str], float]]) -> dict[str, float]:
        """Give the words to search for with their weights, from the query's words and those of its hits with scores.

        >>> weights = Feedback(terms=1).weights(["pool"], [(["pool", "sauna", "sauna"], 2.0), (["sauna"], 2.0)])
        >>> weights
        {'pool': 0.5, 'sauna': 0.5}
        """
        believed = _feedback([(words, score) for words, score in found[: self.hits] if words and score > 0])
        if not query or not believed:
            return {word: float(n) for word, n in Counter(query).items()}
        kept = sorted(believed, key=lambda word: (-believed[word], word))[: self.terms]
        total = math.fsum(believed[word] for word in kept)
        weights = {word: self.original * n / len(query) for word, n in Counter(query).items()}
        for word in kept:
            weights[word] = weights.get(word, 0.0) + (1 - self.original) * believed[word] / total
        return weights

    def search(self, index: LexicalIndex, text: Callable[[int], str], query: str, k: int) -> list[tuple[int, float]]:
        """Search twice: for the query, and for what it became; ``text`` gives that of a number in the index."""
        words = index.analysis.words
        first = index.search(query, self.hits)
        found = [(words(text(number)), score) for number, score in first]
        return index.search_words(self.weights(words(query), found), k)


def _feedback(found: Sequence[tuple[Sequence[str], float]]) -> dict[str, float]:
    total = math.fsum(score for _, score in found)
    weights: dict[str, float] = {}
    for words, score in found:
        for word, n in Counter(words).items():
            weights[word] = weights.get(word, 0.0) + score / total * n / len(words)
    return weights
