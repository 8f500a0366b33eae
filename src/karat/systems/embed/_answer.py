"""What a server answered: vectors, or words that say why not."""

from __future__ import annotations

import json
import time
from email.utils import parsedate_to_datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.core import SystemFailed

_SHOWN = 300  # characters of what a server says


def rows_of(content: bytes, count: int, size: int | None) -> NDArray[np.float64]:
    """Give the vectors of an answer in the order of the texts; raise SystemFailed where they are not that.

    >>> rows_of(b'{"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [2, 0]}]}', 2, None).tolist()
    [[2.0, 0.0], [0.0, 1.0]]
    """
    items = _items(content)
    if len(items) != count:
        raise SystemFailed(f"gave {len(items)} vectors for {count} texts")
    try:
        vectors = [item["embedding"] for item in items]
        indexes = [item.get("index") for item in items]
    except (TypeError, KeyError, AttributeError):
        raise SystemFailed(f"gave no embeddings: {_quoted(content)}") from None
    if indexes == [None] * count:  # some servers leave it out, and keep the order
        indexes = list(range(count))
    if set(map(repr, indexes)) != set(map(repr, range(count))):
        raise SystemFailed(f"numbered the vectors of {count} texts {_shortened(str(indexes))}")
    return _matrix(vectors, size, content)[np.argsort(indexes)]


def _items(content: bytes) -> list[Any]:
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        raise SystemFailed(f"gave no valid JSON: {_quoted(content)}") from None
    items = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(items, list):
        raise SystemFailed(f"gave no embeddings: {words_of(content)}")
    return items


def _matrix(vectors: list[Any], size: int | None, content: bytes) -> NDArray[np.float64]:
    try:
        found = np.array(vectors)
    except ValueError:
        raise SystemFailed(f"gave vectors of different lengths: {_quoted(content)}") from None
    if found.ndim != 2 or found.dtype.kind not in "iuf" or not found.shape[1]:
        raise SystemFailed(f"gave vectors that are no lists of numbers: {_quoted(content)}")
    if size is not None and found.shape[1] != size:
        raise SystemFailed(f"gave vectors of {found.shape[1]} numbers, not of {size}")
    if not np.isfinite(found).all():
        raise SystemFailed("gave a vector with a number that is not finite")
    return found.astype(np.float64)


def words_of(content: bytes) -> str:
    """Give what a server says went wrong, on one line of at most 300 characters.

    >>> words_of(b'{"error": {"message": "no such model", "type": "invalid_request_error"}}')
    'no such model'
    """
    try:
        said: Any = json.loads(content)
    except (ValueError, RecursionError):
        return _quoted(content)
    while isinstance(said, dict):
        said = next((said[key] for key in ("error", "message", "detail") if said.get(key)), None)
    return _shortened(said) if isinstance(said, str) else _quoted(content)


def _quoted(content: bytes) -> str:
    return _shortened(content[: 4 * _SHOWN].decode("utf-8", "replace")) or "nothing"


def _shortened(text: str) -> str:
    line = " ".join(text[: 4 * _SHOWN].split())
    shown = "".join(character if character.isprintable() else "?" for character in line)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."


def seconds_to_wait(header: str) -> float:
    """Read a Retry-After header: seconds, or a date; 0 where it says nothing.

    >>> seconds_to_wait("1.5"), seconds_to_wait("Wed, 21 Oct 2015 07:28:00 GMT"), seconds_to_wait("soon")
    (1.5, 0.0, 0.0)
    """
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except ValueError:
            return 0.0
    return max(0.0, seconds) if seconds == seconds else 0.0
