"""The outline of a canonical text: its sections as a tree, and its blocks, all with spans of UTF-8 bytes.

A **section** begins with a heading (see :mod:`_pieces`) and ends before the next heading of
its own depth or above. Ids are numbers, ``S.4.2`` (:mod:`_numbering`); ``S.0`` is what stands before the
first heading, and a text without headings is all ``S.0``.

A **block** is a paragraph, a code block, a table or a figure with its caption. Lists are prose: text without a blank
line in between is one block, whatever it is made of. Prose of more than 1,200 bytes is split where sentences end. A
JSON document has one block of code for each member (:mod:`_members`). Blocks do not overlap, stand in reading order,
and hold every byte that is neither white space nor in a heading.

**Ids are places.** ``S.4.2.p.Bk011a`` is part a of the eleventh block of the document, prose, in section 4.2. When a
document is edited, the blocks before the edit keep their ids, those after it keep theirs only if the number of blocks
and sections stays the same, and a word changed within a block changes no id. This is why a golden set stores spans
beside ids, and why ids are not hashes: a hash of the block would change with the word, and one of the document with
every edit. After a larger edit ids have to be mapped from the old text to the new.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, NamedTuple

from karat.core import NORMALISER, InputError, Span, UsageError, did_you_mean, shorten
from karat.text._ids import Path, distance, part_letters, section_id, section_of_block, section_path
from karat.text._lines import MARKER, is_rule
from karat.text._members import members
from karat.text._memory import Memory
from karat.text._numbering import FRONT, Heading, number_of, paths
from karat.text._pieces import Piece, pieces
from karat.text._sentences import sentence_parts

if TYPE_CHECKING:
    from karat.schema import GoldenOutline

__all__ = ["Block", "Outline", "Section", "distance", "outline", "resolve", "section_of_block", "section_path"]

BlockType = Literal["prose", "code", "table", "figure"]

LONGEST_PROSE = 1200
"""Bytes of prose in a block, unless a sentence is longer."""
_SHORTEST_ANCHOR = 8
_COMPARED = 200  # ids, for near misses
_STEP = 256  # characters between two whose byte offset is stored
_KEPT = Memory["Outline"](limit=8_000_000)  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading and what belongs to it."""

    id: str
    title: str
    """As it is written, with its number; empty where there is no heading."""
    depth: int
    """From 1 to 6: the number of components of the id."""
    parent: str
    """The id of the section around it; empty at the top."""
    heading: Span
    """The whole heading line, or two where it is underlined; empty where there is none."""
    body: Span
    """Its own blocks, from the first to the last, without those of the sections below it; empty where it has none."""
    whole: Span
    """All that follows the heading, with the sections below it and their headings."""
    anchor: Span | None
    """What identifies it: its first paragraph of at least eight characters, or else the first line of its first code
    block, or the head of its first table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A paragraph, a code block, a table or a figure, or a part of a long paragraph."""

    id: str
    type: BlockType
    section: str
    span: Span


@dataclass(frozen=True, kw_only=True)
class Outline:
    """The sections and blocks of one text, in reading order; there is always at least one section."""

    size: int
    """Bytes of the text."""
    sections: tuple[Section, ...]
    blocks: tuple[Block, ...]

    def section(self, id: str) -> Section:
        """Return the section of that id, or raise an error that names near misses."""
        if id not in self._sections:
            raise self._section_names.unknown("section", id)
        return self._sections[id]

    def block(self, id: str) -> Block:
        """Return the block of that id, or raise an error that names near misses."""
        if id not in self._blocks:
            raise self._block_names.unknown("block", id)
        return self._blocks[id]

    def at(self, span: Span) -> tuple[Block, ...]:
        """Return the blocks that share at least one byte with a span."""
        first = bisect_right(self._ends, span.start)
        return self.blocks[first : max(first, bisect_left(self._starts, span.end))] if span else ()

    def types_at(self, span: Span) -> set[BlockType]:
        """Return the types of the blocks that share at least one byte with a span, however many blocks these are."""
        types = set()
        for type_, (starts, ends) in self._ranges_by_type.items() if span else ():
            first = bisect_right(ends, span.start)
            if first < len(starts) and starts[first] < span.end:
                types.add(type_)
        return types

    def section_of(self, offset: int) -> Section:
        """Return the section that holds a byte; a heading belongs to the section that it begins."""
        if not 0 <= offset <= self.size:
            raise InputError(f"byte {offset} lies outside the text, which has {self.size}")
        return self.sections[max(0, bisect_right(self._section_starts, offset) - 1)]

    def document(self, name: str = "", *, changed: bool = False, blocks: bool = True) -> GoldenOutline:
        """Return the outline as a JSON document.

        ``name`` is that of the document, and ``changed`` tells whether its bytes are others than those of its
        canonical text. Without ``blocks`` only the sections are included.
        """
        from msgspec import UNSET

        from karat.schema import GoldenOutline, OutlineBlock, OutlineSection

        return GoldenOutline(
            document=name,
            normaliser=NORMALISER,
            changed=changed,
            bytes=self.size,
            sections=tuple(
                OutlineSection(
                    id=section.id,
                    title=section.title,
                    depth=section.depth,
                    parent=section.parent,
                    heading=_pair(section.heading),
                    body=_pair(section.body),
                    whole=_pair(section.whole),
                    anchor=None if section.anchor is None else _pair(section.anchor),
                )
                for section in self.sections
            ),
            blocks=tuple(
                OutlineBlock(id=block.id, type=block.type, section=block.section, span=_pair(block.span))
                for block in self.blocks
            )
            if blocks
            else UNSET,
        )

    @cached_property
    def _sections(self) -> dict[str, Section]:
        return {section.id: section for section in self.sections}

    @cached_property
    def _blocks(self) -> dict[str, Block]:
        return {block.id: block for block in self.blocks}

    @cached_property
    def _section_names(self) -> _Names:
        return _Names(self._sections)

    @cached_property
    def _block_names(self) -> _Names:
        return _Names(self._blocks)

    @cached_property
    def _ranges_by_type(self) -> dict[BlockType, tuple[list[int], list[int]]]:
        ranges: dict[BlockType, tuple[list[int], list[int]]] = {}
        for block in self.blocks:
            starts, ends = ranges.setdefault(block.type, ([], []))
            starts.append(block.span.start)
            ends.append(block.span.end)
        return ranges

    @cached_property
    def _starts(self) -> list[int]:
        return [block.span.start for block in self.blocks]

    @cached_property
    def _ends(self) -> list[int]:
        return [block.span.end for block in self.blocks]

    @cached_property
    def _section_starts(self) -> list[int]:
        # The title of a numbered document may stand within S.0, which nevertheless begins with the text.
        return [0, *(section.heading.start for section in self.sections[1:])]


