"""Texts in a block of bytes, found, compared and numbered all at once.

A decoder makes an object of each id, and a dict looks up each object. Of a file with a million rows these are two
million of both, and most of the time in which it is read. Here an id is a few words of eight bytes in an array.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
_WORD = 8
_LONGEST = 8  # words of a text: longer ones are left to a decoder
_MASKS = np.array([(1 << (8 * size)) - 1 for size in range(_WORD + 1)], np.uint64)
"""What is left of a word of which only some bytes belong to a text."""
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, which spreads similar words: Fibonacci hashing
_HALF = np.uint64(32)
_AT_ONCE = 1 << 16  # texts


class ByteBlock:
    """A block of bytes.

    >>> block = ByteBlock(b'{"id":"wifi"} {"id":"pool"}')
    >>> block.find(b"{").tolist(), block.has_at(block.find(b"{"), b'{"id":')
    ([0, 14], True)
    """

    def __init__(self, data: bytes) -> None:
        padded = data + bytes(_WORD)
        self.size = len(data)
        self.bytes = np.frombuffer(padded, np.uint8)
        # The word that begins at each byte.
        self._words = np.ndarray((self.size + 1,), "<u8", buffer=padded, strides=(1,))

    def find(self, byte: bytes) -> Ints:
        """Return the places of a byte."""
        return np.flatnonzero(self.bytes[: self.size] == byte[0])

    def count_controls(self) -> int:
        """Return how many bytes are control characters, which in JSON stand between texts only."""
        return int(np.count_nonzero(self.bytes[: self.size] < ord(" ")))

    def has_at(self, places: Ints, text: bytes) -> bool:
        """Return whether a text stands at each of some places."""
        if len(places) and int(places.max()) + len(text) > self.size:
            return False
        for start in range(0, len(text), _WORD):
            part = text[start : start + _WORD]
            words = self._words[places + start] & _MASKS[len(part)]
            if (words != np.uint64(int.from_bytes(part, "little"))).any():
                return False
        return True

    def words(self, start: Ints, end: Ints) -> NDArray[np.uint64] | None:
        """Return the words of each text, a row for all first ones and so on; None if one is empty or too long."""
        sizes = end - start
        if not len(sizes):
            return np.zeros((0, 0), np.uint64)
        shortest, longest = int(sizes.min()), int(sizes.max())
        if shortest < 1 or longest > _LONGEST * _WORD:
            return None
        rows = []
        for first in range(0, longest, _WORD):
            places = start + first if first < shortest else np.minimum(start + first, self.size)
            lengths = longest - first if shortest == longest else sizes - first
            rows.append(self._words[places] & _MASKS[np.clip(lengths, 0, _WORD)])
        return np.array(rows)


class TextColumn:
    """Texts of several blocks, each of which gets a number. They have no control characters.

    >>> block, column = ByteBlock(b"wifi pool wifi"), TextColumn()
    >>> column.add(block, np.array([0, 5, 10]), np.array([4, 9, 14]))
    True
    >>> numbers, texts = column.number()
    >>> numbers.tolist(), texts
    ([0, 1, 0], ['wifi', 'pool'])
    """

    def __init__(self) -> None:
        self._parts: list[NDArray[np.uint64]] = []

    def add(self, block: ByteBlock, start: Ints, end: Ints) -> bool:
        """Add texts of a block; return False if one is empty or too long for a column."""
        words = block.words(start, end)
        if words is None:
            return False
        self._parts.append(words)
        return True

    def number(self) -> tuple[Ints, list[str]]:
        """Return the number of each text, and each text once, in the order in which they first stand there.

        A text that is not UTF-8 raises a UnicodeDecodeError.
        """
        places = np.cumsum([0, *(part.shape[1] for part in self._parts)]).tolist()
        height = max((part.shape[0] for part in self._parts), default=0)
        words = np.zeros((height, places[-1]), np.uint64)
        for part, (start, end) in zip(self._parts, pairwise(places), strict=True):
            words[: part.shape[0], start:end] = part
        # The rows of a query mostly stand together, so that one of them is looked at for all.
        is_start = np.append(True, (words[:, 1:] != words[:, :-1]).any(axis=0))[: words.shape[1]]
        runs = words if is_start.all() else words[:, is_start]
        first_of = _find_first(runs)
        is_first = first_of == np.arange(len(first_of))
        numbers: Ints = (np.cumsum(is_first) - 1)[first_of]
        if runs is not words:
            numbers = np.repeat(numbers, np.diff(np.flatnonzero(is_start), append=words.shape[1]))
        return numbers, _decode(runs[:, is_first])


def _find_first(words: NDArray[np.uint64]) -> Ints:
    """Return for each column of words the first one that is equal to it."""
    bits = max(words.shape[1].bit_length(), 8)
    # Piece by piece, which the processor's cache has room for.
    pieces = [slice(start, start + _AT_ONCE) for start in range(0, words.shape[1], _AT_ONCE)]
    slots = [_hash(words[:, piece], bits) for piece in pieces]
    # Each writes its place into a table where its hash says, the first one last. Those that find another text there are
    # few, and are sorted: also if somebody has made texts with the same hash.
    table = np.zeros(1 << bits, np.int64)
    for piece, slot in zip(reversed(pieces), reversed(slots), strict=True):
        table[slot[::-1]] = np.arange(piece.start, piece.start + len(slot))[::-1]
    firsts = [table[slot] for slot in slots]
    is_other = [(words[:, own] != words[:, piece]).any(axis=0) for own, piece in zip(firsts, pieces, strict=True)]
    first_of: Ints = np.concatenate([np.zeros(0, np.int64), *firsts])
    others = np.flatnonzero(np.concatenate([np.zeros(0, np.bool_), *is_other]))
    if len(others):
        first_of[others] = others[_find_first_by_order(words[:, others])]
    return first_of


def _hash(words: NDArray[np.uint64], bits: int) -> Ints:
    """Return a number of some bits for each column of words."""
    hashes = np.zeros(words.shape[1], np.uint64)
    for row in words:
        hashes = (hashes ^ row) * _MIX
        hashes ^= hashes >> _HALF
    return (hashes >> np.uint64(64 - bits)).astype(np.int64)


def _find_first_by_order(words: NDArray[np.uint64]) -> Ints:
    order = np.lexsort(words)
    ordered = words[:, order]
    starts = np.concatenate([[0], np.flatnonzero((ordered[:, 1:] != ordered[:, :-1]).any(axis=0)) + 1])
    first_of = np.zeros(len(order), np.int64)
    # The order is stable, so that the first of a run is the first of all.
    first_of[order] = np.repeat(order[starts], np.diff(np.append(starts, len(order))))
    return first_of


def _decode(words: NDArray[np.uint64]) -> list[str]:
    """Return the texts of words; none has a byte 0, with which the last word is filled, or a new line."""
    if not words.size:
        return []
    rows = np.ascontiguousarray(words.T.astype("<u8"))
    return b"\n".join(rows.view(f"S{_WORD * rows.shape[1]}").ravel().tolist()).decode().split("\n")
