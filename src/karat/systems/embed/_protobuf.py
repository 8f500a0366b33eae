"""Just enough of the wire format of Protocol Buffers to write a message without a package.

https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import struct

Value = int | float | str | bytes


def encode(*fields: tuple[int, Value]) -> bytes:
    """Return the encoding of numbered fields; a nested message is bytes, a repeated field is given several times.

    >>> encode((1, 150), (2, "testing")).hex(" ")
    '08 96 01 12 07 74 65 73 74 69 6e 67'
    """
    return b"".join(_field(number, value) for number, value in fields)


def _field(number: int, value: Value) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value % (1 << 64))
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    """Return a number with seven bits in each byte, lowest first; the eighth bit means that more follow."""
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    data.append(value)
    return bytes(data)
