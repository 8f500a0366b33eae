"""How far the words of a claim are in its source: a judge without a model, named for what it measures.

It sees words, word pairs, numbers and names, and no meaning: a claim that contradicts its source in the source's own
words has a high value. Values are no probabilities, and a limit for one kind of text is
wrong for another.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from karat.text import NEGATIONS, STOP_WORDS, sentences

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[a-z]+")
_SPLIT_NUMBER = re.compile(r"(?<=\d)([.,]) (?=\d{3}\b)")
_NAME = re.compile(r"[A-Z][\w'-]*")
_WINDOW = 3  # sentences
_LONGEST = 2048  # words of which the order is compared at once
_LEAST_WEIGHT = 0.05
_PENALTY = 0.25
_UNITS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_NUMBER_WORDS = {
    **{word: str(value) for value, word in enumerate(_UNITS.split())},
    **{word: str(10 * value) for value, word in enumerate(_TENS.split(), 2)},
    "hundred": "100", "thousand": "1000", "million": "1000000", "billion": "1000000000",
}  # fmt: skip
_COMMON = frozenset(("zero", "one"))
"""Number words that are rather pronouns or articles."""


@dataclass(frozen=True, slots=True)
class Support:
    """How much of a claim is in its source, from 0 to 1, and the parts of that value."""

    value: float
    words: float
    """The share of the claim's words that the source has."""
    weighted_words: float
    """The same, in which rare words weigh more."""
    pairs: float
    """The share of the claim's word pairs that a sentence of the source has."""
    best_sentence: float
    """The largest share of its words in one sentence."""
    order: float
    """The share of its words that stand in the same order in the sentences that fit best."""
    missing_numbers: tuple[str, ...] = ()
    missing_names: tuple[str, ...] = ()


class Source:
    """A text that may support claims; prepared once for all of them.

    >>> source = Source("Breakfast is served from 7 to 10. The pool opens at noon.")
    >>> round(source.support("Breakfast is served from 7 to 10.").value, 2)
    1.0
    >>> source.support("Breakfast is served from 6 to 10.").missing_numbers
    ('6',)
    """

    def __init__(self, text: str) -> None:
        lines = [_repair(line) for line in sentences(text)]
        self._stems = [_stem_all(line) for line in lines]
        self._content = [_content(stems) for stems in self._stems]
        frequency = Counter(stem for stems in self._content for stem in stems)
        size = len(lines)
        self._weights = {stem: max(_LEAST_WEIGHT, math.log((size + 1) / (df + 0.5))) for stem, df in frequency.items()}
        self._unseen = max(_LEAST_WEIGHT, math.log((size + 1) / 0.5))
        self._pairs = {pair for stems in self._stems for pair in pairwise(stems)}
        self._tokens = {token for line in lines for token in _tokens(line)}
        self._numbers = _list_numbers(self._tokens)

    def support(self, claim: str) -> Support:
        """Return how much of a claim is here; 0 for a claim, or a source, without words."""
        claim = _repair(claim)
        stems = _stem_all(claim)
        content = _content(stems)
        if not content or not self._weights:
            return Support(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        known = [stem for stem in content if stem in self._weights]
        words = len(known) / len(content)
        weighted = sum(map(self._weigh, known)) / sum(map(self._weigh, content))
        pairs = list(pairwise(stems))
        paired = sum(pair in self._pairs for pair in pairs) / len(pairs) if pairs else words
        best = max(len(content & sentence) for sentence in self._content) / len(content)
        order = _common_length(stems, self._find_window(content)) / len(stems)
        numbers, names = self._find_missing(claim)
        penalty = _PENALTY * (_share(numbers) + _share(names))
        value = (words + weighted + paired + best + order) / 5 - penalty
        return Support(
            min(max(value, 0.0), 1.0), words, weighted, paired, best, order,
            tuple(sorted(numbers[0])), tuple(sorted(names[0])),
        )  # fmt: skip

    def _weigh(self, stem: str) -> float:
        return self._weights.get(stem, self._unseen)

    def _find_window(self, content: Collection[str]) -> Sequence[str]:
        """Return the stems of one to three sentences in a row that have most of the weight of some words.

        Of several the shortest, which is never one that begins or ends with a sentence that adds nothing.
        """
        present = [frozenset(content) & sentence for sentence in self._content]
        best, chosen = 0.0, range(0)
        for size in range(1, _WINDOW + 1):
            for start in range(len(present) - size + 1):
                if size > 1 and not (present[start] and present[start + size - 1]):
                    continue
                weight = sum(map(self._weigh, frozenset().union(*present[start : start + size])))
                if weight > best + 1e-12:
                    best, chosen = weight, range(start, start + size)
        return [stem for place in chosen for stem in self._stems[place]]

    def _find_missing(self, claim: str) -> tuple[tuple[list[str], int], tuple[list[str], int]]:
        """Return the numbers and the names of a claim that are not here, each with how many the claim has."""
        numbers = _list_numbers(set(_tokens(claim)))
        names = _list_names(claim)
        lost_names = [name for name in names if not all(token in self._tokens for token in _tokens(name))]
        return ([number for number in numbers if number not in self._numbers], len(numbers)), (lost_names, len(names))


def lexical_support(claim: str, source: str) -> float:
    """Return how far the words of a claim are in a source, from 0 to 1.

    The mean of five shares (words, words weighted by how rare they are, word pairs, words in the best sentence, words
    in the same order), less a quarter of the share of numbers, and of names, that are missing.
    """
    return Source(source).support(claim).value


def _share(missing: tuple[Sequence[str], int]) -> float:
    lost, total = missing
    return len(lost) / total if total else 0.0


def _repair(text: str) -> str:
    """Return a text in which no number is split, as tokenised data has it ("235, 000")."""
    return _SPLIT_NUMBER.sub(r"\1", text)


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.lower())


