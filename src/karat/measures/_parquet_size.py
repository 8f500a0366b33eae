"""How many bytes a Parquet file unpacks to, by its footer and the headers of its pages, before anything is unpacked.

A footer may lie about sizes, a header of a page cannot: whoever unpacks the page takes as many bytes as it says. Rows
count, too, since a single value can stand for a billion of them. Both are written in Thrift's compact protocol:
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md and
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from typing import Any, BinaryIO

from karat.core import InputError
from karat.files import max_bytes, too_large
from karat.measures._files import Source

_CELL = 16  # bytes in memory, besides the bytes of the page
_HEAD = 1 << 16
_MAGIC = b"PAR1"

Struct = Mapping[int, Any]
"""The fields of a Thrift structure, by their numbers."""


def refuse_bomb(file: BinaryIO, name: str, columns: Collection[str] | None = None) -> None:
    """Raise an InputError if some columns of a Parquet file, or all, unpack to more bytes than karat reads."""
    try:
        size = unpacked_size(file, columns)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        reason = str(error) or "it is damaged"
        raise InputError(f"is not a valid Parquet file: {reason}", source=name) from None
    if size > max_bytes():
        raise too_large(name, max_bytes(), unpacked=True)


def unpacked_size(file: BinaryIO, columns: Collection[str] | None = None) -> int:
    """Return how many bytes some columns take when they are read. A file that is not understood raises an error."""
    size = file.seek(0, os.SEEK_END)
    total = 0
    for group in _read_footer(file, size)[4]:
        for chunk in group[1]:
            about = chunk[3]
            if columns is None or about[3][0].decode() in columns:
                total += _CELL * max(group[3], about[5]) + sum(page[2] for page in _page_headers(file, about, size))
    return total


def group_sizes(source: Source) -> list[int]:
    """Return how many rows each row group of a Parquet file has."""
    with source.open() as file:
        return [group[3] for group in _read_footer(file, file.seek(0, os.SEEK_END))[4]]


def _read_footer(file: BinaryIO, size: int) -> Struct:
    file.seek(max(0, size - 8))
    length, magic = int.from_bytes(file.read(4), "little"), file.read(4)
    if magic != _MAGIC or length > size - 8:
        raise ValueError("it has no footer")
    file.seek(size - 8 - length)
    return _parse(file.read(length))[0]


def _page_headers(file: BinaryIO, about: Struct, size: int) -> Iterator[Struct]:
    """Yield the headers of the pages of a column."""
    place = min(offset for offset in (about.get(11), about[9]) if offset)
    if place < 0:
        raise ValueError("a column begins before the file")
    end = min(place + about[7], size)
    while place < end:
        file.seek(place)
        data = file.read(_HEAD)
        try:
            header, length = _parse(data)
        except IndexError:  # it has long statistics
            header, length = _parse(data + file.read(end - place - len(data)))
        if header[2] < 0 or header[3] < 0:
            raise ValueError("a page has a size below 0")
        yield header
        place += length + header[3]


def _parse(data: bytes) -> tuple[Struct, int]:
    """Return the structure at the beginning of some bytes, and its length. IndexError if it does not end there."""
    reader = _Reader(data)
    return reader.struct(), reader.at


class _Reader:
    """Reads Thrift's compact protocol."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            if (shift := shift + 7) > 63:
                raise ValueError("a number is too long")

    def integer(self) -> int:
        value = self.unsigned()
        return (value >> 1) ^ -(value & 1)

    def skip(self, count: int) -> bytes:
        self.at += count
        if self.at > len(self.data):
            raise IndexError
        return self.data[self.at - count : self.at]

    def struct(self) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while kind := self.byte():
            number = number + (kind >> 4) if kind >> 4 else self.integer()
            kind &= 0x0F
            fields[number] = kind == 1 if kind in (1, 2) else self.value(kind)
        return fields

    def value(self, kind: int) -> Any:
        match kind:
            case 1 | 2 | 3:
                return self.byte()
            case 4 | 5 | 6:
                return self.integer()
            case 7:
                return self.skip(8)
            case 8:
                return self.skip(self.unsigned())
            case 9 | 10:
                head = self.byte()
                count = head >> 4 if head >> 4 < 15 else self.unsigned()
                return [self.value(head & 0x0F) for _ in range(count)]
            case 12:
                return self.struct()
        raise ValueError(f"type {kind} is not known")
