"""Answers that are sentences of the documents: the ones that have most of the question's words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from karat.core import Answer, UsageError
from karat.systems.answer._answerer import Passage
from karat.systems.index import Lexical, LexicalIndex
from karat.text import STOP_WORDS, line_places, sentence_places

REFUSAL = "The documents do not say."
_LONGEST = 400  # characters of a sentence; a longer one, such as a table or a log, is taken apart at its lines
_KEPT = 4096  # passages whose sentences are kept: popular ones answer many questions
_MARK = re.compile(r"\s*+(?:#{1,6}[ \t][^\n]*+\n\s*+)*+(?:(?:[-+*\u2022>]|[0-9]{1,3}[.)])[ \t]++|#{1,6}[ \t]++)?")
"""The headings above a sentence, and the mark of a list item, a quotation or a heading before it."""


class Sentence(NamedTuple):
    """A sentence of a passage, in characters, without the heading above it."""

    start: int
    end: int
    words: frozenset[str]
    """As they are indexed, with those of the heading."""


@dataclass(frozen=True, kw_only=True)
class Extractive:
    """Answers with the best sentences of the best hits, word for word, each with a citation of its bytes.

    A sentence counts the words that it shares with the question, stop words left out, each by its rarity, ln(1 + (N -
    df + 0.5) / (df + 0.5)), as BM25 does. Of equal ones that of the better hit is taken, and then the first. It asks no
    model.

    It refuses if neither the meaning nor the words fit: no hit that it reads has a vector as similar to that of the
    question as ``similarity``, and the sentences have a smaller share of the question's words than ``support``. It
    cannot tell a sentence that is about the subject from one that answers.

    >>> from karat.core import Hit, Span
    >>> index = Lexical().build(["The pool opens at noon. Towels are free.", "The bar opens at six."])
    >>> passage = Passage(hit=Hit("pool", 0.9, span=Span(0, 40)), text="The pool opens at noon. Towels are free.")
    >>> answer = Extractive(sentences=1)("When does the pool open?", [passage], index)
    >>> answer.text, answer.citations[0].span
    ('The pool opens at noon.', Span(start=0, end=23))
    >>> Extractive()("Who built the chapel?", [passage], index).refused
    True
    """

    hits: int = 3
    """How many of the best hits it reads."""
    sentences: int = 3
    """The largest number of sentences in an answer."""
    similarity: float = 0.66
    """The cosine of a question and a hit above which it answers, on the scale of the embedder; the default is for the
    built-in one. Without the dense channel only the words count."""
    support: float = 0.5
    """The share of the question's words, each by its rarity, above which it answers."""
    _cut: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, value in (("hits", self.hits), ("sentences", self.sentences)):
            if value < 1:
                raise UsageError(f"[pipeline.answer] {name} = {value}; choose 1 or more")
        for name, share in (("similarity", self.similarity), ("support", self.support)):
            if not 0 <= share <= 1:
                raise UsageError(f"[pipeline.answer] {name} = {share}; choose a number from 0 to 1")
        object.__setattr__(self, "_cut", lru_cache(maxsize=_KEPT)(cut_sentences))

    def describe(self) -> dict[str, Any]:
        """Return everything that decides the answer."""
        options = {option.name: getattr(self, option.name) for option in fields(self) if option.init}
        return {"kind": "extractive", "version": 1, **options}

    def __call__(self, query: str, passages: Sequence[Passage], index: LexicalIndex) -> Answer:
        """Return the sentences of the passages that have most of the question's words, or a refusal."""
        asked = set(index.analysis.words(query)) - _list_stop_words(index.analysis)
        weights = {word: index.rarity(word) for word in sorted(asked)}
        best = self._choose(weights, passages, index.analysis)
        shared = {word for _, sentence in best for word in sentence.words if word in weights}
        if not best or not self._is_supported(passages, weights, shared):
            return Answer(REFUSAL, refused=True)
        texts = (" ".join(passage.text[sentence.start : sentence.end].split()) for passage, sentence in best)
        return Answer(" ".join(texts), [passage.cite(sentence.start, sentence.end) for passage, sentence in best])

    def _choose(
        self, weights: Mapping[str, float], passages: Sequence[Passage], analysis: Lexical
    ) -> list[tuple[Passage, Sentence]]:
        """Return the best sentences, best first, each text once."""
        asked = weights.keys()
        ranked = [
            (-math.fsum(weights[word] for word in asked & sentence.words), rank, sentence, passage)
            for rank, passage in enumerate(passages[: self.hits])
            for sentence in self._cut(passage.text, analysis)
        ]
        ranked.sort(key=lambda row: (row[0], row[1], row[2].start))
        best: dict[str, tuple[Passage, Sentence]] = {}
        for _, _, sentence, passage in ranked:
            best.setdefault(passage.text[sentence.start : sentence.end], (passage, sentence))
            if len(best) == self.sentences:
                break
        return list(best.values())

    def _is_supported(self, passages: Sequence[Passage], weights: Mapping[str, float], shared: set[str]) -> bool:
        near = [passage.hit.channels["dense"].score for passage in passages if "dense" in passage.hit.channels]
        total = math.fsum(weights.values())
        held = math.fsum(weights[word] for word in shared)
        return max(near, default=-1.0) >= self.similarity or (held > 0 and held >= self.support * total)


@cache
def _list_stop_words(analysis: Lexical) -> frozenset[str]:
    """Return the words that only make a question of it, as they are indexed: an index leaves out fewer."""
    return frozenset(analysis.words(" ".join(STOP_WORDS))) if analysis.stop_words == "english" else frozenset()


def cut_sentences(text: str, analysis: Lexical) -> tuple[Sentence, ...]:
    """Return the sentences of a passage that have a word; one that is very long is taken apart at its lines."""
    places = [0]
    for start, end in pairwise([0, *sentence_places(text, 0, len(text)), len(text)]):
        places += (*(line_places(text, start, end) if end - start > _LONGEST else ()), end)
    sentences = []
    indexed = analysis.words_of(text[first:last] for first, last in pairwise(places))
    for (first, last), words in zip(pairwise(places), indexed, strict=True):
        mark = _MARK.match(text, first, last)
        begin = mark.end() if mark else first
        stop = begin + len(text[begin:last].rstrip())
        if words and begin < stop:
            sentences.append(Sentence(begin, stop, frozenset(words)))
    return tuple(sentences)
