"""Texts that are nearly the same, found among very many.

The similarity of two texts is the Jaccard similarity of their shingles, which are runs of three words: what they share,
of what either has (Broder, "On the resemblance and containment of documents", 1997). Comparing all pairs would take too
long. Candidates come from min-hash signatures cut into bands (Leskovec, Rajaraman and Ullman, "Mining of Massive
Datasets", 3.4), and are then compared in full: a reported similarity is never an estimate.

Hashes are fixed: the same texts have the same pairs in every process. Texts are read piece by piece; only a signature
of 512 bytes for each stays in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from karat.text import words

Thing = TypeVar("Thing", bound=Hashable)
Tokens = Callable[[str], list[str]]
Hashes = npt.NDArray[np.uint64]
Signatures = npt.NDArray[np.uint32]
Places = npt.NDArray[np.int64]

HASHES = 128
RECALL = 0.995
"""The probability that a pair at the threshold becomes a candidate; it is higher above the threshold."""
NEIGHBOURS = 16
"""With how many of the texts that share a band a text is compared: up to 17 similar texts each with each, in a larger
crowd each with some, so that a million copies of a template cost no more than a million other texts."""
COMPARED = 16
"""How many candidates of a text are compared in full, the most promising first."""

_PIECE = 2_000_000  # characters at a time, so that arrays fit into the processor's cache
_REMEMBERED = 20_000_000  # shingles kept while texts are compared: 160 MB
_HELD = 8_000_000  # candidates with repetitions: some 64 MB
_WORDS_KNOWN = 1_000_000


def _digest(text: str, size: int) -> bytes:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=size).digest()


# Odd, so that multiplication is a permutation of the 64-bit numbers; from a digest, so that they never change.
_MULTIPLIERS = np.frombuffer(b"".join(_digest(f"karat {i}", 8) for i in range(HASHES)), dtype="<u8") | np.uint64(1)


class Pair(NamedTuple):
    """Two texts by their places, the earlier first, and their similarity, up to 1."""

    first: int
    second: int
    similarity: float


def near_duplicates(
    texts: Sequence[str], *, threshold: float = 0.8, tokens: Tokens = words, width: int = 3
) -> list[Pair]:
    """Return the pairs of texts with a similarity of at least ``threshold``, in order; an empty text has no pair.

    Texts of the same tokens are paired only with the first of them, which represents them in other pairs. Where more
    than seventeen texts are alike, each is paired with some, so that they are connected; elsewhere a pair is found with
    a probability of at least 0.99.

    >>> rules = "Guests may cancel free of charge until six in the evening of the day before they arrive."
    >>> near_duplicates([rules, "Pets are welcome in all rooms.", rules.upper(), rules + " Groups ask us."])
    [Pair(first=0, second=2, similarity=1.0), Pair(first=0, second=3, similarity=0.8333333333333334)]
    """
    if not 0.3 <= threshold <= 1:
        raise ValueError(f"threshold {threshold} is not between 0.3 and 1")
    shingles = _Shingles(tokens, width)
    places, pairs, signatures = _sketch(texts, shingles)
    for i, j, similarity in _compare(
        _promising(signatures, _candidates(signatures, threshold), threshold),
        lambda place: shingles.of(texts[places[place]]),
        threshold,
    ):
        pairs.append(Pair(places[i], places[j], similarity))
    return sorted(pairs)


def clusters(pairs: Sequence[Pair]) -> list[list[int]]:
    """Return the groups of places that pairs connect, each in order, sorted by their first.

    >>> clusters([Pair(0, 2, 1.0), Pair(2, 5, 0.9), Pair(1, 3, 0.8)])
    [[0, 2, 5], [1, 3]]
    """
    groups = Groups[int]()
    for pair in pairs:
        groups.join(pair.first, pair.second)
    members: dict[int, list[int]] = {}
    for place in sorted({place for pair in pairs for place in (pair.first, pair.second)}):
        members.setdefault(groups.root(place), []).append(place)
    return list(members.values())


class _Shingles:
    """Texts as numbers, one for each run of ``width`` tokens; of 64 bits, so that two runs hardly ever share one."""

    def __init__(self, tokens: Tokens, width: int) -> None:
        self.tokens, self._width = tokens, width
        self._numbers = _Numbers()

    def of(self, text: str) -> Hashes:
        """Return the shingles of one text, each once."""
        return _once(self.runs([self.tokens(text)])[0])

    def runs(self, texts: Sequence[list[str]]) -> tuple[Hashes, Places]:
        """Return the hashes of the runs of all texts, and where each text begins; a short text has one run."""
        filled = [[*text, *[""] * (self._width - len(text))] if len(text) < self._width else text for text in texts]
        lengths = np.array([len(text) for text in filled])
        hashed = np.fromiter(map(self._numbers.__getitem__, chain.from_iterable(filled)), np.uint64, lengths.sum())
        ends = np.cumsum(lengths)
        runs, inside = hashed, np.ones(len(hashed), dtype=bool)
        for i in range(1, self._width):
            runs = _mixed(runs[:-1]) + hashed[i:]
            inside[ends - i] = False
        begins = np.concatenate([[0], ends[:-1] - (self._width - 1) * np.arange(1, len(ends))])
        return _mixed(runs[inside[: len(runs)]]), begins


class _Numbers(dict[str, int]):
    """A number for each token, computed once; all are dropped when there are too many, and computed again."""

    def __missing__(self, token: str) -> int:
        if len(self) >= _WORDS_KNOWN:
            self.clear()
        number = self[token] = int.from_bytes(_digest(token, 8), "little")
        return number


def _mixed(numbers: Hashes) -> Hashes:
    """Return numbers spread over 64 bits (the finaliser of SplitMix64)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _once(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return each number once, in order; several times as fast as np.unique."""
    ordered = np.sort(numbers)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered


def _sketch(texts: Sequence[str], shingles: _Shingles) -> tuple[list[int], list[Pair], Signatures]:
    """Return the places of distinct texts, the pairs of each other text with the first equal one, and signatures."""
    first: dict[bytes, int] = {}
    places: list[int] = []
    pairs: list[Pair] = []
    signatures = [np.empty((0, HASHES), dtype=np.uint32)]
    for piece in _pieces(texts):
        new = []
        for place in piece:
            split = shingles.tokens(texts[place])
            same = first.setdefault(_digest("\0".join(split), 16), place)
            if same != place:
                pairs += [Pair(same, place, 1.0)] if split else []
            elif split:
                places.append(place)
                new.append(split)
        if new:
            signatures.append(_signatures(*shingles.runs(new)))
    return places, pairs, np.concatenate(signatures)


def _pieces(texts: Sequence[str]) -> Iterator[range]:
    start = size = 0
    for i, text in enumerate(texts):
        size += len(text)
        if size >= _PIECE:
            yield range(start, i + 1)
            start, size = i + 1, 0
    yield range(start, len(texts))


def _signatures(runs: Hashes, begins: Places) -> Signatures:
    """Return the smallest value of each hash over the runs of each text; similar texts share many of them."""
    signatures = np.empty((len(begins), HASHES), dtype=np.uint32)
    for i, multiplier in enumerate(_MULTIPLIERS):
        signatures[:, i] = np.minimum.reduceat(runs * multiplier, begins) >> np.uint64(32)
    return signatures


def _rows(threshold: float) -> int:
    """Return the length of the longest bands of which a pair at the threshold shares one with probability RECALL."""
    likely = (rows for rows in range(10, 0, -1) if 1 - (1 - threshold**rows) ** (HASHES // rows) >= RECALL)
    return next(likely)


def _candidates(signatures: Signatures, threshold: float) -> tuple[Places, Places]:
    """Return the pairs that share a band; in a crowd, each text with its neighbours."""
    rows, count = _rows(threshold), len(signatures)
    keys = []
    for start in range(0, HASHES - rows + 1, rows):
        key = np.zeros(count, dtype=np.uint64)
        for column in range(start, start + rows):
            key = _mixed(key) + signatures[:, column]
        keys.append(key)
    pairs = [np.empty(0, dtype=np.int64)]
    for i, key in enumerate(keys):
        # In a crowd, texts that share the next bands too become neighbours.
        order = np.lexsort((keys[i - 2], keys[i - 1], key))
        ranked = key[order]
        for distance in range(1, NEIGHBOURS + 1):
            at = np.flatnonzero(ranked[:-distance] == ranked[distance:])
            if not len(at):
                break
            left, right = order[at], order[at + distance]
            pairs.append(np.minimum(left, right) * count + np.maximum(left, right))
        if sum(map(len, pairs)) > _HELD:
            pairs = [_once(np.concatenate(pairs))]
    both = _once(np.concatenate(pairs))
    return both // max(count, 1), both % max(count, 1)


def _promising(signatures: Signatures, pairs: tuple[Places, Places], threshold: float) -> Iterator[tuple[int, int]]:
    """Return the pairs whose signatures are similar enough, the best few of each text, in order."""
    firsts, seconds = pairs
    shared = np.empty(len(firsts), dtype=np.int64)
    for start in range(0, len(firsts), 100_000):
        part = slice(start, start + 100_000)
        shared[part] = (signatures[firsts[part]] == signatures[seconds[part]]).sum(axis=1)
    # Three standard deviations of the estimate below the threshold: one in a thousand pairs at the threshold is lost.
    least = HASHES * threshold - 3 * (HASHES * threshold * (1 - threshold)) ** 0.5
    likely = np.flatnonzero(shared >= least)
    likely = likely[np.lexsort((-shared[likely], firsts[likely]))]
    rank = np.arange(len(likely)) - np.searchsorted(firsts[likely], firsts[likely])
    best = likely[rank < COMPARED]
    return zip(firsts[best].tolist(), seconds[best].tolist(), strict=True)


def _compare(
    pairs: Iterator[tuple[int, int]], shingles: Callable[[int], Hashes], threshold: float
) -> Iterator[tuple[int, int, float]]:
    """Yield the pairs that are alike, compared in full; pairs within a crowd that is connected already are skipped."""
    remembered: dict[int, Hashes] = {}
    size = 0
    groups = Groups[int]()
    for i, j in pairs:
        if groups.together(i, j) and groups.size(i) > NEIGHBOURS + 1:
            continue
        if size > _REMEMBERED:
            remembered.clear()
            size = 0
        for place in (i, j):
            if place not in remembered:
                remembered[place] = shingles(place)
                size += len(remembered[place])
        similarity = _jaccard(remembered[i], remembered[j])
        if similarity >= threshold:
            groups.join(i, j)
            yield i, j, similarity


def _jaccard(first: Hashes, second: Hashes) -> float:
    """Return the Jaccard similarity: what both have, of what either has."""
    every = np.sort(np.concatenate([first, second]))
    both = int(np.count_nonzero(every[1:] == every[:-1]))
    return both / (len(every) - both)


class Groups(Generic[Thing]):
    """Things that belong together (union-find, by size and with path halving)."""

    def __init__(self) -> None:
        self._parent: dict[Thing, Thing] = {}
        self._size: dict[Thing, int] = {}

    def root(self, thing: Thing) -> Thing:
        """Return the thing that represents the group."""
        parent = self._parent
        while (above := parent.setdefault(thing, thing)) != thing:
            parent[thing] = thing = parent[above]
        return thing

    def join(self, first: Thing, second: Thing) -> None:
        """Merge the groups of two things."""
        small, large = self.root(first), self.root(second)
        if small == large:
            return
        if self.size(small) > self.size(large):
            small, large = large, small
        self._size[large] = self.size(large) + self.size(small)
        self._parent[small] = large

    def size(self, thing: Thing) -> int:
        """Return the size of the group of a thing."""
        return self._size.get(self.root(thing), 1)

    def together(self, first: Thing, second: Thing) -> bool:
        """Return whether both are in one group."""
        return self.root(first) == self.root(second)
