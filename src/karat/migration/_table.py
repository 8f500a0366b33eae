"""The migration table: what became of every block of every document, one line for each document."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise

from karat.core import InputError, shorten
from karat.files import decode, parse_json, read_bytes
from karat.migration._alignment import Move, align
from karat.migration._edition import Edition
from karat.schema import Mismatch, from_plain, to_json
from karat.schema.migration import BlockHistory, BlockMapping, MappedPart, MigrationTable

_DECIMALS = 6


def map_blocks(old: Iterable[Edition], new: Iterable[Edition]) -> tuple[MigrationTable, ...]:
    """Return where the blocks of each document went; a document has the same id in both versions."""
    later = {edition.document: edition for edition in new}
    return tuple(map_document(edition, later.get(edition.document)) for edition in old)


def map_document(old: Edition, new: Edition | None) -> MigrationTable:
    """Return what became of the blocks of a document; None stands for a document that is gone.

    >>> from karat.core import Span
    >>> from karat.migration import Block
    >>> old = Edition(document="wifi", text="Free.", blocks=(Block(id="b1", span=Span(0, 5)),))
    >>> map_document(old, None).mappings[0].move
    'unmapped'
    """
    moves = align(old, new) if new is not None else [Move(block=block, kind="unmapped") for block in old.blocks]
    return MigrationTable(
        doc_id=old.document,
        from_version=old.version,
        to_version=None if new is None else new.version,
        mappings=tuple(map(_describe, moves)),
    )


def _describe(move: Move) -> BlockMapping:
    largest = max(move.parts, key=lambda part: part.share, default=None)
    single = move.parts[0] if len(move.parts) == 1 else None
    return BlockMapping(
        old_block_id=move.block.id,
        new_block_id=None if largest is None else largest.block.id,
        move=move.kind,
        old_off=move.block.span.start,
        old_end=move.block.span.end,
        new_off=None if single is None else single.new_start,
        new_end=None if single is None else single.new_end,
        new_parts=() if single else tuple(
            MappedPart(
                new_block_id=part.block.id,
                old_off=part.old_start,
                new_off=part.new_start,
                new_end=part.new_end,
                share=round(min(1.0, part.share), _DECIMALS),
            )
            for part in move.parts
        ),
        runs=tuple((run.old, run.new) for run in move.runs),
        conf=round(move.score, _DECIMALS),
        coverage=round(move.coverage, _DECIMALS),
    )  # fmt: skip


def encode_table(table: Sequence[MigrationTable]) -> str:
    """Return a table as the text of a file, one JSON record per document."""
    return "".join(f"{to_json(document)}\n" for document in table)


def read_table(path: str | os.PathLike[str]) -> tuple[MigrationTable, ...]:
    """Return the table of a file that ``karat migrate blocks`` wrote.

    A line that is no such record, and a document that stands there twice, are mistakes.
    """
    source = os.fspath(path)
    table: dict[str, MigrationTable] = {}
    for number, line in enumerate(decode(read_bytes(source), source).split("\n"), 1):
        if not line.strip(" \t\r"):
            continue
        try:
            document = from_plain(parse_json(line, source, number, strict=True), MigrationTable)
            _check_mappings(document.mappings)
        except Mismatch as error:
            hint = "'karat migrate blocks BEFORE AFTER -o TABLE' writes one"
            raise InputError(
                f"not a line of a migration table: {error}", source=source, line=number, hint=hint
            ) from None
        if document.doc_id in table:
            problem = f"document {shorten(document.doc_id)} stands twice"
            raise InputError(problem, source=source, line=number, hint="keep one line for each document")
        table[document.doc_id] = document
    if not table:
        raise InputError("holds no migration table", source=source)
    return tuple(table.values())


def _check_mappings(mappings: Iterable[BlockMapping]) -> None:
    """Refuse a mapping that says neither where its block is nor that it is nowhere."""
    for at, mapping in enumerate(mappings):
        place = f"$.mappings[{at}]"
        if (mapping.move == "unmapped") != (mapping.new_block_id is None):
            raise Mismatch(f"{place}.new_block_id: must be null for unmapped blocks, and for no others")
        if mapping.move == "unmapped":
            continue
        if not mapping.runs or any(first[0] > second[0] for first, second in pairwise(mapping.runs)):
            raise Mismatch(f"{place}.runs: is empty, or not in the order of the old text")
        if (mapping.move == "split") == (not mapping.new_parts) or (mapping.new_off is None) != bool(mapping.new_parts):
            raise Mismatch(f"{place}: a split has new_parts, and any other block that is mapped has new_off")


def list_history(table: Iterable[MigrationTable]) -> tuple[BlockHistory, ...]:
    """Return the new blocks with their former ids, for an index that keeps ``id_prev`` beside ``id``."""
    former: dict[tuple[str, str], dict[str, None]] = {}
    for document in table:
        for mapping in document.mappings:
            for target in list_targets(mapping):
                former.setdefault((document.doc_id, target), {})[mapping.old_block_id] = None
    return tuple(BlockHistory(doc_id=doc, id=block, id_prev=tuple(ids)) for (doc, block), ids in former.items())


def list_targets(mapping: BlockMapping) -> tuple[str, ...]:
    """Return the ids of the new blocks that hold an old one; empty if it is unmapped."""
    if mapping.new_parts:
        return tuple(dict.fromkeys(part.new_block_id for part in mapping.new_parts))
    return () if mapping.new_block_id is None else (mapping.new_block_id,)


def redirect_byte(mapping: BlockMapping, byte: int) -> int:
    """Return the byte of the new text to which a byte of a mapped block moved.

    >>> runs = ((0, 10), (5, 20))
    >>> mapping = BlockMapping(old_block_id="a", new_block_id="b", move="shift", old_off=0, old_end=9, new_off=10,
    ...                        new_end=24, runs=runs, conf=0.9, coverage=1.0)
    >>> [redirect_byte(mapping, byte) for byte in (0, 4, 5, 8)]
    [10, 14, 20, 23]
    """
    at = max(0, bisect_right(mapping.runs, byte, key=lambda run: run[0]) - 1)
    old, new = mapping.runs[at]
    limit = mapping.runs[at + 1][1] if at + 1 < len(mapping.runs) and mapping.runs[at + 1][1] >= new else None
    moved = max(0, new + byte - old)
    return moved if limit is None else min(moved, limit)
