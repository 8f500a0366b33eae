"""Judgments that follow their documents to a new version: a proposal, which a person accepts.

A judgment is carried over where its text is the same word for word. Where words changed, or a block was cut, a person
has to look again. What has no place in the new version is lost, and told. The set itself is not touched.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Literal

from karat.core import Document, GoldenSet, InputError, Judgment, Query, Span, Target, UsageError, count_things
from karat.migration._redirects import Redirects
from karat.migration._table import list_targets, redirect_byte
from karat.schema.migration import BlockMapping, CarriedJudgments, CarriedTarget, MigrationTable
from karat.text import canonical, resolver, section_of_block

Outcome = Literal["carried", "to judge", "lost"]

_LEAST_KEPT = 0.85
"""The share of a document's blocks that must have a place, so that a judgment of the whole document is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """Where a judged target stands in the new version, and whether a person has to look."""

    outcome: Outcome
    targets: tuple[Target, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A golden set for the new version, the rows that a person has to judge, and the report."""

    golden: GoldenSet
    rows: tuple[Mapping[str, Any], ...]
    report: CarriedJudgments


def carry_judgments(golden: GoldenSet, table: Sequence[MigrationTable], documents: Sequence[Document] = ()) -> Proposal:
    """Return a set for the new version of its documents, as far as that needs no person, and what a person must judge.

    ``documents`` are the new versions. A set without texts, whose judgments name blocks as documents, needs none.
    """
    if golden.documents and not documents:
        raise UsageError("the set holds documents; name their new version, too")
    carrier = _Carrier(table, {document.id for document in documents})
    new = replace(golden, judgments=(), documents=tuple(documents))
    kept: dict[tuple[str, Target, str, str], Judgment] = {}
    rows: dict[tuple[str, Target], Mapping[str, Any]] = {}
    changes, counts = [], {"carried": 0, "to judge": 0, "lost": 0}
    for judgment in golden.judgments:
        carried = carrier.carry(judgment.target, judgment.grade)
        counts[carried.outcome] += 1
        if carried.outcome == "carried":
            for target in carried.targets:
                key = (judgment.query, target, judgment.source, judgment.annotator)
                kept.setdefault(key, replace(judgment, target=target))
        else:
            for target in carried.targets:
                rows.setdefault((judgment.query, target), _make_row(new, judgment, target))
        if carried.outcome != "carried" or carried.targets != (judgment.target,):
            changes.append(_describe(judgment, carried))
    queries, hints, lost_hints = _carry_queries(golden.queries, carrier)
    report = CarriedJudgments(
        golden=golden.name,
        judgments=golden.judgment_count,
        carried=counts["carried"],
        to_judge=counts["to judge"],
        rows=len(rows),
        lost=counts["lost"],
        hints=hints,
        lost_hints=lost_hints,
        changes=tuple(changes),
        notes=tuple(_list_notes(golden, queries, kept.values(), {query for query, _ in rows})),
    )
    proposed = replace(new, queries=queries, judgments=tuple(kept.values()))
    return Proposal(golden=proposed, rows=tuple(rows.values()), report=report)


class _Carrier:
    """The way of targets through a table."""

    def __init__(self, table: Sequence[MigrationTable], documents: set[str]) -> None:
        self.redirects = Redirects(table)
        self.by_document = {line.doc_id: line for line in table}
        self.documents = documents
        self._ordered: dict[str, tuple[list[BlockMapping], list[int], list[int]]] = {}

    def carry(self, target: Target, grade: int) -> Carried:
        """Return where a target stands, and whether a judgment of it still holds."""
        line = self.by_document.get(target.document)
        if line is None:
            return self._carry_block_as_document(target, grade)
        if line.to_version is None:
            return Carried(outcome="lost", reason="the document is gone")
        if target.span is not None:
            return self._carry_span(line, target)
        if target.block:
            mapping = self.redirects.find(target.block, target.document)
            if mapping is None:
                return Carried(outcome="lost", reason="the table has no such block")
            return self._carry_block(mapping, target, grade)
        return self._carry_section(line, target) if target.section else _carry_whole(line, target)

    def _carry_block_as_document(self, target: Target, grade: int) -> Carried:
        """Carry a judgment that names a block as if it were a document, as files of TREC do."""
        mapping = self.redirects.find(target.document) if target.whole else None
        if mapping is not None:
            return self._decide(mapping, [Target(document=name) for name in list_targets(mapping)], grade)
        if target.document in self.documents:
            return Carried(outcome="carried", targets=(target,))
        return Carried(outcome="lost", reason="neither a document nor a block of the table")

    def _carry_block(self, mapping: BlockMapping, target: Target, grade: int) -> Carried:
        return self._decide(mapping, list(_place_block(mapping, target.document)), grade)

    def _decide(self, mapping: BlockMapping, targets: Sequence[Target], grade: int) -> Carried:
        """Decide for a block: the same words say the same, and no part of what is irrelevant is relevant."""
        if mapping.move == "unmapped":
            return Carried(outcome="lost", reason="its text is nowhere in the new version")
        reason = ""
        if mapping.move == "split" and (grade or not _is_intact(mapping)):
            reason = f"it was split into {count_things(len(targets), 'block')}"
        elif mapping.move != "split" and mapping.conf < 1:
            reason = f"its words changed (similarity {mapping.conf:.2f})"
        return Carried(outcome="to judge" if reason else "carried", targets=tuple(targets), reason=reason)

    def _carry_span(self, line: MigrationTable, target: Target) -> Carried:
        span = target.span or Span(0, 0)
        touched = self._find_touched(line, span)
        mapped = [m for m in touched if m.move != "unmapped"]
        if not mapped:
            return Carried(outcome="lost", reason="its text is nowhere in the new version")
        ends = [_redirect_span(mapping, span) for mapping in mapped]
        moved = Span(min(part.start for part in ends), max(part.end for part in ends))
        block = mapped[0].new_block_id or "" if target.block and len(mapped) == 1 else ""
        section = _section_of(block)
        new = replace(target, span=moved, block=block, section=section if target.section else "")
        if len(mapped) < len(touched) or any(m.conf < 1 for m in mapped) or len(moved) != len(span):
            return Carried(outcome="to judge", targets=(new,), reason="its words, or those around it, changed")
        return Carried(outcome="carried", targets=(new,))

    def _find_touched(self, line: MigrationTable, span: Span) -> list[BlockMapping]:
        """Return the blocks that share bytes with a span."""
        if line.doc_id not in self._ordered:
            order = sorted(line.mappings, key=lambda mapping: mapping.old_off)
            reaches = list(accumulate((mapping.old_end for mapping in order), max))
            self._ordered[line.doc_id] = (order, [mapping.old_off for mapping in order], reaches)
        order, starts, reaches = self._ordered[line.doc_id]
        near = order[bisect_right(reaches, span.start) : bisect_left(starts, span.end)]
        return [mapping for mapping in near if mapping.old_end > span.start]

    def _carry_section(self, line: MigrationTable, target: Target) -> Carried:
        inside, outside = list[BlockMapping](), list[BlockMapping]()
        for mapping in line.mappings:
            (inside if _is_inside(mapping.old_block_id, target.section) else outside).append(mapping)
        mapped = [m for m in inside if m.move != "unmapped"]
        sections = {_section_of(name) for m in mapped for name in list_targets(m)}
        if not mapped or "" in sections:
            return Carried(outcome="lost", reason="its text is nowhere in the new version")
        around = _common_section(sections)
        if not around:
            return Carried(outcome="lost", reason="its text went to several chapters")
        new = replace(target, section=around)
        others = any(_goes_into(m, around) for m in outside)
        if len(mapped) < len(inside) or any(m.conf < 1 for m in inside) or others:
            return Carried(outcome="to judge", targets=(new,), reason="the section holds other text")
        return Carried(outcome="carried", targets=(new,))


def _carry_whole(line: MigrationTable, target: Target) -> Carried:
    mapped = sum(mapping.move != "unmapped" for mapping in line.mappings)
    if mapped < _LEAST_KEPT * len(line.mappings):
        reason = f"{mapped} of {len(line.mappings)} blocks are left"
        return Carried(outcome="to judge", targets=(target,), reason=reason)
    return Carried(outcome="carried", targets=(target,))


def _is_intact(mapping: BlockMapping) -> bool:
    """Return whether the parts of a block hold all of it, and nothing else."""
    size = sum(part.new_end - part.new_off for part in mapping.new_parts)
    return mapping.coverage == 1 and size <= mapping.old_end - mapping.old_off


def _place_block(mapping: BlockMapping, document: str) -> Iterator[Target]:
    """Yield the targets of a block: the block itself, or a span where the new block holds more than that."""
    if mapping.move == "merge" and mapping.new_off is not None and mapping.new_end is not None:
        span = Span(mapping.new_off, mapping.new_end)
        yield Target(document=document, block=mapping.new_block_id or "", span=span)
        return
    for name in list_targets(mapping):
        yield Target(document=document, block=name)


def _redirect_span(mapping: BlockMapping, span: Span) -> Span:
    """Return where the bytes that a span shares with a block stand now."""
    start = redirect_byte(mapping, max(span.start, mapping.old_off))
    last = redirect_byte(mapping, min(span.end, mapping.old_end) - 1)
    return Span(start, max(start, last) + 1)


def _section_of(block: str) -> str:
    try:
        return section_of_block(block)
    except InputError:  # an id of another index, which shows no section
        return ""


def _is_inside(block: str, section: str) -> bool:
    own = _section_of(block)
    return own == section or own.startswith(f"{section}.")


def _goes_into(mapping: BlockMapping, section: str) -> bool:
    return any(_is_inside(name, section) for name in list_targets(mapping))


def _common_section(sections: Iterable[str]) -> str:
    """Return the smallest section around others; empty if that would be the whole document.

    >>> _common_section({"S.4.2", "S.4.3.1"}), _common_section({"S.4.2"}), _common_section({"S.1", "S.2"})
    ('S.4', 'S.4.2', '')
    """
    paths = [section.split(".") for section in sections]
    common = []
    for parts in zip(*paths, strict=False):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    return ".".join(common) if len(common) > 1 else ""


def _carry_queries(queries: Sequence[Query], carrier: _Carrier) -> tuple[tuple[Query, ...], int, int]:
    """Return the queries with their anchors, hard negatives and first chunk, and how many were moved, and lost."""
    moved, lost, carried = 0, 0, []
    for query in queries:
        changes: dict[str, Any] = {}
        for field in ("anchors", "negatives"):
            old: Sequence[Target] = getattr(query, field)
            new = [carrier.carry(target, 0).targets for target in old]
            moved += sum(bool(targets) and targets != (was,) for was, targets in zip(old, new, strict=True))
            lost += sum(not targets for targets in new)
            changes[field] = tuple(dict.fromkeys(target for targets in new for target in targets))
        mapping = carrier.redirects.find(query.top_chunk) if query.top_chunk else None
        if mapping is not None:
            changes["top_chunk"] = mapping.new_block_id or ""
            moved += mapping.new_block_id not in (None, query.top_chunk)
            lost += mapping.new_block_id is None
        carried.append(replace(query, **changes))
    return tuple(carried), moved, lost


def _make_row(golden: GoldenSet, judgment: Judgment, target: Target) -> Mapping[str, Any]:
    """Return a row of a pool, in which a person fills in the grade; the grade it had is not shown, and sways nobody."""
    query, document = golden.query_by_id.get(judgment.query), golden.document_by_id.get(target.document)
    place = {"section": target.section, "block": target.block}
    row: dict[str, Any] = {
        "query": judgment.query,
        "query_text": query.text if query else "",
        "document": target.document,
        **place,
        "span": [target.span.start, target.span.end] if target.span else "",
        "title": document.title if document else "",
        "passage": _read_passage(golden, document, target),
        "grade": None,
    }
    return {key: value for key, value in row.items() if value != ""}


def _read_passage(golden: GoldenSet, document: Document | None, target: Target) -> str:
    if document is None:
        return ""
    place: Callable[[Target], Span | None] = resolver(golden)
    span = place(target)
    return canonical(document.text).encode()[span.start : span.end].decode(errors="ignore") if span else ""


def _describe(judgment: Judgment, carried: Carried) -> CarriedTarget:
    return CarriedTarget(
        query=judgment.query,
        target=str(judgment.target),
        grade=judgment.grade,
        outcome=carried.outcome,
        now=tuple(map(str, carried.targets)),
        reason=carried.reason,
    )


def _list_notes(
    golden: GoldenSet, queries: Sequence[Query], kept: Iterable[Judgment], to_judge: Set[str]
) -> Iterator[str]:
    """Yield which queries have no relevant judgment, and what to do about them."""
    relevant = {judgment.query for judgment in kept if judgment.grade >= golden.relevant}
    bare = [query.id for query in queries if query.answerable and query.id not in relevant]
    waiting, lost = [name for name in bare if name in to_judge], [name for name in bare if name not in to_judge]
    if waiting:
        yield f"{_name_queries(waiting)} no relevant judgment until somebody judges the rows: {_list_names(waiting)}"
    if lost:
        hint = "karat golden pool finds documents to judge"
        yield f"{_name_queries(lost)} no relevant judgment, and no row to judge: {_list_names(lost)}; {hint}"


def _name_queries(names: Sequence[str]) -> str:
    return "1 query has" if len(names) == 1 else f"{len(names):,} queries have"


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (" ..." if len(names) > 5 else "")
