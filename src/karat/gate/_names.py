"""What runs are called in a comparison."""

from __future__ import annotations


def label(place: int) -> str:
    """Return a short name for a run by its place.

    >>> label(0), label(1), label(26)
    ('A', 'B', 'A1')
    """
    return chr(ord("A") + place % 26) + (str(place // 26) if place >= 26 else "")


def name_run(place: int) -> str:
    """Return what a sentence calls a run.

    >>> name_run(1)
    'run B'
    """
    return f"run {label(place)}"
