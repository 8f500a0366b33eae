"""Frames: queries with the words that change masked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from karat.text import STOP_WORDS, words

SLOT = "..."
LEAST = 5
"""The fewest queries of a frame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A frame, and the places of the queries that have it."""

    text: str
    places: tuple[int, ...]


def frames(queries: Sequence[str]) -> list[Frame]:
    """Return the frames that at least five queries have (of many queries, one in a hundred), the most used first.

    Queries of the same words count once. A word is masked if fewer queries than that have it. At least half of a
    query's words have to be in the frame, and at least three, one of which carries a subject: "What is ...?" is how
    people ask.

    >>> [frame.text for frame in frames([f"What is the {name} policy?" for name in "pet pool spa gym bar".split()])]
    ['what is the ... policy']
    """
    split: dict[tuple[str, ...], int] = {}
    for i, query in enumerate(queries):
        split.setdefault(tuple(words(query)), i)
    least = max(LEAST, len(split) // 100)
    spread = Counter(word for tokens in split for word in set(tokens))
    places: dict[tuple[str, ...], list[int]] = {}
    for tokens, i in split.items():
        frame = _masked([word if spread[word] >= least else SLOT for word in tokens])
        if _is_telling(frame, len(tokens)):
            places.setdefault(frame, []).append(i)
    used = [Frame(text=" ".join(frame), places=tuple(at)) for frame, at in places.items() if len(at) >= least]
    return sorted(used, key=lambda frame: -len(frame.places))


def _masked(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return words with several slots in a row as one."""
    return tuple(word for i, word in enumerate(tokens) if word != SLOT or i == 0 or tokens[i - 1] != SLOT)


def _is_telling(frame: Sequence[str], length: int) -> bool:
    fixed = [word for word in frame if word != SLOT]
    return (
        len(fixed) < len(frame) and len(fixed) >= max(3, length / 2) and any(word not in STOP_WORDS for word in fixed)
    )
