"""Scoring of hits that may be parts of documents: they are collapsed to judged units first."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice, pairwise
from sys import maxsize
from typing import Any, Literal, TypeAlias, TypedDict, Unpack, get_args

import numpy as np

from karat.core import GoldenSet, Hit, InputError, Measure, Scores, Span, Target, Undefined, Unit, UsageError, shorten
from karat.measures._alignment import Alignment, Bools, Chunks, Ints
from karat.measures._conventions import Conventions, Missing, conventions
from karat.measures._score import Options, score_alignment, wanted_measures

Rule = Literal["any", "min", "gold", "hit", "iou"]
Resolve: TypeAlias = Callable[[Target], Span | None]

EVERYTHING = Span(0, maxsize)
"""The span of a whole document of unknown length."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """When a hit holds a judged span: the rule, and the least share that is enough.

    The share is the number of bytes that both have, divided by the length of

    - ``min``: the shorter of the two;
    - ``gold``: the judged span;
    - ``hit``: the hit;
    - ``iou``: the union of both.

    Under ``any`` one byte in common is enough, and the threshold does not matter.

    The default, half of the shorter, is the strictest rule of its kind under which no chunker loses a judgment: where
    chunks leave out no byte of a text, every judged span G is held by at least one of them.

    Proof: call a chunk that has bytes of G inner when it lies in G, else outer. All of an inner chunk is in common, and
    it is no longer than G, so its share is 1. Without an inner chunk, every chunk with bytes of G reaches beyond G, and
    so has a first part of G (if it begins before G), a last part (if it ends after G), or all of it. The longest first
    part and the longest last part together make up G, since no byte is left out; one of them is at least half of G.
    The share of that chunk is its part of G divided by the shorter of both, which is at most the length of G: at least
    half. A span that is cut in the middle, by two chunks longer than it, has exactly half in each, so no higher
    threshold is possible. Under ``gold`` short chunks hold nothing at any threshold, under ``hit`` and ``iou`` long
    ones do not.

    >>> Overlap().holds(Span(0, 100), Span(90, 110)), Overlap("gold", 0.6).holds(Span(0, 100), Span(90, 110))
    (True, False)
    >>> str(Overlap("iou", 0.3))
    'iou >= 0.3'
    """

    rule: Rule = "min"
    threshold: float = 0.5

    def __post_init__(self) -> None:
        if self.rule not in get_args(Rule):
            raise UsageError(f"overlap rule {self.rule!r}; choose from {', '.join(get_args(Rule))}")
        if not 0 < self.threshold <= 1:
            raise UsageError(f"overlap threshold {self.threshold!r}; it should be above 0 and at most 1")

    def __str__(self) -> str:
        return self.rule if self.rule == "any" else f"{self.rule} >= {self.threshold:g}"

    def holds(self, hit: Span, gold: Span) -> bool:
        """Return whether the hit holds the judged span."""
        common = hit.overlap(gold)
        if common == 0 or self.rule == "any":
            return common > 0
        whole = {
            "min": min(len(hit), len(gold)),
            "gold": len(gold),
            "hit": len(hit),
            "iou": len(hit) + len(gold) - common,
        }
        return common / whole[self.rule] >= self.threshold


DEFAULT_OVERLAP = Overlap()


class HitOptions(TypedDict, total=False):
    """The options of :func:`score` that apply to hits, for type checkers."""

    conventions: str | Conventions
    undefined: Undefined | None
    missing: Missing | None


def score_hits(
    golden: GoldenSet,
    hits: Mapping[str, Sequence[Any]],
    measures: Iterable[str | Measure] | str | Measure | None = None,
    *,
    unit: Unit = "document",
    overlap: Overlap = DEFAULT_OVERLAP,
    resolve: Resolve | None = None,
    name: str = "hits",
    failed: Collection[str] = (),
    **options: Unpack[HitOptions],
) -> Scores:
    """Score the hits of a system, chunks or documents, against a golden set.

    ``hits`` maps each query to its hits: ``karat.Hit``, or any object with ``id`` or ``document`` and ``score``, and
    perhaps ``span``, ``section``, ``block`` and ``content``. Hits are ranked by score, highest first, and in the given
    order where scores are equal. Then they are collapsed to judged units, each at the place of its best hit, so that
    nothing counts twice. With ``unit``

    - ``document``, a hit counts as its document, or as the class of it, which has the best grade of its parts;
    - ``target``, a hit counts for every judged target of its document that it holds: always for the document itself
      (or its class), for a span by ``overlap``, for a section or block by its span, which ``resolve`` returns, or else
      if the hit names the same one. Several targets take successive ranks, the best grade first. A hit that holds
      only targets of hits above it is dropped; ``DupRate`` counts these. A hit that holds no target is one unit that
      is not relevant.

    A measure with a parameter ``rel`` counts as relevant what the golden set does (``golden.relevant``), unless it is
    written with another value or the conventions have one; ``definitions`` of the scores shows it. Span measures
    (``SpanR``, ``SpanP``, ``SpanIoU``) look at the hits themselves; ``resolve`` may return the span of a whole
    document. ``failed`` names the queries that the system failed to answer: their empty lists are not answers, which
    matters for queries whose right answer is an empty list.

    Options are ``conventions``, ``undefined`` and ``missing``, as for ``karat.score``.

    >>> from karat import Judgment
    >>> gold = [Target(document="wifi", span=Span(0, 50)), Target(document="wifi", span=Span(200, 260))]
    >>> golden = GoldenSet(judgments=tuple(Judgment(query="q", target=target, grade=3) for target in gold))
    >>> chunks = {"q": [Hit("wifi:chunk:0", 0.9, span=Span(0, 100)), Hit("wifi:chunk:1", 0.8, span=Span(100, 200))]}
    >>> score_hits(golden, chunks, ["R@5", "P@1"]).mean()
    {'R@5': 1.0, 'P@1': 1.0}
    >>> score_hits(golden, chunks, ["R@5", "SpanR@5"], unit="target").mean()
    {'R@5': 0.5, 'SpanR@5': 0.45454545454545453}
    >>> score_hits(golden, chunks, ["R@5"]).definitions
    {'R@5': 'R(rel=2)@5'}
    """
    chosen = Options(**options)
    expected: tuple[tuple[object, type], ...] = ((golden, GoldenSet), (hits, Mapping))
    for value, kind in expected:
        if not isinstance(value, kind):
            raise UsageError(f"score_hits takes a GoldenSet and {{query: [Hit, ...]}}, not {shorten(value)}")
    if chosen.classes is not None or chosen.format is not None:
        raise UsageError("score_hits takes no classes and no format; the golden set has the classes")
    if unit not in get_args(Unit):
        raise UsageError(f"unit={unit!r}; choose from {', '.join(get_args(Unit))}")
    asked = (measures,) if isinstance(measures, str | Measure) else measures if measures is None else tuple(measures)
    using = _fill_in(golden, asked, conventions(chosen.conventions))
    wanted = wanted_measures(asked, using)
    alignment = _Collapse(golden=golden, unit=unit, overlap=overlap, resolve=resolve).align(hits, name, failed)
    return score_alignment(alignment, wanted, name=name, options=replace(chosen, conventions=using))


def _fill_in(golden: GoldenSet, asked: Sequence[str | Measure] | None, using: Conventions) -> Conventions:
    """Return conventions under which ``rel`` is that of the golden set, where they leave it open."""
    measures = [(text, Measure.parse(text)) for text in (using.measures if asked is None else asked)]
    open_ = {
        measure.name
        for _, measure in measures
        if any(p.name == "rel" and p.default is not None for p in measure.definition.parameters)
    }
    filled = {name: {"rel": golden.relevant, **using.parameters.get(name, {})} for name in sorted(open_)}
    ours = replace(using, parameters={**using.parameters, **filled})
    for text, measure in measures:
        written = dict(measure.written(text)).get("rel")
        # With its default value the measure equals the one without the parameter, and cannot mean another.
        if written is not None and _rel(using, measure) == written != _rel(ours, measure):
            raise UsageError(
                f"measure {text}: in this golden set relevant means grade {golden.relevant} and above; "
                f"for grade {written}, score dataclasses.replace(golden, relevant={written})"
            )
    return ours


def _rel(using: Conventions, measure: Measure) -> object:
    return using.resolve(measure).arguments().get("rel")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
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
class _Collapse:
    """The rules by which hits become judged units."""

    golden: GoldenSet
    unit: Unit
    overlap: Overlap
    resolve: Resolve | None

    def align(self, hits: Mapping[str, Sequence[Any]], source: str, failed: Collection[str] = ()) -> Alignment:
        """Collapse the hits of every query, and find the ranks of the judged units."""
        judged = self.judged
        queries = sorted(judged)
        if not any(query in judged for query in hits):
            theirs, ours = (", ".join(map(shorten, islice(ids, 3))) or "none" for ids in (hits, queries))
            what = f"no query in common with golden set {shorten(self.golden.name)}"
            raise InputError(what, source=source, hint=f"the hits have {theirs}; the golden set has {ours}")
        rows = [self._row(query, judged[query], _ranked(query, hits.get(query, ()), source)) for query in queries]
        return Alignment(
            queries=tuple(queries),
            starts=np.cumsum([0, *(len(row.grades) for row in rows)], dtype=np.int64),
            grades=_flat(row.grades for row in rows),
            ranks=_flat(row.ranks for row in rows),
            retrieved=np.array([row.retrieved for row in rows], np.int64),
            in_run=np.array([query in hits for query in queries], np.bool_),
            not_judged=sum(query not in judged for query in hits),
            chunks=_chunks(rows),
            unanswerable=_mark(queries, self.golden.unanswerable),
            failed=_mark(queries, failed),
        )

    @cached_property
    def judged(self) -> dict[str, list[_Gold]]:
        """The judged targets of each query, including queries without any."""
        judged: dict[str, list[_Gold]] = {query.id: [] for query in self.golden.queries}
        for (query, target), grade in self.golden.decided.items():
            judged.setdefault(query, []).append(self._gold(target, grade))
        return judged

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
        return _Row(
            grades=list(grades.values()),
            ranks=[ranks.get(unit, 0) for unit in grades],
            retrieved=len(ranks),
            sizes=[hit.size or 0 for hit in placed],
            repeats=repeats,
            pieces=[piece for document in spans for piece in _pieces(spans[document], placed, document)],
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


def _ranked(query: str, values: Sequence[Any], source: str) -> list[Hit]:
    """Return hits ordered by score; equal scores keep their order."""
    hits = [_hit(value, query) for value in values]
    for hit in hits:
        what = f"query {shorten(query)}, hit {shorten(hit.id)}"
        for value, kinds in ((hit.id, str), (hit.score, int | float)):
            if not isinstance(value, kinds):
                raise UsageError(f"{what}: {shorten(value)} for an id, which is text, or a score, which is a number")
        if not math.isfinite(hit.score):
            raise InputError(f"{what}: score {hit.score!r} is not a finite number", source=source)
        _check_span(hit.span, what, source)
    return sorted(hits, key=lambda hit: -hit.score)


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


def _pieces(gold: list[_Gold], hits: list[_Placed], document: str) -> Iterator[tuple[int, int, int]]:
    """Cut the gold of one document where spans and hits begin and end; yield size, best grade and first rank."""
    graded = [(item.span, item.grade) for item in gold if item.span is not None]
    held = [
        (hit.span, hit.rank)
        for hit in hits
        if hit.hit.document == document and hit.span is not None and any(hit.span.overlap(span) for span, _ in graded)
    ]
    for start, end in pairwise(sorted({cut for span, _ in (*graded, *held) for cut in (span.start, span.end)})):
        piece = Span(start, end)
        grades = [grade for span, grade in graded if span.overlap(piece)]
        if grades:
            yield end - start, max(grades), min((rank for span, rank in held if span.overlap(piece)), default=0)


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
