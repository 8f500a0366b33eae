"""Whether a hard negative is also relevant, among very many relevant targets."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import accumulate

from karat.core import Span, Target


class Relevants:
    """The relevant targets of one query.

    >>> relevants = Relevants([Target(document="wifi", section="S.2.1")], {})
    >>> [relevants.hold(Target(document="wifi", section=section)) for section in ("S.2", "S.3")]
    [True, False]
    """

    def __init__(self, targets: Iterable[Target], class_of: Mapping[str, str]) -> None:
        self._class_of = class_of
        self._documents: dict[str, list[Target]] = defaultdict(list)
        for target in targets:
            self._documents[target.document].append(target)
        self._classes = {class_of[document] for document in self._documents if document in class_of}
        self._parts: dict[str, _Parts] = {}

    def hold(self, negative: Target) -> bool:
        """Return whether a target cannot be bad while all of these are good."""
        document = negative.document
        if negative.whole:
            return document in self._documents or self._class_of.get(document) in self._classes
        if document not in self._documents:
            return False
        if document not in self._parts:
            self._parts[document] = _Parts(self._documents[document])
        return self._parts[document].hold(negative)


class _Parts:
    """The relevant targets of one query in one document."""

    def __init__(self, targets: Iterable[Target]) -> None:
        self._targets = frozenset(targets)
        self._blocks = {target.block for target in self._targets}
        self._ids = sorted({target.block or target.section for target in self._targets})
        spans = sorted(target.span for target in self._targets if target.span)
        self._starts = [span.start for span in spans]
        self._ends = list(accumulate((span.end for span in spans), max))  # the furthest end so far

    def hold(self, negative: Target) -> bool:
        if negative in self._targets:
            return True
        if negative.span:  # a span without a byte overlaps nothing
            return self._overlap(negative.span)
        if negative.block:
            return negative.block in self._blocks
        return self._has(negative.section) or self._has(f"{negative.section}.", prefix=True)

    def _overlap(self, span: Span) -> bool:
        before = bisect_left(self._starts, span.end)  # how many begin before it ends
        return before > 0 and self._ends[before - 1] > span.start

    def _has(self, id_: str, *, prefix: bool = False) -> bool:
        place = bisect_left(self._ids, id_)
        if place == len(self._ids):
            return False
        return self._ids[place].startswith(id_) if prefix else self._ids[place] == id_