def _pair(span: Span) -> tuple[int, int]:
    return span.start, span.end


class _Names:
    """The ids of a text, so that near misses are found without a look at all of them."""

    def __init__(self, ids: Iterable[str]) -> None:
        self._sorted = sorted(ids)
        self._by_last: dict[str, list[str]] = {}
        for id_ in ids:
            alike = self._by_last.setdefault(id_.rpartition(".")[2], [])
            if len(alike) < _COMPARED:
                alike.append(id_)

    def unknown(self, kind: str, id: str) -> InputError:
        """Return the error for an id that is not there, which names those that share its last part or its beginning."""
        above, _, last = id.rpartition(".")
        first = bisect_left(self._sorted, f"{above}.")
        below = [other for other in self._sorted[first : first + _COMPARED] if other.startswith(f"{above}.")]
        near = did_you_mean(id, dict.fromkeys([*self._by_last.get(last, ()), *below]))
        return InputError(
            f"there is no {kind} {shorten(id)}{near}", hint="" if near else "karat golden outline shows all ids"
        )


def outline(text: str) -> Outline:
    r"""Return the outline of a canonical text; offsets count its UTF-8 bytes.

    >>> parts = outline("# Desk\n\nThe café opens at 7.\n\n## Late check-out\n\nUntil 14:00.\n")
    >>> [(section.id, section.title) for section in parts.sections]
    [('S.1', 'Desk'), ('S.1.1', 'Late check-out')]
    >>> parts.block("S.1.1.p.Bk002").span
    Span(start=50, end=62)
    """
    return _KEPT.get(text, lambda text: _Builder(text).build())


def resolve(text: str | Outline, section: str = "", block: str = "") -> Span:
    r"""Return the bytes of a section, with the sections below it, or of a block.

    >>> resolve("# Desk\n\nOpen all day.\n", section="S.1")
    Span(start=8, end=21)
    """
    parts = outline(text) if isinstance(text, str) else text
    if not section and not block:
        raise UsageError("resolve needs the id of a section or of a block")
    if section and block and section_of_block(block) != section:
        raise UsageError(f"block {shorten(block)} is not in section {shorten(section)}; name only one of them")
    return parts.block(block).span if block else parts.section(section).whole


class _Group(NamedTuple):
    """The pieces of a section, without those of the sections below it."""

    path: Path
    heading: Piece | None
    start: int
    stop: int


