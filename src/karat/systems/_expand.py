"""Query expansion by pseudo-relevance feedback: a second search that includes words of the first hits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from karat.core import UsageError
from karat.systems.index import LexicalIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryExpansion:
    """RM3: the query's own words, mixed with frequent words of its first hits.

    With the first hits d of the query, weighted by their scores, a word w has the weight

        original * tf(w, query) / |query| + (1 - original) * P(w | hits)
        P(w | hits) = sum over d of score(d) / sum of scores * tf(w, d) / |d|

    where only the ``terms`` highest P(w | hits) are kept, and scaled to a sum of 1 (Lavrenko & Croft 2001;
    Abdul-Jaleel et al. 2004; defaults as in Anserini). It helps if the first hits are right, and harms if they are not,
    so it is off by default.
    """

    hits: int = 10
    """The number of hits whose words are used."""
    terms: int = 10
    """The number of words that are added."""
    original: float = 0.5
    """The share of the query's own words; with 1 nothing changes."""

    def __post_init__(self) -> None:
        if self.hits < 1 or self.terms < 1:
            raise UsageError(f"hits={self.hits}, terms={self.terms}; expansion needs at least one of each")
        if not 0 <= self.original <= 1:
            raise UsageError(f"original={self.original}; choose a share from 0 to 1")

    def describe(self) -> dict[str, Any]:
        """Return everything that decides the result."""
        return {"kind": "rm3", "hits": self.hits, "terms": self.terms, "original": self.original}

    def weights(self, query: Sequence[str], hits: Sequence[tuple[Sequence[str], float]]) -> dict[str, float]:
        """Return the words to search for with their weights, from the words of the query and of its scored hits.

        >>> weights = QueryExpansion(terms=1).weights(["pool"], [(["pool", "sauna", "sauna"], 2.0), (["sauna"], 2.0)])
        >>> weights
        {'pool': 0.5, 'sauna': 0.5}
        """
        model = _relevance_model([(words, score) for words, score in hits[: self.hits] if words and score > 0])
        if not query or not model:
            return {word: float(n) for word, n in Counter(query).items()}
        terms = sorted(model, key=lambda word: (-model[word], word))[: self.terms]
        total = math.fsum(model[word] for word in terms)
        weights = {word: self.original * n / len(query) for word, n in Counter(query).items()}
        for word in terms:
            weights[word] = weights.get(word, 0.0) + (1 - self.original) * model[word] / total
        return weights

    def search(self, index: LexicalIndex, text: Callable[[int], str], query: str, k: int) -> list[tuple[int, float]]:
        """Search for the query, then for the expanded query; ``text`` returns the text with a number in the index."""
        words = index.analysis.words
        first = index.search(query, self.hits)
        hits = [(words(text(number)), score) for number, score in first]
        return index.search_words(self.weights(words(query), hits), k)


def _relevance_model(hits: Sequence[tuple[Sequence[str], float]]) -> dict[str, float]:
    total = math.fsum(score for _, score in hits)
    weights: dict[str, float] = {}
    for words, score in hits:
        for word, n in Counter(words).items():
            weights[word] = weights.get(word, 0.0) + score / total * n / len(words)
    return weights
