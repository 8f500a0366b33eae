"""MurmurHash3, the variant of 32 bits: the same number in every process, language and version of Python.

Austin Appleby, MurmurHash3_x86_32, public domain, 2011.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct

BUCKETS = 10_000
"""Units are dealt to so many buckets: a rollout has steps of 0.01 %."""
_WORD = 0xFFFFFFFF


def murmur3_32(data: bytes, seed: int = 0) -> int:
    """Return the hash of some bytes, a number of 32 bits.

    >>> hex(murmur3_32(b"hello")), hex(murmur3_32(b"", 1))
    ('0x248bfa47', '0x514e28b7')
    """
    size = len(data)
    whole = size >> 2
    state = seed
    for word in _mix_words(data, whole) if whole else ():
        state ^= word
        state = (state << 13 | state >> 19) * 5 + 0xE6546B64 & _WORD  # what is beyond 32 bits only grows upwards
    if size & 3:
        word = int.from_bytes(data[whole << 2 :], "little") * 0xCC9E2D51 & _WORD
        state ^= (word << 15 | word >> 17) * 0x1B873593 & _WORD
    state ^= size
    state = (state ^ state >> 16) * 0x85EBCA6B & _WORD
    state = (state ^ state >> 13) * 0xC2B2AE35 & _WORD
    return state ^ state >> 16


def _mix_words(data: bytes, count: int) -> tuple[int, ...]:
    """Return the words of some bytes, each mixed: all at once, as lanes of 64 bits in one number."""
    words, lanes, low_halves = _find_lanes(count)
    mixed = int.from_bytes(lanes.pack(*words.unpack_from(data)), "little") * 0xCC9E2D51 & low_halves
    mixed = ((mixed << 15 | mixed >> 17) & low_halves) * 0x1B873593 & low_halves
    return lanes.unpack(mixed.to_bytes(lanes.size, "little"))


@lru_cache(maxsize=256)
def _find_lanes(count: int) -> tuple[Struct, Struct, int]:
    """Return what reads words, what reads and writes lanes, and a number whose bits are the low halves of all lanes."""
    return Struct(f"<{count}I"), Struct(f"<{count}Q"), sum(_WORD << 64 * lane for lane in range(count))


@lru_cache(maxsize=8192)  # one session is looked up again and again
def find_bucket(salt: str, unit: str) -> int:
    """Return the bucket of a unit, from 0 to 9,999. Another salt deals all units anew.

    >>> find_bucket("rerank", "session-1"), find_bucket("rerank/variant", "session-1")
    (7038, 1275)
    """
    return murmur3_32(f"{salt}\0{unit}".encode("utf-8", "surrogatepass")) * BUCKETS >> 32
