"""The lines of a run file in the layout in which karat writes plain answers, read in columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from sys import intern
from typing import overload

import msgspec
import numpy as np
from msgspec import ValidationError
from numpy.typing import NDArray

from karat.core import Floats, TraceTable
from karat.files import ByteBlock, TextColumn, split_lines
from karat.schema import Milliseconds
from karat.traces._hit_columns import HitColumns, read_numbers

Ints = NDArray[np.int64]
_FIRST = re.compile(
    rb'\{"query":"[^"\\]+","text":"(?:[^"\\]|\\.)*"(,"judged":"[^"\\]*")?,"ms":\{((?:"[^"\\]+":[^,"{}]+,?)+)\},"hits":\['
)
"""The beginning of a line that can be read in columns: whether it has a digest, and its times."""
_QUERY, _TEXT, _JUDGED, _TIMES, _HITS, _LAST = (
    b'{"query":"',
    b'","text":"',
    b'","judged":"',
    b'","ms":{',
    b'},"hits":[',
    b"]}",
)
_ESCAPES = np.frombuffer(b'"/bfnrt', np.uint8)
"""What may follow a backslash here. Another backslash, or a number, is left to the decoder."""
_decode_times = msgspec.json.Decoder(list[Milliseconds]).decode


class TextSpans(Sequence[str]):
    r"""Texts of JSON, each decoded when somebody asks for it.

    >>> TextSpans(rb'["pool","a \"spa\""]', np.array([2, 9]), np.array([6, 18]))[1]
    'a "spa"'
    """

    def __init__(self, data: bytes, start: Ints, end: Ints) -> None:
        self._data, self._start, self._end = data, start, end

    def __len__(self) -> int:
        return len(self._start)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return list(map(self._decode, self._start[place].tolist(), self._end[place].tolist()))
        return self._decode(int(self._start[place]), int(self._end[place]))

    def _decode(self, start: int, end: int) -> str:
        text = self._data[start:end]
        return msgspec.json.decode(b'"%b"' % text, type=str) if b"\\" in text else text.decode()


def decode_columns(data: bytes, start: int, end: int) -> TraceTable | None:
    """Return the traces of a run file if each line is a plain answer as karat writes it; None leaves it to a decoder.

    Each line has the fields of the first, in the same order, and stages of the same names. Data are between two places.

    >>> line = b'{"query":"q","text":"?","ms":{"total":1.5},"hits":[{"id":"wifi","score":0.5}]}'
    >>> [(trace.query, trace.hits[0].document) for trace in decode_columns(line, 0, len(line))]
    [('q', 'wifi')]
    """
    first = _FIRST.match(data, start, end)
    if first is None:
        return None
    try:
        stages = [name.encode() for name in msgspec.json.decode(b"{%b}" % first[2], type=dict[str, float])]
        columns = _Columns(stages=stages, has_digest=first[1] is not None)
        for lines in split_lines(data, start, end):
            columns.add(lines, start)
            start += len(lines)
        return columns.table(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


@dataclass(frozen=True, kw_only=True)
class _Columns:
    """Collects the columns of very many lines; one of another layout raises a ValidationError."""

    stages: list[bytes]
    has_digest: bool
    hits: HitColumns = field(default_factory=HitColumns)
    queries: TextColumn = field(default_factory=TextColumn)
    texts: list[tuple[Ints, Ints]] = field(default_factory=list)
    digests: list[tuple[Ints, Ints]] = field(default_factory=list)
    times: list[Floats] = field(default_factory=list)

    def add(self, lines: bytes, offset: int) -> None:
        """Add some lines, which stand at a place of the file."""
        block = ByteBlock(lines if lines.endswith(b"\n") else lines + b"\n")
        ends = block.find(b"\n")
        starts = np.concatenate([[0], ends[:-1] + 1])
        quotes = _find_quotes(block, lines)
        lines.decode()  # a text that is not UTF-8 raises an error now, not when somebody asks for it
        count = 10 + 4 * self.has_digest + 2 * len(self.stages) + 2
        first = np.searchsorted(quotes, starts)
        if block.count_controls() != len(ends) or int(first[-1]) + count > len(quotes):
            raise ValidationError("lines of another layout")
        # The quotes before the hits of each line, a row for each.
        at = quotes[first + np.arange(count)[:, None]]
        pieces = [(_QUERY, starts), (_TEXT, at[3])]
        if self.has_digest:
            pieces += [(_JUDGED, at[7]), (_TIMES, at[11])]
            self.digests.append((offset + at[10] + 1, offset + at[11]))
        else:
            pieces.append((_TIMES, at[7]))
        self.texts.append((offset + at[6] + 1, offset + at[7]))
        names = at[-2 * len(self.stages) - 2 : -2]
        numbers, after = [], [*(names[2::2] - 1), at[-2] - 2]
        for stage, opened, closed, end in zip(self.stages, names[::2], names[1::2], after, strict=True):
            pieces.append((b'"%b":' % stage, opened))
            numbers.append((closed + 2, end))
        pieces += [(b",", place) for place in after[:-1]]
        pieces += [(_HITS, after[-1]), (_LAST, ends - 2)]
        if not all(block.has_at(places, piece) for piece, places in pieces):
            raise ValidationError("lines of another layout")
        escapes = np.searchsorted(block.find(b"\\"), at[2:4])
        if (escapes[0] != escapes[1]).any() or not self.queries.add(block, at[2] + 1, at[3]):
            raise ValidationError("ids of another layout")
        columns = [read_numbers(block, start, end, _decode_times) for start, end in numbers]
        self.times.append(np.array(columns))
        hits = (after[-1] + len(_HITS) - 1).tolist()
        self.hits.add([lines[start:end] for start, end in zip(hits, (ends - 1).tolist(), strict=True)])

    def table(self, data: bytes) -> TraceTable:
        """Return the traces of all lines. An id that is not UTF-8 raises a UnicodeDecodeError."""
        numbers, queries = self.queries.number()
        if len(numbers) != len(queries):
            raise ValidationError("a query occurs twice")
        times = np.concatenate(self.times, axis=1)
        return TraceTable(
            queries=tuple(map(intern, queries)),
            texts=TextSpans(data, *map(np.concatenate, zip(*self.texts, strict=True))),
            judged=TextSpans(data, *map(np.concatenate, zip(*self.digests, strict=True)))
            if self.has_digest
            else [""] * len(queries),
            timings=dict(zip([stage.decode() for stage in self.stages], times, strict=True)),
            hits=self.hits.table(),
        )


def _find_quotes(block: ByteBlock, lines: bytes) -> Ints:
    """Return the places of the quotes around texts, not of those in them."""
    quotes = block.find(b'"')
    if b"\\" not in lines:
        return quotes
    escapes = block.find(b"\\") + 1
    if not np.isin(block.bytes[escapes], _ESCAPES).all():
        raise ValidationError("an escape that is rare")
    outer: Ints = quotes[block.bytes[quotes - 1] != ord("\\")]
    return outer
