"""The digests of large golden sets, kept in the user's cache by the bytes of their files.

A set of a million judgments takes seconds to digest, and mostly it is the one of the last run. What is kept is used
only for a set that was read from files with the very same bytes, by the same version of karat.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from karat.core import GoldenSet, __version__
from karat.files import KeptValues

_MEANING = 1
"""Raise it when the same files mean another set, or a set has other digests."""
_LEAST = 4_000_000  # bytes of files below which digests are computed as fast as they are read
_SOURCE = "_source"
_KEPT = KeptValues("golden", limit=30)


def mark_source(golden: GoldenSet, files: Iterable[bytes]) -> None:
    """Note the bytes of the files that a set was read from, if there are many: all that it was made of."""
    contents = tuple(files)
    if sum(map(len, contents)) >= _LEAST:
        parts = b"".join(sha256(content).digest() for content in contents)
        vars(golden)[_SOURCE] = sha256(f"{_MEANING} {__version__}\n".encode() + parts).hexdigest()


def copy_source(golden: GoldenSet, other: GoldenSet) -> None:
    """Let another set with the same content have the same source."""
    if _SOURCE in vars(golden):
        vars(other)[_SOURCE] = vars(golden)[_SOURCE]


def recall(golden: GoldenSet, name: str) -> bytes | None:
    """Return what was kept of a set under a name; None if nothing was."""
    source = vars(golden).get(_SOURCE)
    return None if source is None else _KEPT.read(f"{source}-{name}")


def keep(golden: GoldenSet, name: str, value: bytes) -> None:
    """Keep something about a set, so that :func:`recall` returns it for another set from the same files."""
    source = vars(golden).get(_SOURCE)
    if source is not None:
        _KEPT.write(f"{source}-{name}", value)
