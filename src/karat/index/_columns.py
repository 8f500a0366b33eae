"""What is kept of each query of a run: its scores, its time, what became of it, and where its trace is.

It is kept twice: in blocks of some queries, from which a few are read with all that is known of them, and in series,
each of which is one value of all queries, by which they are put in order.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntFlag
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIZE = 64
"""Queries of a block: one query is read without the others of a large run."""
RANKED = 8
"""Relevant documents of a query whose ranks are kept."""
_FLOATS, _BYTES, _SHORTS = b"f", b"b", b"s"  # how a series is kept: as it is, or as numbers of its distinct values
_FEWEST = {_BYTES: 1 << 8, _SHORTS: 1 << 16}
_TYPES: dict[bytes, type[np.unsignedinteger[Any]]] = {_BYTES: np.uint8, _SHORTS: np.uint16}


class Mark(IntFlag):
    """What became of a query."""

    ASKED = 1
    ERROR = 2
    """The system failed."""
    UNFOUND = 4
    """It has an answer, and nothing relevant was returned."""
    FALSE = 8
    """It has no answer, and got one."""
    FAILED = 16
    """It is among the failures of the report, for whatever reason."""
    NEW = 32
    """It failed, and did not in the baseline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The queries of a run, or some of them, in the order of the golden set."""

    values: NDArray[np.float64]
    """One row per measure, and one for the milliseconds; NaN for a missing value."""
    codes: NDArray[np.uint8]
    """One row per measure: 0 for a value, otherwise the number of the reason why it is missing, from 1."""
    marks: NDArray[np.uint8]
    """Of each query, the sum of its :class:`Mark`."""
    offsets: NDArray[np.int64]
    """Of each query, where its line begins in the run file; -1 if the line is kept in the index, or there is none."""
    ranks: NDArray[np.uint16]
    """A row for each of the first relevant documents of a query: its rank from 1, or 0 if it was not found."""

    def take(self, places: Sequence[int]) -> Columns:
        """Return the queries at some places."""
        chosen = list(places)
        return Columns(
            values=self.values[:, chosen],
            codes=self.codes[:, chosen],
            marks=self.marks[chosen],
            offsets=self.offsets[chosen],
            ranks=self.ranks[:, chosen],
        )


def pack_columns(columns: Columns) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the body of each block."""
    for start in range(0, columns.marks.shape[0], SIZE):
        part = slice(start, start + SIZE)
        arrays = (
            columns.values[:, part],
            columns.offsets[part],
            columns.ranks[:, part],
            columns.codes[:, part],
            columns.marks[part],
        )
        yield start // SIZE, zlib.compress(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays), 1)


def unpack_columns(bodies: Sequence[bytes], measures: int) -> Columns:
    """Return what some blocks hold, one after the other."""
    parts = [_unpack(zlib.decompress(body), measures) for body in bodies]
    if not parts:
        return _unpack(b"", measures)
    if len(parts) == 1:
        return parts[0]
    return Columns(
        values=np.concatenate([part.values for part in parts], axis=1),
        codes=np.concatenate([part.codes for part in parts], axis=1),
        marks=np.concatenate([part.marks for part in parts]),
        offsets=np.concatenate([part.offsets for part in parts]),
        ranks=np.concatenate([part.ranks for part in parts], axis=1),
    )


def _unpack(body: bytes, measures: int) -> Columns:
    size = len(body) // ((measures + 1) * 8 + 8 + RANKED * 2 + measures + 1)
    ends = np.cumsum([(measures + 1) * 8 * size, 8 * size, RANKED * 2 * size, measures * size]).tolist()
    return Columns(
        values=np.frombuffer(body[: ends[0]], np.float64).reshape(measures + 1, size),
        offsets=np.frombuffer(body[ends[0] : ends[1]], np.int64),
        ranks=np.frombuffer(body[ends[1] : ends[2]], np.uint16).reshape(RANKED, size),
        codes=np.frombuffer(body[ends[2] : ends[3]], np.uint8).reshape(measures, size),
        marks=np.frombuffer(body[ends[3] :], np.uint8),
    )


def pack_series(values: NDArray[np.float64]) -> bytes:
    """Return the values of all queries as the index keeps them: most measures have few distinct ones."""
    distinct, numbers = np.unique(values, return_inverse=True)
    for kind, fewest in _FEWEST.items():
        if len(distinct) <= fewest:
            head = kind + len(distinct).to_bytes(4, "little")
            return head + distinct.tobytes() + numbers.astype(_TYPES[kind]).tobytes()
    return _FLOATS + values.tobytes()


def unpack_series(body: bytes) -> NDArray[np.float64]:
    """Return values that were packed."""
    kind = body[:1]
    if kind == _FLOATS:
        return np.frombuffer(body, np.float64, offset=1)
    size = int.from_bytes(body[1:5], "little")
    distinct = np.frombuffer(body, np.float64, size, offset=5)
    taken: NDArray[np.float64] = distinct[np.frombuffer(body, _TYPES[kind], offset=5 + 8 * size)]
    return taken
