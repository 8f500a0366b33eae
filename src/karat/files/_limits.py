"""How many bytes karat reads: a small file can unpack to more than the memory holds, and a pipe may have no end."""

from __future__ import annotations

import os
import re

from karat.core import InputError, UsageError, shorten

MAX_BYTES = 1 << 31
"""Bytes that are read of one file, one stream or one golden set with its documents, counted after unpacking."""
VARIABLE = "KARAT_MAX_BYTES"
"""The environment variable that sets another limit. ``--max-bytes`` sets it for one call."""
_SIZE = re.compile(r"([0-9]{1,15})([KMGT]?)(?:i?B)?", re.IGNORECASE)
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}


def max_bytes() -> int:
    """Return the limit: that of the environment, or else the default."""
    text = os.environ.get(VARIABLE, "")
    return parse_size(text, VARIABLE) if text else MAX_BYTES


def parse_size(text: str, name: str) -> int:
    """Return a number of bytes, written as a whole number that K, M, G or T may follow.

    >>> parse_size("4G", "--max-bytes")
    4294967296
    """
    match = _SIZE.fullmatch(text.strip())
    size = int(match[1]) << _UNITS[match[2].lower()] if match else 0
    if not size:
        raise UsageError(f"{name} {shorten(text)} is not a size; write bytes such as 4000000000, or 4G")
    return size


def too_large(name: str, limit: int, *, before: int = 0, unpacked: bool = False) -> InputError:
    """Return the error for a file with which more than ``limit`` bytes are read; ``before`` were those of others."""
    together = "with what was read before it, " if before else ""
    return InputError(
        f"{together}{'unpacks to' if unpacked else 'has'} more than {limit:,} bytes, the most that karat reads",
        source=name,
        hint=f"if that is meant, raise the limit with --max-bytes or {VARIABLE}",
    )
