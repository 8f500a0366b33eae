"""Ids of sections and blocks: ``S.4.2`` and ``S.4.2.p.Bk011a``.

A section's id is its number. A block's id has that of its section, a letter for its type (prose, code, table, figure),
its number in the document, and another letter where it is a part of a long block.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

from karat.core import InputError
from karat.core import shorten as shown

Path: TypeAlias = tuple[int, ...]
"""The number of a section, as in (4, 2): it sorts as a reader counts, S.1.10 after S.1.2."""

_NUMBER = r"S(?:\.[0-9]{1,9})+"
_SECTION = re.compile(_NUMBER, re.ASCII)
_BLOCK = re.compile(rf"({_NUMBER})\.[pctf]\.Bk[0-9]{{3,}}[a-z]*", re.ASCII)


def section_path(section: str) -> Path:
    """Return the number in a section's id.

    >>> sorted(["S.1.10", "S.1.2", "S.1"], key=section_path)
    ['S.1', 'S.1.2', 'S.1.10']
    """
    if not _SECTION.fullmatch(section):
        raise InputError(f"{shown(section)} is not a section id", hint="write it like S.4.2")
    return tuple(map(int, section.split(".")[1:]))


def section_of_block(block: str) -> str:
    """Return the id of the section that a block's id names.

    >>> section_of_block("S.4.2.p.Bk011a")
    'S.4.2'
    """
    match = _BLOCK.fullmatch(block)
    if not match:
        raise InputError(f"{shown(block)} is not a block id", hint="write it like S.4.2.p.Bk011a")
    return match[1]


def section_id(path: Path) -> str:
    """Return the id of a section with a number.

    >>> section_id((4, 2))
    'S.4.2'
    """
    return "S." + ".".join(map(str, path))


def part_letters(part: int) -> str:
    """Return the letters of a part: a, b, ... z, aa, ab, ... from 0 up.

    >>> part_letters(0), part_letters(25), part_letters(26)
    ('a', 'z', 'aa')
    """
    letters = ""
    part += 1
    while part:
        part, letter = divmod(part - 1, 26)
        letters = chr(ord("a") + letter) + letters
    return letters


def distance(a: str, b: str) -> int:
    """Return the number of steps from one section to another through their lowest common ancestor.

    It is 0 for the same section, 1 for a parent, 2 for a sibling; chapters are siblings below the document. Both must
    be of one document, which the caller has to make sure: ids do not show it.

    >>> distance("S.4.2", "S.4.2"), distance("S.4", "S.4.2"), distance("S.4.2", "S.4.3"), distance("S.1.10", "S.1.1")
    (0, 1, 2, 2)
    """
    left, right = section_path(a), section_path(b)
    return len(left) + len(right) - 2 * _common(left, right)


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    for at, (first, second) in enumerate(zip(left, right, strict=False)):
        if first != second:
            return at
    return min(len(left), len(right))
