"""Hits that may be parts of documents, collapsed to judged units."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import chain, count, islice, pairwise, repeat
from operator import attrgetter, ge
from sys import maxsize
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from karat.core import GoldenSet, Hit, HitList, InputError, Span, Target, Unit, UsageError, shorten
from karat.measures._alignment import Alignment, Bools, Chunks, Ints, Pool
from karat.measures._overlap import Overlap
from karat.measures._whole import AlignedRows, align_whole

Resolve: TypeAlias = Callable[[Target], Span | None]

EVERYTHING = Span(0, maxsize)
"""The span of a whole document of unknown length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gold:
    """A target that was judged for a query."""

    target: Target
    grade: int
    unit: Hashable
    part: bool
    span: Span | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    """A hit and its span in the document, as far as that is known."""

    hit: Hit
    rank: int
    span: Span | None
    size: int | None


class _Sizes(dict[str, int | None]):
    """The number of bytes of each document, as far as it is known; looked up once."""

    def __init__(self, resolve: Resolve) -> None:
        super().__init__()
        self._resolve = resolve

    def __missing__(self, document: str) -> int | None:
        span = self._resolve(Target(document=document))
        size = self[document] = None if span is None else len(span)
        return size


class _Row(NamedTuple):
    """The alignment of one query."""

    grades: list[int]
    ranks: list[int]
    retrieved: int
    sizes: list[int]
    repeats: list[bool]
    pieces: list[tuple[int, int, int]]
    unsized: int
    unplaced: int


