"""Texts that are nearly the same, found among very many.

How alike two texts are is the Jaccard similarity of their shingles (runs of three words): what they share, of what
either has (Broder, "On the resemblance and containment of documents", 1997). Comparing all pairs is out of the question,
so that candidates come from min-hash signatures cut into bands (Leskovec, Rajaraman and Ullman, Mining of Massive
Datasets, 3.4), and every candidate is then compared in full: a reported similarity is never an estimate.

Hashes are fixed: the same texts give the same pairs in every process. Texts are taken piece by piece; what stays in
memory is a signature of 320 bytes a text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from karat.golden._words import words

Words = npt.NDArray[np.uint64]
Signatures = npt.NDArray[np.uint32]
Places = npt.NDArray[np.int64]

HASHES = 80
RECALL = 0.995
"""What the bands are chosen for, at the threshold itself; higher similarities are found more surely."""
NEIGHBOURS = 16
"""With how many of those that share a band a text is compared. Up to 17 alike are compared each with each; of a crowd
each with some, so that a million copies of one template cost no more than a million other texts."""
COMPARED = 16
"""How many candidates of a text are compared in full, the most promising first."""
_PIECE = 400_000  # tokens at a time: their arrays stay in the processor's cache
_CACHED = 1_500_000  # shingles kept as Python sets while candidates are compared: about 150 MB
_MULTIPLIERS = np.random.Generator(np.random.PCG64(20_240_601)).integers(0, 2**64, HASHES, dtype=np.uint64) | np.uint64(1)


class Pair(NamedTuple):
    """Two texts by their places, the earlier first, and how alike they are, up to 1."""

    first: int
    second: int
    similarity: float


def near_duplicates(
    texts: Sequence[str],
    *,
    threshold: float = 0.8,
    tokens: Callable[[str], list[str]] = words,
    width: int = 3,
) -> list[Pair]:
    """Give the pairs of texts that are at least ``threshold`` alike, in order; the empty ones are like nothing.

    Texts of the same tokens are paired with the first of them only, and it alone stands for them in other pairs. Where
    more than seventeen texts are alike, each is paired with some, so that they hang together; elsewhere a pair is found
    with a probability of at least 0.995.

    >>> rules = "Guests may cancel free of charge until six in the evening of the day before they arrive."
    >>> near_duplicates([rules, "Pets are welcome in all rooms.", rules.upper(), rules + " Groups ask us."])
    [Pair(first=0, second=2, similarity=1.0), Pair(first=0, second=3, similarity=0.8333333333333334)]
    """
    if not 0.3 <= threshold <= 1:
        raise ValueError(f"threshold {threshold} is not between 0.3 and 1")
    shingles = _Shingles(tokens, width)
    kept, pairs = _distinct(texts, tokens)
    if len(kept) > 1:
        signatures = np.concatenate([_signatures(*piece) for piece in shingles.pieces([texts[i] for i in kept])])
        candidates = _promising(signatures, _candidates(signatures, threshold), threshold)
        alike = _compare(candidates, lambda place: shingles.of(texts[kept[place]]), threshold)
        pairs += [Pair(kept[i], kept[j], similarity) for i, j, similarity in alike]
    return sorted(pairs)


def clusters(pairs: Sequence[Pair]) -> list[list[int]]:
    """Give the places that hang together by pairs, each group in order, groups by their first.

    >>> clusters([Pair(0, 2, 1.0), Pair(2, 5, 0.9), Pair(1, 3, 0.8)])
    [[0, 2, 5], [1, 3]]
    """
    joined = _Groups(1 + max((pair.second for pair in pairs), default=0))
    for pair in pairs:
        joined.join(pair.first, pair.second)
    found: dict[int, list[int]] = {}
    for place in sorted({place for pair in pairs for place in pair[:2]}):
        found.setdefault(joined.root(place), []).append(place)
    return list(found.values())


def _distinct(texts: Sequence[str], tokens: Callable[[str], list[str]]) -> tuple[list[int], list[Pair]]:
    """Give the places of the texts that are new, and pair each of the others with the first that is the same."""
    first: dict[bytes, int] = {}
    kept, pairs = [], []
    for place, text in enumerate(texts):
        split = tokens(text)
        if not split:
            continue
        same = first.setdefault(hashlib.blake2b("\0".join(split).encode(), digest_size=16).digest(), place)
        if same == place:
            kept.append(place)
        else:
            pairs.append(Pair(same, place, 1.0))
    return kept, pairs


class _Shingles:
    """Texts as sets of numbers, one for each run of ``width`` tokens; of 64 bits, so that no two runs share one."""

    def __init__(self, tokens: Callable[[str], list[str]], width: int) -> None:
        self._tokens, self._width = tokens, width
        self._numbers = _Numbers()

    def of(self, text: str) -> frozenset[int]:
        """Give the shingles of one text."""
        return frozenset(self._runs([text])[0].tolist())

    def pieces(self, texts: Sequence[str]) -> Iterator[tuple[Words, Places]]:
        """Give the shingles of some texts at a time, and where each text begins in them."""
        start = size = 0
        for i, text in enumerate(texts):
            size += len(text) // 6 + 1
            if size >= _PIECE:
                yield self._runs(texts[start : i + 1])
                start, size = i + 1, 0
        if start < len(texts):
            yield self._runs(texts[start:])

    def _runs(self, texts: Sequence[str]) -> tuple[Words, Places]:
        """Hash each run of tokens; a text of fewer is filled up with empty ones."""
        split = [self._tokens(text) for text in texts]
        for found in split:
            found.extend([""] * (self._width - len(found)))
        lengths = np.array([len(found) for found in split])
        hashed = np.fromiter((self._numbers[word] for found in split for word in found), np.uint64, lengths.sum())
        runs = hashed.copy()
        for i in range(1, self._width):
            runs[: len(runs) - i] = _mixed(runs[: len(runs) - i]) + hashed[i:]
        ends = np.cumsum(lengths)
        inside = np.ones(len(runs), dtype=bool)
        for i in range(1, self._width):
            inside[ends - i] = False
        starts = np.concatenate([[0], ends[:-1] - (self._width - 1) * np.arange(1, len(ends))])
        return _mixed(runs[inside]), starts


class _Numbers(dict[str, int]):
    """A number for each token, made once; forgotten when there are too many, as they can be made again."""

    def __missing__(self, token: str) -> int:
        if len(self) > 1_000_000:
            self.clear()
        number = int.from_bytes(hashlib.blake2b(token.encode(errors="surrogatepass"), digest_size=8).digest(), "little")
        self[token] = number
        return number


def _mixed(numbers: Words) -> Words:
    """Spread numbers over 64 bits (the finaliser of SplitMix64)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _signatures(shingles: Words, starts: Places) -> Signatures:
    """Give the least of each hash over the shingles of each text."""
    found = np.empty((len(starts), HASHES), dtype=np.uint32)
    for i, multiplier in enumerate(_MULTIPLIERS):
        found[:, i] = np.minimum.reduceat(shingles * multiplier, starts) >> np.uint64(32)
    return found
