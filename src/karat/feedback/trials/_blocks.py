"""Sessions of two variants compared in blocks: each has as many of both as were planned, in the order of time."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import sqrt

_LARGEST = 100
"""The most sessions of a variant in a block."""
_LEAST_EXPECTED = 20
"""Sessions of a variant that are to be expected before their number can be off."""


def find_ratio(control: float, treatment: float) -> tuple[int, int]:
    """Return how many sessions of the control and of the treatment a block has.

    >>> find_ratio(1, 1), find_ratio(90, 10), find_ratio(99.99, 0.01)
    ((1, 1), (9, 1), (100, 1))
    """
    ratio = Fraction(control / treatment).limit_denominator(_LARGEST)
    if not 1 <= ratio.numerator <= _LARGEST:
        return (1, _LARGEST) if control < treatment else (_LARGEST, 1)
    return ratio.numerator, ratio.denominator


def find_skew(arms: Iterable[str], shares: Mapping[str, float], units: Mapping[str, int]) -> tuple[Counter[str], float]:
    """Return how many sessions each variant has when those of ``arms`` are added to ``units``, and the largest skew.

    The skew is how far a variant ever was from its share, in standard deviations. Sessions of about the same time are
    compared only while the shares hold: of a variant that runs ahead, sessions of one week would be compared with those
    of the next, even if the numbers fit in the end.

    >>> find_skew(["control", "treatment"] * 50, {"control": 1, "treatment": 1}, {})[1] < 0.2
    True
    >>> find_skew(["control"] * 50 + ["treatment"] * 50, {"control": 1, "treatment": 1}, {})[1] > 7
    True
    """
    counts, whole, worst = Counter(units), sum(shares.values()), 0.0
    total = counts.total()
    for arm in arms:
        counts[arm] += 1
        total += 1
        share = shares[arm] / whole
        if min(share, 1 - share) * total >= _LEAST_EXPECTED:
            worst = max(worst, abs(counts[arm] - share * total) / sqrt(share * (1 - share) * total))
    return counts, worst


class Blocks:
    """The values of sessions that wait, by measure and variant; a block that is full becomes a difference.

    Which sessions are compared depends on the order in which they ended, and not on their values. So the mean
    difference of blocks is that of the two systems, and blocks are as independent as sessions are.

    >>> blocks = Blocks({}, "control", "treatment", (1, 1))
    >>> blocks.add("Success", "control", 1.0), blocks.add("Success", "treatment", 0.5), blocks.waiting
    (None, -0.5, {'Success': {'control': [], 'treatment': []}})
    """

    def __init__(
        self, waiting: Mapping[str, Mapping[str, list[float]]], control: str, treatment: str, ratio: tuple[int, int]
    ) -> None:
        self._queues = {
            measure: {variant: deque(values) for variant, values in own.items()} for measure, own in waiting.items()
        }
        self._sizes = {control: ratio[0], treatment: ratio[1]}
        self._control, self._treatment = control, treatment

    @property
    def waiting(self) -> dict[str, dict[str, list[float]]]:
        """The values of sessions whose block is not full yet, by measure and variant."""
        return {measure: {name: list(values) for name, values in own.items()} for measure, own in self._queues.items()}

    def add(self, measure: str, variant: str, value: float) -> float | None:
        """Add the value of a session; return the difference of the block that it completes, or None."""
        own = self._queues.setdefault(measure, {name: deque() for name in self._sizes})
        own[variant].append(value)
        if any(len(own[name]) < size for name, size in self._sizes.items()):
            return None
        means = {name: sum(own[name].popleft() for _ in range(size)) / size for name, size in self._sizes.items()}
        return means[self._treatment] - means[self._control]