@dataclass(frozen=True, kw_only=True)
class Collapse:
    """The rules by which hits become judged units."""

    golden: GoldenSet
    unit: Unit
    overlap: Overlap
    resolve: Resolve | None
    places: bool = True
    """Whether some measure looks at the places of hits and gold in the text, whatever the unit is."""

    def align(self, hits: Mapping[str, Sequence[Any]], source: str, failed: Collection[str] = ()) -> Alignment:
        """Collapse the hits of every query, and find the ranks of the judged units."""
        queries = sorted(self._queries)  # which mostly are in order, so that it takes next to no time
        in_run = np.fromiter(map(hits.__contains__, queries), np.bool_, len(queries))
        if not in_run.any():
            theirs, ours = (", ".join(map(shorten, islice(ids, 3))) or "none" for ids in (hits, queries))
            what = f"no query in common with golden set {shorten(self.golden.name)}"
            raise InputError(what, source=source, hint=f"the hits have {theirs}; the golden set has {ours}")
        rows = self._align_whole(queries, hits) or _join(
            [self._align(query, _ranked(query, hits.get(query, ()), source)) for query in queries]
        )
        return Alignment(
            queries=tuple(queries),
            starts=rows.starts,
            grades=rows.grades,
            ranks=rows.ranks,
            retrieved=rows.retrieved,
            in_run=in_run,
            not_judged=len(hits) - int(in_run.sum()),
            chunks=rows.chunks,
            unanswerable=_mark(queries, self.golden.unanswerable),
            failed=_mark(queries, failed),
        )

    def count_others(
        self, hits: Mapping[str, Sequence[Any]], others: Mapping[str, Sequence[str]], k: int | None
    ) -> Ints:
        """Count the documents of another ranking, down to rank k, that are neither judged nor among the hits there.

        ``others`` has the documents of each query, the best first. Units are documents.
        """
        unit_of: Callable[[str], Hashable] = self._document if self.golden.class_of else str
        judged, counts = self.golden.grades_by_query, []
        for query in sorted(self._queries):
            theirs = _first_units(map(unit_of, others.get(query, ())), k)
            known = {unit_of(target.document) for target, _ in judged.pairs(query)} if theirs else set()
            if not known.issuperset(theirs):  # of most queries it is
                known.update(_first_units(map(unit_of, _rank_documents(query, hits.get(query, ()))), k))
            counts.append(len(set(theirs) - known))
        return np.array(counts, np.int64)

    def find_pool(self, first: Mapping[str, Sequence[Any]], second: Mapping[str, Sequence[Any]], k: int | None) -> Pool:
        """Return the documents down to rank k of two rankings that nobody judged, where the rankings differ there.

        Units are documents.
        """
        unit_of: Callable[[str], Hashable] = self._document if self.golden.class_of else str
        judged = self.golden.grades_by_query
        counts, ranks = [], ([], [])  # type: tuple[list[int], tuple[list[int], list[int]]]
        for query in sorted(self._queries):
            tops = [
                _first_units(map(unit_of, _rank_documents(query, hits.get(query, ()))), k) for hits in (first, second)
            ]
            unjudged: set[Hashable] = set()
            if tops[0] != tops[1]:
                unjudged = set().union(*tops)
                unjudged.difference_update([unit_of(target.document) for target, _ in judged.pairs(query)])
            counts.append(len(unjudged))
            if unjudged:
                for top, own in zip(tops, ranks, strict=True):
                    own.extend(map(dict(zip(top, count(1))).get, unjudged, repeat(0)))
        query_of = np.repeat(np.arange(len(counts)), counts)
        return Pool(query=query_of, first=np.array(ranks[0], np.int64), second=np.array(ranks[1], np.int64))

    def _align_whole(self, queries: list[str], hits: Mapping[str, Sequence[Any]]) -> AlignedRows | None:
        """Return the alignment of all queries if whole documents are judged and returned, or None."""
        if self.unit != "document" or self.golden.class_of:
            return None
        lists = list(hits.values()) if list(hits) == queries else [hits.get(query, ()) for query in queries]
        return align_whole(self.golden.grades_by_query, queries, lists, self._size_of)

    def _size_of(self, document: str) -> int | None:
        return None if self.resolve is None else self._whole_sizes[document]

    @cached_property
    def _queries(self) -> tuple[str, ...]:
        """The queries of the set, with and without judgments."""
        known, judged = self.golden.query_by_id, self.golden.grades_by_query
        return tuple(known if judged.rows.keys() <= known.keys() else dict.fromkeys((*known, *judged)))

    def _align(self, query: str, hits: list[Hit]) -> _Row:
        grades = self.golden.grades_by_query.get(query, {})
        if self.unit == "document" and (not self.places or all(target.whole for target in grades)):
            for target in grades:
                _check_span(target.span, f"target {shorten(str(target))}", self.golden.name)
            return self._whole_row(grades, hits)
        return self._row(query, [self._gold(target, grade) for target, grade in grades.items()], hits)

    def _whole_row(self, targets: Mapping[Target, int], hits: list[Hit]) -> _Row:
        """Return what :meth:`_row` does if nothing has to be placed in documents; then there are no pieces."""
        unit_of: Callable[[str], Hashable] = self._document if self.golden.class_of else str
        units: list[Hashable] = [unit_of(hit.document) for hit in hits]
        grades: dict[Hashable, int] = {}
        for target, grade in targets.items():
            key = unit_of(target.document)
            grades[key] = max(grade, grades.get(key, grade))
        ranks: dict[Hashable, int] = {}
        repeats = []
        for key in units:
            repeats.append(key in ranks)
            ranks.setdefault(key, len(ranks) + 1)
        sizes = [self._size(hit) for hit in hits]
        return _Row(
            grades=list(grades.values()),
            ranks=[ranks.get(key, 0) for key in grades],
            retrieved=len(ranks),
            sizes=[size or 0 for size in sizes],
            repeats=repeats,
            pieces=[],
            unsized=sizes.index(None) + 1 if None in sizes else 0,
            unplaced=0,
        )

    def _size(self, hit: Hit) -> int | None:
        if hit.span is not None:
            return len(hit.span)
        return self._whole_sizes[hit.document] if self.resolve is not None and hit.whole else None

    @cached_property
    def _whole_sizes(self) -> _Sizes:
        assert self.resolve is not None
        return _Sizes(self.resolve)

    def _gold(self, target: Target, grade: int) -> _Gold:
        part = target.span is not None or not target.whole
        span = target.span
        if span is None and part and self.resolve is not None:
            span = self.resolve(target)
        _check_span(span, f"target {shorten(str(target))}", self.golden.name)
        unit = target if part and self.unit == "target" else self._document(target.document)
        return _Gold(target=target, grade=grade, unit=unit, part=part, span=span)

    def _document(self, document: str) -> Hashable:
        """Return the unit of a document. A class may have the name of a document that is not in it."""
        name = self.golden.class_of.get(document)
        return ("document", document) if name is None else ("class", name)

    def _row(self, query: str, gold: list[_Gold], hits: list[Hit]) -> _Row:
        placed = [self._place(hit, rank) for rank, hit in enumerate(hits, 1)]
        grades: dict[Hashable, int] = {}
        parts: dict[str, list[_Gold]] = {}
        for item in gold:
            grades[item.unit] = max(item.grade, grades.get(item.unit, item.grade))
            if item.part:
                parts.setdefault(item.target.document, []).append(item)
        ranks: dict[Hashable, int] = {}
        repeats = []
        for hit in placed:
            new = [unit for unit in self._units(query, hit, grades, parts) if unit not in ranks]
            ranks |= {unit: rank for rank, unit in enumerate(new, len(ranks) + 1)}
            repeats.append(not new)
        spans = {document: [item for item in items if item.span is not None] for document, items in parts.items()}
        hits_of: dict[str, list[_Placed]] = {document: [] for document in spans}
        for hit in placed:
            if hit.hit.document in hits_of:
                hits_of[hit.hit.document].append(hit)
        return _Row(
            grades=list(grades.values()),
            ranks=[ranks.get(unit, 0) for unit in grades],
            retrieved=len(ranks),
            sizes=[hit.size or 0 for hit in placed],
            repeats=repeats,
            pieces=[piece for document in spans for piece in _pieces(spans[document], hits_of[document])],
            unsized=next((hit.rank for hit in placed if hit.size is None), 0),
            unplaced=next((hit.rank for hit in placed if hit.span is None and spans.get(hit.hit.document)), 0),
        )

    def _place(self, hit: Hit, rank: int) -> _Placed:
        span = hit.span
        if hit.whole and self.resolve is not None:
            span = self.resolve(Target(document=hit.document))
        if span is not None:
            return _Placed(hit=hit, rank=rank, span=span, size=len(span))
        return _Placed(hit=hit, rank=rank, span=EVERYTHING if hit.whole else None, size=None)

    def _units(
        self, query: str, hit: _Placed, grades: Mapping[Hashable, int], parts: Mapping[str, list[_Gold]]
    ) -> list[Hashable]:
        """Return the units that a hit counts for, the best grade first."""
        document = self._document(hit.hit.document)
        if self.unit == "document":
            return [document]
        held: list[Hashable] = [document] if document in grades else []
        held += [item.unit for item in parts.get(hit.hit.document, ()) if self._holds(query, hit, item)]
        return sorted(held, key=lambda unit: -grades[unit]) or [("hit", hit.hit.id)]

    def _holds(self, query: str, hit: _Placed, gold: _Gold) -> bool:
        target, sized = gold.target, hit.size is not None or self.overlap.rule not in ("hit", "iou")
        if hit.span is not None and gold.span is not None and sized:
            return self.overlap.holds(hit.span, gold.span)
        if hit.hit.whole and gold.span is None and self.overlap.rule not in ("hit", "iou"):
            return True  # a whole document holds all of its parts, wherever they are
        named, wanted = (hit.hit.block, target.block) if target.block else (hit.hit.section, target.section)
        if named and wanted and target.span is None:
            return named == wanted
        raise InputError(
            f"query {shorten(query)}: cannot tell whether hit {shorten(hit.hit.id)} holds {shorten(str(target))}",
            hint="give it a span, or the section or block that it is, or score with unit='document'",
        )