class _Builder:
    """Builds the outline of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.byte = _Bytes(text)
        self.pieces = members(text) or pieces(text)
        self.number = 0

    def build(self) -> Outline:
        groups = self._groups()
        ids = {group.path: section_id(group.path) for group in groups}
        sections: list[Section] = []
        blocks: list[Block] = []
        for group, stop in zip(groups, self._stops(groups), strict=True):
            own = list(self._blocks(group, ids[group.path]))
            heading = group.heading
            body = self._extent(group, group.stop)
            section = Section(
                id=ids[group.path],
                title=heading.title if heading else "",
                depth=len(group.path),
                parent=next((ids[up] for up in _above(group.path) if up in ids), ""),
                heading=self.byte.span(heading.start, heading.end) if heading else Span(0, 0),
                body=body,
                whole=body if stop == group.stop else self._extent(group, stop),
                anchor=self._anchor(group, own) if own else None,
            )
            sections.append(section)
            blocks += own
        return Outline(size=self.byte(len(self.text)), sections=tuple(sections), blocks=tuple(blocks))

    def _groups(self) -> list[_Group]:
        at = [index for index, piece in enumerate(self.pieces) if piece.kind == "heading"]
        heads = [self.pieces[index] for index in at]
        front = at[:1] != [0]
        numbered = paths([Heading(piece.level, number_of(piece.title)) for piece in heads], front=front)
        ends = [*at[1:], len(self.pieces)]
        groups = [_Group(*section) for section in zip(numbered, heads, at, ends, strict=False)]
        if front and numbered[:1] == [FRONT]:  # the document's title, with what stands above it
            groups[0] = groups[0]._replace(start=0)
        elif front:
            groups.insert(0, _Group(FRONT, None, 0, at[0] if at else len(self.pieces)))
        return groups

    def _stops(self, groups: list[_Group]) -> list[int]:
        """Return where each section ends, with the sections below it."""
        stops = [len(self.pieces)] * len(groups)
        still_open: list[int] = []
        for index, group in enumerate(groups):
            while still_open and len(groups[still_open[-1]].path) >= len(group.path):
                stops[still_open.pop()] = group.start
            still_open.append(index)
        return stops

    def _extent(self, group: _Group, stop: int) -> Span:
        """Return the span of the pieces up to ``stop``, without a heading at either end."""
        first, last = group.start, stop - 1
        if first <= last and self.pieces[first] is group.heading:
            first += 1
        if first <= last and self.pieces[last] is group.heading:
            last -= 1
        if first > last:
            end = group.heading.end if group.heading else 0
            return self.byte.span(end, end)
        return self.byte.span(self.pieces[first].start, self.pieces[last].end)

    def _blocks(self, group: _Group, section: str) -> Iterator[Block]:
        for index in range(group.start, group.stop):
            piece = self.pieces[index]
            if piece.kind == "heading":
                continue
            self.number += 1
            name = f"{section}.{piece.kind[0]}.Bk{self.number:03d}"
            parts = self._parts(piece)
            for number, span in enumerate(parts):
                suffix = part_letters(number) if len(parts) > 1 else ""
                yield Block(id=name + suffix, type=piece.kind, section=section, span=span)

    def _parts(self, piece: Piece) -> list[Span]:
        span = self.byte.span(piece.start, piece.end)
        if piece.kind != "prose" or len(span) <= LONGEST_PROSE:
            return [span]
        parts = sentence_parts(self.text[piece.start : piece.end], LONGEST_PROSE)
        return [self.byte.span(piece.start + start, piece.start + end) for start, end in parts]

    def _anchor(self, group: _Group, blocks: list[Block]) -> Span | None:
        own = [piece for piece in self.pieces[group.start : group.stop] if piece is not group.heading]
        for piece in own:
            if piece.kind == "prose" and len(self.text[piece.start : piece.end].strip()) >= _SHORTEST_ANCHOR:
                start = self.byte(piece.start)
                return next(block.span for block in blocks if block.span.start == start)
        lines = (_first_line(self.text, piece) for piece in own if piece.kind in ("code", "table"))
        return next((self.byte.span(*line) for line in lines if line), None)


class _Bytes:
    """Converts places counted in characters to places counted in UTF-8 bytes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.steps: list[int] = []
        if text.isascii():
            return
        try:
            sizes = (len(text[at : at + _STEP].encode()) for at in range(0, len(text), _STEP))
            self.steps = [0, *accumulate(sizes)]
        except UnicodeEncodeError:
            raise InputError("the text holds half of a surrogate pair", hint="canonicalise it first") from None

    def __call__(self, at: int) -> int:
        if not self.steps:
            return at
        step = at // _STEP
        return self.steps[step] + len(self.text[step * _STEP : at].encode())

    def span(self, start: int, end: int) -> Span:
        return Span(self(start), self(end)) if self.steps else Span(start, end)


def _above(path: Path) -> Iterator[Path]:
    return (path[:depth] for depth in range(len(path) - 1, 0, -1))


def _first_line(text: str, piece: Piece) -> tuple[int, int] | None:
    """Return the place of the first line of code or of a table with content, without white space around it."""
    start = piece.start
    for line in text[piece.start : piece.end].split("\n"):
        marker = MARKER.match(line)
        body = line[marker.end() :] if marker else line.strip()
        if body and body != "---" and not body.startswith(("```", "~~~")) and not is_rule(line):
            return start + len(line) - len(line.lstrip()), start + len(line.rstrip())
        start += len(line) + 1
    return None
