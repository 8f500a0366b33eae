"""The hits of very many lines of a run file, read into one table.

In the layout that karat writes they are read in columns, without an object for each; in any other by a decoder.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, Raw, ValidationError
from numpy.typing import NDArray

from karat.core import Floats, HitList, HitTable
from karat.files import ByteBlock, TextColumn, count_byte
from karat.traces._hit_rows import WholeHit

Ints = NDArray[np.int64]
_BEFORE, _BETWEEN = b'{"id":"', b'","score":'
_QUOTES = 6  # of each hit
_decode_numbers = msgspec.json.Decoder(list[float]).decode
_decode_hits = msgspec.json.Decoder(list[WholeHit]).decode


class HitColumns:
    """Reads hits that have an id and a score and are written as karat does; any other raises a ValidationError.

    >>> columns = HitColumns()
    >>> columns.add([Raw(b'[{"id":"wifi","score":0.9},{"id":"pool","score":0.8}]'), Raw(b'[]')])
    >>> [hits.ids for hits in columns.lists()]
    [['wifi', 'pool'], []]
    """

    def __init__(self) -> None:
        self._ids = TextColumn()
        self._scores: list[Floats] = []
        self._lengths: list[int] = []

    def add(self, lists: Sequence[Raw | bytes]) -> None:
        """Add the hits of some lines."""
        text = b"\n".join([*lists, b""])
        block = ByteBlock(text)
        ends, quotes, closed = block.find(b"\n"), block.find(b'"'), block.find(b"}")
        if b"\\" in text or block.count_controls() != len(lists) or len(quotes) != _QUOTES * len(closed):
            raise ValidationError("hits of another layout")
        opened, id_end = quotes[::_QUOTES] - 1, quotes[3::_QUOTES]
        lengths = np.diff(np.searchsorted(closed, ends), prepend=0)
        score = id_end + len(_BETWEEN)
        # Each list has its brackets, and between two hits there is a comma: then nothing else stands in the lines.
        size = int((closed - opened + 1).sum()) + len(closed) - int(np.count_nonzero(lengths)) + 3 * len(ends)
        if not (
            size == block.size
            and block.has_at(np.concatenate([[0], ends[:-1] + 1]), b"[")
            and block.has_at(ends - 1, b"]")
            and count_byte(text, b"[") == count_byte(text, b"]") == len(ends)
            and block.has_at(opened, _BEFORE)
            and block.has_at(id_end, _BETWEEN)
            and (score < closed).all()
            and (closed[:-1] < opened[1:]).all()
            and self._ids.add(block, opened + len(_BEFORE), id_end)
        ):
            raise ValidationError("hits of another layout")
        self._scores.append(read_numbers(block, score, closed, _decode_numbers))
        self._lengths += lengths.tolist()

    def table(self) -> HitTable:
        """Return the hits of all lines. An id that is not UTF-8 raises a UnicodeDecodeError."""
        ids, names = self._ids.number()
        lengths, scores = np.array(self._lengths, np.int64), _join(self._scores)
        return HitTable(names=names, id=ids, document=ids, score=scores, lengths=lengths)

    def lists(self) -> list[HitList]:
        """Return the hits of each line. An id that is not UTF-8 raises a UnicodeDecodeError."""
        return self.table().lists.copy()


def read_numbers(block: ByteBlock, start: Ints, end: Ints, decode: Callable[[bytes], list[float]]) -> Floats:
    """Return the numbers between some places, each of which is followed by one more byte.

    ``decode`` reads a JSON list of numbers, and raises a ValidationError if one is none.
    """
    sizes = end - start + 1
    if (sizes < 1).any():
        raise ValidationError("no room for a number")
    before = np.cumsum(sizes) - sizes
    text = block.bytes[np.repeat(start - before, sizes) + np.arange(int(sizes.sum()))]
    text[before + sizes - 1] = ord(",")
    numbers = decode(b"[" + text[:-1].tobytes() + b"]")
    if len(numbers) != len(start):
        raise ValidationError("not a number for each hit")
    return np.array(numbers, np.float64)


class HitObjects:
    """Reads hits that have an id, a score and perhaps a document, in any layout, as :class:`HitColumns` does."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = defaultdict(count().__next__)
        self._ids: list[Ints] = []
        self._documents: list[Ints] = []
        self._scores: list[Floats] = []
        self._lengths: list[int] = []

    def add(self, lists: list[Raw]) -> None:
        """Add the hits of some lines."""
        rows = list(map(_decode_hits, lists))
        hits = [hit for row in rows for hit in row]
        names, named = [hit.id for hit in hits], [hit.document for hit in hits]
        colons, lacking = b"".join(lists).count(b":"), named.count(UNSET)
        if 3 * len(hits) - lacking != colons and msgspec.json.encode(hits).count(b":") != colons:
            raise ValidationError("a key occurs twice")  # of which the decoder keeps the last
        self._ids.append(self._number(names))
        self._documents.append(self._ids[-1])
        if lacking < len(hits):
            named = [id_ if name is UNSET else name for id_, name in zip(names, named, strict=True)]
            self._documents[-1] = self._number(named)
        self._scores.append(np.fromiter([hit.score for hit in hits], np.float64, len(hits)))
        self._lengths += map(len, rows)

    def _number(self, names: list[Any]) -> Ints:
        return np.fromiter(map(self._numbers.__getitem__, names), np.int64, len(names))

    def lists(self) -> list[HitList]:
        """Return the hits of each line."""
        is_whole = all(own is ids for own, ids in zip(self._documents, self._ids, strict=True))
        ids = _join(self._ids)
        document = ids if is_whole else _join(self._documents)
        names, lengths, scores = list(self._numbers), np.array(self._lengths, np.int64), _join(self._scores)
        return HitTable(names=names, id=ids, document=document, score=scores, lengths=lengths).lists.copy()


def _join(parts: list[Any]) -> Any:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
