"""Judgments of whole documents that say no more, as most files have them: read in columns, not row by row."""

from __future__ import annotations

from sys import intern

import numpy as np
from numpy.typing import NDArray

from karat.core import JudgmentTable, Target
from karat.files import BOM, ByteBlock, TextColumn, split_lines

Ints = NDArray[np.int64]
_LAYOUTS = (
    (b'{"query": "', b'", "document": "', b'", "grade": '),  # as Python writes JSON
    (b'{"query":"', b'","document":"', b'","grade":'),
)
"""What stands around the ids and the grade of each line."""
_QUOTES = 10  # of each line
_DIGITS = 9  # of a grade


def decode_bare_judgments(data: bytes) -> JudgmentTable | None:
    """Return the judgments of a file if each line has only a query, a document and a grade, in the usual layout.

    None means that a decoder has to read it, which knows more layouts, and says what is wrong.

    >>> table = decode_bare_judgments(b'{"query": "q", "document": "wifi", "grade": 3}')
    >>> table.queries, [target.document for target in table.targets], table.grade.tolist()
    (('q',), ['wifi'], [3])
    """
    text = data.removeprefix(BOM)
    layout = next((layout for layout in _LAYOUTS if text.startswith(layout[0])), None)
    if layout is None or b"\\" in text:
        return None
    queries, documents, grades = TextColumn(), TextColumn(), list[Ints]()
    for lines in split_lines(text):
        grade = _take_lines(lines, layout, queries, documents)
        if grade is None:
            return None
        grades.append(grade)
    try:
        (query, query_ids), (target, document_ids) = queries.number(), documents.number()
    except UnicodeDecodeError:
        return None
    return JudgmentTable(
        queries=tuple(map(intern, query_ids)),
        targets=tuple([Target(document=document) for document in document_ids]),
        origins=(("manual", "", ""),),
        query=query,
        target=target,
        grade=np.concatenate(grades),
        origin=np.zeros(len(query), np.int64),
    )


def _take_lines(
    lines: bytes, layout: tuple[bytes, bytes, bytes], queries: TextColumn, documents: TextColumn
) -> Ints | None:
    """Add the ids of some lines to the columns, and return the grades; None if a line is of another layout."""
    block = ByteBlock(lines if lines.endswith(b"\n") else lines + b"\n")
    ends, quotes = block.find(b"\n"), block.find(b'"')
    if len(quotes) != _QUOTES * len(ends) or block.count_controls() != len(ends):
        return None
    starts = np.concatenate([[0], ends[:-1] + 1])
    # The third quote opens the query and the fourth closes it; the seventh and the eighth are those of the document.
    opened, closed, document_opened, document_closed = (quotes[place::_QUOTES] for place in (2, 3, 6, 7))
    before, between, after = layout
    if not (
        (opened == starts + len(before) - 1).all()
        and (document_opened == closed + len(between) - 1).all()
        and block.has_at(starts, before)
        and block.has_at(closed, between)
        and block.has_at(document_closed, after)
        and block.has_at(ends - 1, b"}")
        and queries.add(block, opened + 1, closed)
        and documents.add(block, document_opened + 1, document_closed)
    ):
        return None
    return _read_digits(block, document_closed + len(after), ends - 1)


def _read_digits(block: ByteBlock, start: Ints, end: Ints) -> Ints | None:
    """Return the numbers between some places; None if one of them is not made of a few digits, or begins with 0."""
    sizes = end - start
    if int(sizes.min()) < 1 or int(sizes.max()) > _DIGITS:
        return None
    numbers = np.zeros(len(start), np.int64)
    for place in range(int(sizes.max())):
        digit = block.bytes[np.minimum(start + place, block.size)].astype(np.int64) - ord("0")
        is_part = place < sizes
        if ((digit < 0) | (digit > 9))[is_part].any():
            return None
        if place == 0 and ((digit == 0) & (sizes > 1)).any():
            return None
        numbers = np.where(is_part, 10 * numbers + digit, numbers)
    return numbers
