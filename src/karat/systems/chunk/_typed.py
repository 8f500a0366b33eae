"""The blocks of a text's outline, extended by the headings before them, so that there are no gaps."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from karat.systems.chunk._measured import Measured
from karat.systems.chunk._packing import BY_LINE, BY_SENTENCE, Stretch, divide


def typed_blocks(measured: Measured) -> list[Stretch]:
    """Return the blocks in reading order, from the beginning of the text to its end.

    Each begins where the one before ends, and so includes the headings before it; headings at the end belong to the
    last. A text without blocks is one stretch without a type.
    """
    blocks = measured.outline.blocks
    if not blocks:
        return [Stretch(0, measured.stop, len(measured.starts))]
    ends = [*(measured.offsets.character(block.span.end) for block in blocks[:-1]), measured.stop]
    stretches: list[Stretch] = []
    start = 0
    for block, end in zip(blocks, ends, strict=True):
        if end == measured.stop or measured.separates(end):
            body = measured.offsets.character(block.span.start)
            stretches.append(Stretch(start, end, measured.count(start, end), block.type, block.section, body=body))
            start = end
    return stretches


def typed_places(measured: Measured, blocks: list[Stretch], start: int, stop: int, room: int) -> list[int]:
    """Return places from ``start`` to ``stop`` with at most ``room`` tokens between neighbours.

    Prose may be cut where sentences begin. Everything else stays whole if it fits, and is cut at lines if not.
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
        elif a < block.body < b and measured.count(block.body, b) <= room:  # only the heading does not fit
            places += [*divide(measured, a, block.body, room, BY_LINE)[1:], b]
        else:
            places += divide(measured, a, b, room, BY_LINE)[1:]
    return places
