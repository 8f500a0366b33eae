"""The order of tests in which xdist keeps all workers busy until the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def deal(slow: Iterable[Sequence[T]], quick: Sequence[T], *, workers: int) -> list[T]:
    """Return all tests, with slow ones at the beginning of each worker's part and quick ones at its end.

    ``--dist worksteal`` gives each worker an equal number of tests that follow each other. A worker that has no more
    takes the last half of what another has left, so that these should be quick. Slow tests come in groups that stay
    together: those of a file may share a fixture.
    """
    hands: list[list[T]] = [[] for _ in range(workers)]
    for number, group in enumerate(slow):
        hands[number % workers] += group
    total, rest = sum(map(len, hands)) + len(quick), iter(quick)
    for number, hand in enumerate(hands):
        hand += islice(rest, max(0, (total + number) // workers - len(hand)))
    return [test for hand in hands for test in hand] + list(rest)
