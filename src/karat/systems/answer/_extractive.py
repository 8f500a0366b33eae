"""Answers that are sentences of the documents: the ones that have most of the question's words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from karat.core import Answer, UsageError
from karat.systems.answer._answerer import Passage
from karat.systems.index import Lexical, LexicalIndex
from karat.text import STOP_WORDS, line_places, sentence_places

REFUSAL = "The documents do not say."
_LONGEST = 400  # characters of a sentence; a longer one, such as a table or a log, is taken apart at its lines
_KEPT = 4096  # passages whose sentences are kept
_MARK = re.compile(r"\s*+(?:#{1,6}[ \t][^\n]*+\n\s*+)*+(?:(?:[-+*\u2022>]|[0-9]{1,3}[.)])[ \t]++|#{1,6}[ \t]++)?")
"""The headings above a sentence, and the mark of a list item, a quotation or a heading before it."""


class Sentence(NamedTuple):
    """A sentence of a passage, in characters, with the heading above it."""

    start: int
    end: int
    words: frozenset[str]
    """As they are indexed."""


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
    _readers: dict[int, _Reader] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, value in (("hits", self.hits), ("sentences", self.sentences)):
            if value < 1:
                raise UsageError(f"[pipeline.answer] {name} = {value}; choose 1 or more")
        for name, share in (("similarity", self.similarity), ("support", self.support)):
            if not 0 <= share <= 1:
                raise UsageError(f"[pipeline.answer] {name} = {share}; choose a number from 0 to 1")

    def describe(self) -> dict[str, Any]:
        """Return everything that decides the answer."""
        options = {option.name: getattr(self, option.name) for option in fields(self) if option.init}
        return {"kind": "extractive", "version": 1, **options}

    def __call__(self, query: str, passages: Sequence[Passage], index: LexicalIndex) -> Answer:
        """Return the sentences of the passages that have most of the question's words, or a refusal."""
        reader = self._find_reader(index.analysis)
        weights = {word: index.rarity(word) for word in sorted(reader.list_words(query))}
        best = self._choose(weights, passages, reader)
        shared = {word for _, _, sentence in best for word in sentence.words & weights.keys()}
        if not best or not self._is_supported(passages, weights, shared):
            return Answer(REFUSAL, refused=True)
        joined = " ".join(" ".join(text.split()) for text, _, _ in best)
        citations = [
            passage.cite(start := find_start(passage.text, sentence), start + len(text))
            for text, passage, sentence in best
        ]
        return Answer(joined, citations)

    def _find_reader(self, analysis: Lexical) -> _Reader:
        # By identity: to hash the parameters of an index takes longer than to read a passage again.
        reader = self._readers.get(id(analysis))
        if reader is None or reader.analysis is not analysis:
            reader = self._readers[id(analysis)] = _Reader(analysis)
        return reader

    def _choose(
        self, weights: Mapping[str, float], passages: Sequence[Passage], reader: _Reader
    ) -> list[tuple[str, Passage, Sentence]]:
        """Return the text of the best sentences, best first, each once, and where it is."""
        words = weights.keys()
        ranked = [
            (-math.fsum(weights[word] for word in words & sentence.words), rank, sentence, passage)
            for rank, passage in enumerate(passages[: self.hits])
            for sentence in reader.cut(passage.text)
        ]
        ranked.sort(key=lambda row: (row[0], row[1], row[2].start))
        best: dict[str, tuple[str, Passage, Sentence]] = {}
        for _, _, sentence, passage in ranked:
            text = passage.text[find_start(passage.text, sentence) : sentence.end].rstrip()
            if text:
                best.setdefault(text, (text, passage, sentence))
            if len(best) == self.sentences:
                break
        return list(best.values())

    def _is_supported(self, passages: Sequence[Passage], weights: Mapping[str, float], shared: set[str]) -> bool:
        near = [passage.hit.channels["dense"].score for passage in passages if "dense" in passage.hit.channels]
        total = math.fsum(weights.values())
        held = math.fsum(weights[word] for word in shared)
        return max(near, default=-1.0) >= self.similarity or (held > 0 and held >= self.support * total)


class _Reader:
    """Cuts passages into sentences with their words, and keeps them: popular ones answer many questions."""

    def __init__(self, analysis: Lexical) -> None:
        self.analysis = analysis
        self.cut = lru_cache(maxsize=_KEPT)(self._cut)
        self._stems: dict[str, str] = {}
        # The words that only make a question of it; an index leaves out fewer.
        ignored = " ".join(STOP_WORDS) if analysis.stop_words == "english" else ""
        self._ignored = frozenset(analysis.words(ignored))

    def list_words(self, query: str) -> frozenset[str]:
        """Return the words of a question, as they are indexed, without stop words."""
        return self.analysis.word_sets(query, (0, len(query)), self._stems)[0] - self._ignored

    def _cut(self, text: str) -> tuple[Sentence, ...]:
        """Return the sentences of a passage that have a word; one that is very long is taken apart at its lines."""
        places = [0]
        for start, end in pairwise([0, *sentence_places(text, 0, len(text)), len(text)]):
            places += (*(line_places(text, start, end) if end - start > _LONGEST else ()), end)
        indexed = self.analysis.word_sets(text, places, self._stems)
        return tuple(
            Sentence(first, last, words)
            for (first, last), words in zip(pairwise(places), indexed, strict=True)
            if words
        )


def find_start(text: str, sentence: Sentence) -> int:
    r"""Return where a sentence begins after the headings above it, and the mark of a list item.

    >>> find_start("## Pool\n\n- Dogs may not swim.", Sentence(0, 29, frozenset()))
    11
    """
    mark = _MARK.match(text, sentence.start, sentence.end)
    return mark.end() if mark else sentence.start