def _mark(queries: Sequence[str], members: Collection[str]) -> Bools | None:
    """Return which of the queries are members; None if there are no members."""
    return np.array([query in members for query in queries], np.bool_) if members else None


def _first_units(units: Iterable[Hashable], k: int | None) -> list[Hashable]:
    return list(dict.fromkeys(units))[:k]


def _rank_documents(query: str, hits: Sequence[Any]) -> list[str]:
    """Return the documents of hits ordered by score, without an object for each hit where columns have them."""
    if isinstance(hits, HitList) and all(map(ge, (scores := hits.scores), scores[1:])):
        return hits.documents
    return [hit.document for hit in _ranked(query, hits, "hits")]


def _ranked(query: str, values: Sequence[Any], source: str) -> list[Hit]:
    """Return hits ordered by score; equal scores keep their order."""
    hits = [value if type(value) is Hit else _hit(value, query) for value in values]
    for hit in hits:
        if type(hit.id) is not str or type(hit.score) is not float or hit.score - hit.score or hit.span is not None:
            _check_hit(hit, query, source)
    return sorted(hits, key=attrgetter("score"), reverse=True)


def _check_hit(hit: Hit, query: str, source: str) -> None:
    what = f"query {shorten(query)}, hit {shorten(hit.id)}"
    for value, kinds in ((hit.id, str), (hit.score, int | float)):
        if not isinstance(value, kinds):
            raise UsageError(f"{what}: {shorten(value)} for an id, which is text, or a score, which is a number")
    if not math.isfinite(hit.score):
        raise InputError(f"{what}: score {hit.score!r} is not a finite number", source=source)
    _check_span(hit.span, what, source)


