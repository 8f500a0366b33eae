"""The body of a response, unpacked block by block: a few kilobytes can hold gigabytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

ACCEPTED = "gzip"
"""The only encoding that karat asks for."""
_BLOCK = 1 << 20
_GZIP = 31  # for zlib: with the header and the checksum of gzip


class BadEncoding(Exception):
    """A body is encoded in a way that was not asked for, or is damaged."""


def read_blocks(packed: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Yield the blocks of a body, each of at most a megabyte if it is packed.

    ``encoding`` is the header Content-Encoding. Several encodings, one upon the other, are refused: nobody needs them,
    and they multiply.
    """
    name = encoding.strip().lower()
    if name in ("", "identity"):
        yield from packed
    elif name in ("gzip", "x-gzip"):
        yield from _unpack(packed)
    else:
        raise BadEncoding(f"an answer in the encoding {name[:40]!r}, and karat asks for {ACCEPTED} or none")


def _unpack(packed: Iterable[bytes]) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(_GZIP)
    try:
        for block in packed:
            rest = block
            while rest and not unpacker.eof:
                yield unpacker.decompress(rest, _BLOCK)
                rest = unpacker.unconsumed_tail
    except zlib.error as error:
        raise BadEncoding(f"an answer that cannot be unpacked: {error}") from None
    if not unpacker.eof:
        raise BadEncoding("an answer that cannot be unpacked: it is cut off")
