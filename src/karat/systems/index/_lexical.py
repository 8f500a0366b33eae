"""The lexical index: BM25 over stemmed words."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.core import UsageError, did_you_mean
from karat.net import find_version, require_package
from karat.systems.index._ranking import best, check_k
from karat.systems.index._saved import Path_, Saved, save

_WORDS = re.compile(r"\b\w\w+\b")
_NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexical:
    """The parameters of the lexical index: words, then BM25 in Lucene's variant.

    Words are runs of two or more letters, digits and underscores, in lower case, without stop words, stemmed by
    Snowball. A chunk's score is the sum over the words of the query, repeated ones as often as they occur, of

        ln(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * length / mean length))

    (Robertson & Zaragoza 2009; without the constant factor k1 + 1, as in Kamphuis et al. 2020).

    >>> index = Lexical().build(["The pool opens at six.", "Free WiFi in all rooms.", "Pools, pools!"])
    >>> [number for number, score in index.search("When is the pool open?", 10)]
    [0, 2]
    """

    k1: float = 1.2
    b: float = 0.75
    stemmer: str = "english"
    """The name of a Snowball algorithm, or none."""
    stop_words: str = "english"
    """The language of the words that are left out, or none."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.k1) and self.k1 >= 0):
            raise UsageError(f"k1={self.k1}; choose a number from 0 up, usually about 1.2")
        if not 0 <= self.b <= 1:
            raise UsageError(f"b={self.b}; choose a number from 0 to 1")

    def describe(self) -> dict[str, Any]:
        """Return everything that decides what is found, with versions: stemmers and stop words change with them."""
        return {
            "kind": "bm25",
            "variant": "lucene",
            "k1": self.k1,
            "b": self.b,
            "stemmer": self.stemmer,
            "stop_words": self.stop_words,
            "bm25s": find_version("bm25s"),
            "pystemmer": find_version("PyStemmer") if self.stemmer != _NONE else "",
        }

    def words(self, text: str) -> list[str]:
        """Return the words of a text as they are indexed, in order.

        >>> Lexical().words("The pools are OPENING at 6 p.m.")
        ['pool', 'open']
        """
        stop_words = _stop_words(self.stop_words)
        words = [word for word in _split(text) if word not in stop_words]
        # A new stemmer for each text: one that several threads share returns wrong stems.
        stemmer = _stemmer(self.stemmer)
        return words if stemmer is None else list(stemmer.stemWords(words))

    def word_sets(self, text: str, places: Sequence[int], stems: dict[str, str]) -> list[frozenset[str]]:
        """Return the words of each part of a text, once each; a part begins at each place but the last, which ends it.

        ``stems`` has the stems of earlier calls, and gets the others.

        >>> Lexical().word_sets("Pools, pools! The pool.", [0, 14, 23], {}) == [{"pool"}, {"pool"}]
        True
        """
        stop_words = _stop_words(self.stop_words)
        lower = text.lower()
        if len(lower) == len(text) and unicodedata.is_normalized("NFC", text):  # as nearly every text: places stay
            sets = [set(_WORDS.findall(lower, first, last)) - stop_words for first, last in pairwise(places)]
        else:
            sets = [set(_split(text[first:last])) - stop_words for first, last in pairwise(places)]
        if self.stemmer == _NONE:
            return list(map(frozenset, sets))
        unknown = [word for word in set().union(*sets) if word not in stems]
        if unknown:
            stems.update(zip(unknown, _stemmer(self.stemmer).stemWords(unknown), strict=True))
        return [frozenset(map(stems.__getitem__, words)) for words in sets]

    def build(self, texts: Iterable[str]) -> LexicalIndex:
        """Return an index of texts; a hit is the number of a text, from 0."""
        bm25s = _bm25s()
        vocabulary = _Vocabulary(_stop_words(self.stop_words), _stemmer(self.stemmer))
        numbered = [vocabulary.numbers(text) for text in texts]
        ids = vocabulary.ids
        if not ids:
            return LexicalIndex(self, ids, _no_impacts(), len(numbered))
        model = bm25s.BM25(k1=self.k1, b=self.b, method="lucene")
        model.index((numbered, ids), create_empty_token=False, show_progress=False)
        scores = model.scores
        return LexicalIndex(self, ids, _Impacts(scores["data"], scores["indices"], scores["indptr"]), len(numbered))

    def load(self, path: Path_, fingerprint: str) -> LexicalIndex:
        """Read a saved index; raise InputError if it was built from something else, or in another way."""
        with Saved(path, fingerprint, self.describe()) as saved:
            text = bytes(saved.array("words")).decode()
            words = text.split("\n") if text else []
            impacts = _Impacts(*(saved.array(name) for name in _Impacts.__slots__))
            size = int(saved.array("size"))
            if not impacts.fit(len(words), size):
                raise saved.damaged("its arrays do not fit together")
        return LexicalIndex(self, {word: i for i, word in enumerate(words)}, impacts, size)


@dataclass(frozen=True, slots=True)
class _Impacts:
    """What each word adds to the score of each text, as a sparse matrix with a column for each word."""

    values: NDArray[np.float32]
    texts: NDArray[np.int32]
    starts: NDArray[np.int64]

    def fit(self, words: int, size: int) -> bool:
        """Whether the matrix has this number of words and texts."""
        shapes = self.values.shape == self.texts.shape == (int(self.starts[-1]),) and self.starts.shape == (words + 1,)
        return (
            shapes and bool(np.all(np.diff(self.starts) >= 0)) and bool(np.all((self.texts >= 0) & (self.texts < size)))
        )