def _hit(value: Any, query: str) -> Hit:
    """Return a hit as it is, or one with the attributes of another object, or the items of a mapping."""
    if isinstance(value, Hit):
        return value
    get: Callable[[str], Any] = value.get if isinstance(value, Mapping) else lambda name: getattr(value, name, None)
    document, score = get("document"), get("score")
    id_ = get("id") or document
    if id_ is None or score is None:
        hint = "pass karat.Hit(id, score), or an object with 'id' or 'document' and 'score'"
        raise UsageError(f"query {shorten(query)} has {shorten(value)} for a hit; {hint}")
    section, block, content = (get(name) or "" for name in ("section", "block", "content"))
    return Hit(id_, score, document or "", get("span"), section=section, block=block, content=content)


def _check_span(span: Span | None, what: str, source: str) -> None:
    if span is not None and not 0 <= span.start <= span.end <= maxsize:
        hint = "a span is a range of bytes, its end not before its start"
        raise InputError(f"{what}: {span.start}-{span.end} is not a span", source=source, hint=hint)


def _pieces(gold: list[_Gold], hits: list[_Placed]) -> Iterator[tuple[int, int, int]]:
    """Cut the gold of one document where spans and hits begin and end; yield size, best grade and first rank."""
    grades = sorted((item.span, -item.grade) for item in gold if item.span is not None)
    ranks = sorted((hit.span, hit.rank) for hit in hits if hit.span is not None and len(hit.span))
    cuts = sorted({cut for span, _ in (*grades, *ranks) for cut in (span.start, span.end)})
    best, first = _Lowest(grades), _Lowest(ranks)
    for start, end in pairwise(cuts):
        grade, rank = best.at(start), first.at(start)
        if grade is not None:
            yield end - start, -grade, rank or 0


class _Lowest:
    """The lowest value of the spans that cover a place, for places that are asked for in order."""

    def __init__(self, spans: Sequence[tuple[Span, int]]) -> None:
        self._coming = deque(spans)
        self._open: list[tuple[int, int]] = []

    def at(self, place: int) -> int | None:
        while self._coming and self._coming[0][0].start <= place:
            span, value = self._coming.popleft()
            heappush(self._open, (value, span.end))
        while self._open and self._open[0][1] <= place:
            heappop(self._open)
        return self._open[0][0] if self._open else None


def _join(rows: Sequence[_Row]) -> AlignedRows:
    return AlignedRows(
        starts=np.cumsum([0, *(len(row.grades) for row in rows)], dtype=np.int64),
        grades=_flat(row.grades for row in rows),
        ranks=_flat(row.ranks for row in rows),
        retrieved=np.array([row.retrieved for row in rows], np.int64),
        chunks=_chunks(rows),
    )


def _chunks(rows: Sequence[_Row]) -> Chunks:
    return Chunks(
        query=np.repeat(np.arange(len(rows)), [len(row.sizes) for row in rows]),
        rank=_flat(range(1, len(row.sizes) + 1) for row in rows),
        size=_flat(row.sizes for row in rows),
        repeats=_flat(row.repeats for row in rows).astype(np.bool_),
        gold_query=np.repeat(np.arange(len(rows)), [len(row.pieces) for row in rows]),
        gold_size=_flat([size for size, _, _ in row.pieces] for row in rows),
        gold_grade=_flat([grade for _, grade, _ in row.pieces] for row in rows),
        gold_rank=_flat([rank for _, _, rank in row.pieces] for row in rows),
        unsized=np.array([row.unsized for row in rows], np.int64),
        unplaced=np.array([row.unplaced for row in rows], np.int64),
    )


def _flat(rows: Iterable[Iterable[int]]) -> Ints:
    return np.fromiter(chain.from_iterable(rows), np.int64)
