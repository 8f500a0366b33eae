"""A version of a document as an index holds it: its text, and the blocks that it was cut into."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from karat.core import Span
from karat.migration._words import Words, find_words

_DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A part of a document that has an id of its own, and its bytes in the document's text."""

    id: str
    span: Span
    type: str = ""
    """prose, code, table, figure or caption; empty if unknown."""


@dataclass(frozen=True, kw_only=True)
class Edition:
    """A version of a document: its text and its blocks, in reading order. Blocks may overlap.

    >>> first = Edition(document="wifi", text="Free.", blocks=(Block(id="b1", span=Span(0, 5)),))
    >>> len(first.version), first.named("v1").version
    (12, 'v1')
    """

    document: str
    text: str
    blocks: tuple[Block, ...]
    label: str = field(default="", compare=False)

    @cached_property
    def version(self) -> str:
        """The label, or else a digest of text and blocks: another chunker makes another version of the same text."""
        if self.label:
            return self.label
        digest = hashlib.sha256(self.text.encode())
        for block in self.blocks:
            digest.update(f"\0{block.id}\0{block.span.start}\0{block.span.end}".encode())
        return digest.hexdigest()[:_DIGITS]

    @cached_property
    def size(self) -> int:
        """Bytes of the text."""
        return len(self.text) if self.text.isascii() else len(self.text.encode())

    @cached_property
    def words(self) -> Words:
        """The words of the text, with their places."""
        return find_words(self.text)

    @cached_property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The first word of each block, and the one after its last."""
        return tuple(self.words.within(block.span) for block in self.blocks)

    @cached_property
    def _order(self) -> tuple[list[int], list[int], list[int]]:
        """The blocks by their first word, those first words, and how far any block up to there reaches."""
        order = sorted(range(len(self.blocks)), key=lambda at: self.ranges[at])
        starts = [self.ranges[at][0] for at in order]
        return order, starts, list(accumulate((self.ranges[at][1] for at in order), max))

    def blocks_at(self, first: int, stop: int) -> list[int]:
        """Return the positions of the blocks that hold one of the words from ``first`` up to ``stop``."""
        order, starts, reaches = self._order
        low, high = bisect_left(reaches, first + 1), bisect_left(starts, stop)
        return [at for at in order[low:high] if self.ranges[at][1] > first]

    def named(self, label: str) -> Edition:
        """Return the same edition under another version."""
        return Edition(document=self.document, text=self.text, blocks=self.blocks, label=label)

    def bytes_of(self, block: Block) -> bytes:
        """Return the bytes of a block."""
        data: bytes = self._data[block.span.start : block.span.end]
        return data

    @cached_property
    def _data(self) -> bytes:
        return self.text.encode()


def count_repeated(blocks: Iterable[Block]) -> int:
    """Return how many blocks have an id that another block before them has."""
    ids: Sequence[str] = [block.id for block in blocks]
    return len(ids) - len(set(ids))
