"""The blocks of a text as its outline has them, with the headings before them, so that nothing lies in between."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

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
    ends = [0, *(measured.offsets.character(block.span.end) for block in found[:-1]), measured.stop]
    return [
        Stretch(start, end, measured.count(start, end), block.type, block.section)
        for block, (start, end) in zip(found, pairwise(ends), strict=True)
    ]


def typed_places(measured: Measured, blocks: list[Stretch], start: int, stop: int, room: int) -> list[int]:
    """Give places from ``start`` to ``stop``, with at most ``room`` tokens between two.

    Prose may be cut where sentences begin. Everything else stays whole where it fits, and is cut at lines elsewhere.
    """
    places = [start]
    first = bisect_right(blocks, start, key=lambda block: block.end)
    for number in range(first, len(blocks)):
        if places[-1] >= stop:
            break
        block = blocks[number]
        a, b = places[-1], min(block.end, stop)
        if block.type == "prose":
            places += divide(measured, a, b, room, BY_SENTENCE)[1:]
        elif measured.count(a, b) <= room:
            places.append(b)
        else:
            body = max(a, _body(measured, number))
            if a < body and measured.count(body, b) <= room:  # it is only the heading that does not fit
                places += [*divide(measured, a, body, room, BY_LINE)[1:], b]
            else:
                places += divide(measured, a, b, room, BY_LINE)[1:]
    return places


def _body(measured: Measured, number: int) -> int:
    """Give the character at which a block begins without its heading."""
    found = measured.outline.blocks
    return measured.offsets.character(found[number].span.start) if found else 0
