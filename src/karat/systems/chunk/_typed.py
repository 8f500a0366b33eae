"""The blocks of a text as its outline has them, with the headings before them, so that nothing lies in between."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from karat.systems.chunk._measured import Measured
from karat.systems.chunk._packing import BY_LINE, BY_SENTENCE, Stretch, divide


def blocks(measured: Measured) -> list[Stretch]:
    """Give the blocks in reading order, from the beginning of the text to its end.

    Each begins where the one before ends, and so has the headings in front of it; headings that nothing follows go with
    the last. A text without blocks is one stretch without a type.
    """
    found = measured.outline.blocks
    if not found:
        return [Stretch(0, measured.stop, len(measured.starts))]
    ends = [*(measured.offsets.character(block.span.end) for block in found[:-1]), measured.stop]
    made: list[Stretch] = []
    start = 0
    for block, end in zip(found, ends, strict=True):
        if end == measured.stop or measured.separates(end):
            body = measured.offsets.character(block.span.start)
            made.append(Stretch(start, end, measured.count(start, end), block.type, block.section, body=body))
            start = end
    return made


def typed_places(measured: Measured, blocks: list[Stretch], start: int, stop: int, room: int) -> list[int]:
    """Give places from ``start`` to ``stop``, with at most ``room`` tokens between two.

    Prose may be cut where sentences begin. Everything else stays whole where it fits, and is cut at lines elsewhere.
    """
    places = [start]
    first = bisect_right(blocks, start, key=lambda block: block.end)
    last = bisect_left(blocks, stop, lo=first, key=lambda block: block.end)
    for block in blocks[first : last + 1]:
        a, b = places[-1], min(block.end, stop)
        if block.type == "prose":
            places += divide(measured, a, b, room, BY_SENTENCE)[1:]
        elif measured.count(a, b) <= room:
            places.append(b)
        elif a < block.body < b and measured.count(block.body, b) <= room:  # it is only the heading that does not fit
            places += [*divide(measured, a, block.body, room, BY_LINE)[1:], b]
        else:
            places += divide(measured, a, b, room, BY_LINE)[1:]
    return places
