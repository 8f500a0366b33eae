"""Frames: what is left of queries when the words that change are masked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from karat.text import STOP_WORDS, words

SLOT = "..."
LEAST = 5
"""Queries that a frame has at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A frame, and the places of the queries that fill it."""

    text: str
    places: tuple[int, ...]


def frames(queries: Sequence[str]) -> list[Frame]:
    """Give the frames that at least five queries fill (one in a hundred, of many), the most used first.

    Queries of the same words count once. Masked are words that fewer of them have than that. At least half of a query's
    words have to be in the frame, and at least three, one of which carries a subject: "What is ...?" is how people ask.

    >>> [frame.text for frame in frames([f"What is the {name} policy?" for name in "pet pool spa gym bar".split()])]
    ['what is the ... policy']
    """
    split: dict[tuple[str, ...], int] = {}
    for i, query in enumerate(queries):
        split.setdefault(tuple(words(query)), i)
    least = max(LEAST, len(split) // 100)
    spread = Counter(word for asked in split for word in set(asked))
    places: dict[tuple[str, ...], list[int]] = {}
    for asked, i in split.items():
        frame = _masked([word if spread[word] >= least else SLOT for word in asked])
        if _tells(frame, len(asked)):
            places.setdefault(frame, []).append(i)
    found = [Frame(text=" ".join(frame), places=tuple(at)) for frame, at in places.items() if len(at) >= least]
    return sorted(found, key=lambda frame: -len(frame.places))


def _masked(asked: Sequence[str]) -> tuple[str, ...]:
    """Make one slot of several in a row."""
    return tuple(word for i, word in enumerate(asked) if word != SLOT or i == 0 or asked[i - 1] != SLOT)


def _tells(frame: Sequence[str], length: int) -> bool:
    fixed = [word for word in frame if word != SLOT]
    return (
        len(fixed) < len(frame) and len(fixed) >= max(3, length / 2) and any(word not in STOP_WORDS for word in fixed)
    )
