"""MurmurHash3, the variant of 32 bits: the same number in every process, language and version of Python.

Austin Appleby, MurmurHash3_x86_32, public domain, 2011.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from struct import Struct

BUCKETS = 10_000
"""Units are dealt to so many buckets: a rollout has steps of 0.01 %."""
_WORD = 0xFFFFFFFF
_from_bytes = int.from_bytes


def murmur3_32(data: bytes, seed: int = 0) -> int:
    """Return the hash of some bytes, a number of 32 bits.

    A host waits when it sees a session for the first time, so that all words are mixed at once, as lanes of 64 bits in
    one number, and a number times 2**32 + 1 stands there twice, so that one shift rotates it.

    >>> hex(murmur3_32(b"hello")), hex(murmur3_32(b"", 1))
    ('0x248bfa47', '0x514e28b7')
    """
    size, state, tail = len(data), seed, 0
    if size:
        unpack, odd, even_words, low_halves, width = _find_lanes(size)
        lanes = _from_bytes(data, "little")
        lanes = (lanes & even_words | (lanes >> 32 & even_words) << odd) * 0xCC9E2D51 & low_halves
        lanes = (lanes * 0x100000001 >> 17 & low_halves) * 0x1B873593 & low_halves
        words = unpack((lanes | lanes >> odd - 32).to_bytes(width, "little"))
        if size & 3:  # bytes that are no whole word are mixed, and not rotated in
            words, tail = words[:-1], words[-1]
        for word in words:  # what is beyond 32 bits only grows upwards
            state = ((state ^ word) * 0x100000001 >> 19) * 5 + 0xE6546B64 & 0xFFFFFFFF
    state ^= tail ^ size
    state = (state ^ state >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    state = (state ^ state >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return state ^ state >> 16


@lru_cache(maxsize=256)
def _find_lanes(size: int) -> tuple[Callable[[bytes], tuple[int, ...]], int, int, int, int]:
    """Return what reads the words of so many bytes, and how they are lanes: words 0, 2, 4, ... first, then 1, 3, 5, ...

    That is where the odd ones begin, in bits, the even words as bits, the low halves of all lanes, and their bytes.
    """
    count = size + 3 >> 2
    half = count + 1 >> 1
    even_words = sum(_WORD << 64 * lane for lane in range(half))
    return Struct(f"<{count}I").unpack_from, 64 * half, even_words, even_words << 64 * half | even_words, 16 * half


@lru_cache(maxsize=8192)  # one session is looked up again and again
def find_bucket(salt: str, unit: str) -> int:
    """Return the bucket of a unit, from 0 to 9,999. Another salt deals all units anew.

    >>> find_bucket("rerank", "session-1"), find_bucket("rerank/variant", "session-1")
    (7038, 1275)
    """
    return murmur3_32(f"{salt}\0{unit}".encode("utf-8", "surrogatepass")) * BUCKETS >> 32