def _stem_all(text: str) -> list[str]:
    return [_stem(token) for token in _tokens(text)]


@lru_cache(maxsize=1 << 16)
def _stem(token: str) -> str:
    """Return a token without the endings of the plural and of a verb."""
    if token[0].isdigit():
        return token.replace(",", "")
    for ending, least in (("ing", 6), ("ied", 5), ("ies", 5), ("ed", 5), ("es", 5), ("s", 4)):
        if len(token) >= least and token.endswith(ending) and not token.endswith("ss"):
            stem = token[: -len(ending)]
            return stem + "y" if ending in ("ied", "ies") else stem.removesuffix("e")
    return token.removesuffix("e") if len(token) > 3 else token


def _content(stems: Iterable[str]) -> frozenset[str]:
    return frozenset(stem for stem in stems if stem not in _STOP_STEMS)


_STOP_STEMS = frozenset(map(_stem, STOP_WORDS)) | STOP_WORDS | NEGATIONS


def _list_numbers(tokens: Iterable[str]) -> list[str]:
    """Return the numbers among tokens, in digits and without commas; number words up to one do not count."""
    numbers = set()
    for token in tokens:
        if token[0].isdigit():
            numbers.add(token.replace(",", ""))
        elif token in _NUMBER_WORDS and token not in _COMMON:
            numbers.add(_NUMBER_WORDS[token])
    return sorted(numbers)


def _list_names(claim: str) -> list[str]:
    """Return the capitalised words of a claim that do not begin a sentence, or are all capitals."""
    names: dict[str, None] = {}
    for line in sentences(claim):
        for match in _NAME.finditer(line):
            name = match[0]
            if (match.start() > 0 or (len(name) > 1 and name.isupper())) and name.lower() not in STOP_WORDS:
                names[name] = None
    return list(names)


def _common_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence; of two long texts that of their parts, which is no larger.

    What takes time is the length of one text by that of the other. So texts that are both longer than ``_LONGEST`` are
    cut into as many parts each, and every part is held against the one in the same place.
    """
    short, long = sorted((first, second), key=len)
    parts = -(-len(long) // _LONGEST) if len(short) > _LONGEST else 1
    return sum(_align(_cut(short, i, parts), _cut(long, i, parts)) for i in range(parts))


def _cut(tokens: Sequence[str], number: int, parts: int) -> Sequence[str]:
    return tokens[len(tokens) * number // parts : len(tokens) * (number + 1) // parts]


def _align(short: Sequence[str], long: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, with the rows of its table as the bits of a number.

    Hyyrö, Bit-parallel LCS-length computation revisited, 2004.

    >>> _align("a b c d".split(), "a x c b d".split())
    3
    """
    places: dict[str, int] = {}
    for place, token in enumerate(short):
        places[token] = places.get(token, 0) | 1 << place
    full = (1 << len(short)) - 1
    row = full
    for token in long:
        match = row & places.get(token, 0)
        row = ((row + match) | (row - match)) & full
    return len(short) - row.bit_count()