class LexicalIndex:
    """An index of texts by their words; made by :meth:`Lexical.build` or :meth:`Lexical.load`, and then constant."""

    def __init__(self, analysis: Lexical, ids: Mapping[str, int], impacts: _Impacts, size: int) -> None:
        self.analysis = analysis
        self._ids = ids
        self._impacts = impacts
        self._size = size

    def __len__(self) -> int:
        return self._size

    def describe(self) -> dict[str, Any]:
        """Return everything that decides what is found, apart from the texts."""
        return self.analysis.describe()

    def rarity(self, word: str) -> float:
        """Return the weight that BM25 gives a word for being in few texts; ``word`` is as it is indexed.

        >>> index = Lexical().build(["The pool.", "The pool bar."])
        >>> [round(index.rarity(word), 3) for word in ("pool", "bar", "yacht")]
        [0.182, 0.693, 1.792]
        """
        number = self._ids.get(word)
        starts = self._impacts.starts
        count = 0 if number is None else int(starts[number + 1] - starts[number])
        return math.log1p((self._size - count + 0.5) / (count + 0.5))

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """Return the numbers and scores of the k best texts, best first, equal scores by number.

        Only texts with a word of the query are returned: none for a query without a known word.
        """
        return self.search_words(Counter(self.analysis.words(query)), k)

    def search_words(self, weights: Mapping[str, float], k: int) -> list[tuple[int, float]]:
        """Search for words as :meth:`Lexical.words` returns them, with weights; a word of a query has weight 1."""
        check_k(k)
        if not all(math.isfinite(weight) and weight >= 0 for weight in weights.values()):
            raise UsageError("weights of words must be finite numbers from 0 up")
        columns = sorted((self._ids[word], weight) for word, weight in weights.items() if word in self._ids)
        values, texts, starts = self._impacts.values, self._impacts.texts, self._impacts.starts
        scores = np.zeros(self._size, np.float32)
        # In the order of the vocabulary: "a b" and "b a" give the same sum, to the last bit.
        for word, weight in columns:
            column = slice(starts[word], starts[word + 1])
            scores[texts[column]] += weight * values[column]
        matches = np.flatnonzero(scores)
        hits = matches[best(scores[matches], k)]
        return list(zip(hits.tolist(), scores[hits].tolist(), strict=True))

    def save(self, path: Path_, fingerprint: str) -> None:
        """Write the index to one file, with the fingerprint of what it was built from."""
        words = np.frombuffer("\n".join(self._ids).encode(), np.uint8)
        arrays = {name: getattr(self._impacts, name) for name in _Impacts.__slots__}
        save(path, fingerprint, self.describe(), {"words": words, "size": np.array(self._size), **arrays})


class _Vocabulary(dict[str, int]):
    """The numbers of the stems of words, each stemmed once; -1 for stop words."""

    def __init__(self, stop_words: frozenset[str], stemmer: Any) -> None:
        super().__init__(dict.fromkeys(stop_words, -1))
        self.ids: dict[str, int] = {}
        self._stem = stemmer.stemWord if stemmer is not None else str

    def __missing__(self, word: str) -> int:
        number = self[word] = self.ids.setdefault(self._stem(word), len(self.ids))
        return number

    def numbers(self, text: str) -> list[int]:
        return [number for number in map(self.__getitem__, _split(text)) if number >= 0]


def _split(text: str) -> list[str]:
    return _WORDS.findall(unicodedata.normalize("NFC", text).lower())


def _no_impacts() -> _Impacts:
    """Return a matrix without columns; bm25s would divide by a mean length of zero."""
    return _Impacts(np.zeros(0, np.float32), np.zeros(0, np.int32), np.zeros(1, np.int64))


def _bm25s() -> Any:
    import logging

    module = require_package("bm25s", install="bm25s", purpose="the lexical index")
    # It sets its level to DEBUG at import, and would write to the log of every program that has one.
    logging.getLogger("bm25s").setLevel(logging.NOTSET)
    return module


def _stemmer(name: str) -> Any:
    if name == _NONE:
        return None
    module = require_package("Stemmer", install="PyStemmer", purpose="stemming")
    if name not in module.algorithms():
        raise _unknown("stemmer", name, module.algorithms())
    return module.Stemmer(name)


@cache
def _stop_words(language: str) -> frozenset[str]:
    if language == _NONE:
        return frozenset()
    if language not in _LANGUAGES:
        raise _unknown("stop words", language, _LANGUAGES)
    return frozenset(getattr(_stop_word_lists(), f"STOPWORDS_{'EN' if language == 'english' else language.upper()}"))


def _stop_word_lists() -> Any:
    """Return bm25s's module of stop words, without importing the rest of bm25s, and scipy with it.

    A kept index needs nothing else of it, and the import takes longer than all searches of an evaluation.
    """
    package = find_spec("bm25s")
    for folder in (package and package.submodule_search_locations) or ():
        spec = spec_from_file_location("bm25s_stopwords", Path(folder) / "stopwords.py")
        if spec is not None and spec.loader is not None and Path(folder, "stopwords.py").is_file():
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    _bm25s()
    return require_package("bm25s.stopwords", install="bm25s", purpose="the lexical index")


_LANGUAGES = (
    *("danish", "dutch", "english", "french", "german", "italian", "norwegian", "portuguese", "russian", "spanish"),
    *("swedish", "turkish"),
)


def _unknown(option: str, name: str, choices: Iterable[str]) -> UsageError:
    names = [*choices, _NONE]
    return UsageError(f"unknown {option} {name!r}{did_you_mean(name, names) or '; known: ' + ', '.join(names)}")
