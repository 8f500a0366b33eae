"""When a hit holds a judged span."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from karat.core import Span, UsageError

Rule = Literal["any", "min", "gold", "hit", "iou"]


@dataclass(frozen=True, slots=True)
class Overlap:
    """When a hit holds a judged span: the rule, and the least share that is enough.

    The share is the number of bytes that both have, divided by the length of

    - ``min``: the shorter of the two;
    - ``gold``: the judged span;
    - ``hit``: the hit;
    - ``iou``: the union of both.

    Under ``any`` one byte in common is enough, and the threshold does not matter.

    The default, half of the shorter, is the strictest rule of its kind under which no chunker loses a judgment: where
    chunks leave out no byte of a text, every judged span G is held by at least one of them.

    Proof: call a chunk that has bytes of G inner when it lies in G, else outer. All of an inner chunk is in common, and
    it is no longer than G, so its share is 1. Without an inner chunk, every chunk with bytes of G reaches beyond G, and
    so has a first part of G (if it begins before G), a last part (if it ends after G), or all of it. The longest first
    part and the longest last part together make up G, since no byte is left out; one of them is at least half of G.
    The share of that chunk is its part of G divided by the shorter of both, which is at most the length of G: at least
    half. A span that is cut in the middle, by two chunks longer than it, has exactly half in each, so no higher
    threshold is possible. Under ``gold`` short chunks hold nothing at any threshold, under ``hit`` and ``iou`` long
    ones do not.

    >>> Overlap().holds(Span(0, 100), Span(90, 110)), Overlap("gold", 0.6).holds(Span(0, 100), Span(90, 110))
    (True, False)
    >>> str(Overlap("iou", 0.3))
    'iou >= 0.3'
    """

    rule: Rule = "min"
    threshold: float = 0.5

    def __post_init__(self) -> None:
        if self.rule not in get_args(Rule):
            raise UsageError(f"overlap rule {self.rule!r}; choose from {', '.join(get_args(Rule))}")
        if not 0 < self.threshold <= 1:
            raise UsageError(f"overlap threshold {self.threshold!r}; it should be above 0 and at most 1")

    def __str__(self) -> str:
        return self.rule if self.rule == "any" else f"{self.rule} >= {self.threshold:g}"

    def holds(self, hit: Span, gold: Span) -> bool:
        """Return whether the hit holds the judged span."""
        common = hit.overlap(gold)
        if common == 0 or self.rule == "any":
            return common > 0
        whole = {
            "min": min(len(hit), len(gold)),
            "gold": len(gold),
            "hit": len(hit),
            "iou": len(hit) + len(gold) - common,
        }
        return common / whole[self.rule] >= self.threshold


DEFAULT_OVERLAP = Overlap()
