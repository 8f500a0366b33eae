"""Scoring of hits that are parts of documents, whatever the chunker: they are collapsed to what was judged first."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice, pairwise
from sys import maxsize
from typing import Literal, TypeAlias, TypedDict, Unpack, get_args

import numpy as np

from karat.core import GoldenSet, Hit, InputError, Measure, Scores, Span, Target, Unit, UsageError, shorten
from karat.measures._alignment import Alignment, Chunks, Ints
from karat.measures._conventions import Conventions, Missing, Undefined, conventions
from karat.measures._score import Options, score_alignment, wanted_measures

Rule = Literal["any", "min", "gold", "hit", "iou"]
Resolve: TypeAlias = Callable[[Target], Span | None]

EVERYTHING = Span(0, maxsize)
"""Where a whole document stands in itself, when its length is not known."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """When a hit holds a judged span: the rule, and the least share that will do.

    The share is that of the bytes which both have, in

    - ``any``: nothing; one byte in common is enough, and there is no threshold;
    - ``min``: the shorter of the two;
    - ``gold``: the judged span;
    - ``hit``: the hit;
    - ``iou``: what either has.

    The default, half of the shorter, is the strictest rule of its kind under which no chunker loses a judgment: where
    chunks leave no byte of a text out, every judged span G is held by at least one of them.

    Proof: call a chunk that has bytes of G inner when it lies in G, else outer. An inner chunk is all in common and no
    longer than G, so its share is 1. If there is none, every chunk with bytes of G reaches beyond G, and so has a first
    part of G (if it begins before G) or a last part (if it ends after it), or all of it. The longest first part and
    the longest last part together make up G, since no byte is left out; one of them is at least half of G. The share
    of that chunk is what it has of G by the shorter of both, which is at most the length of G: at least half. A span
    that is cut in the middle, by two chunks longer than it, gives exactly half, so no higher threshold will do. Under
    ``gold`` short chunks hold nothing at any threshold, under ``hit`` and ``iou`` long ones do not.

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
            raise UsageError(f"overlap threshold {self.threshold!r}; it lies above 0, and is at most 1")

    def __str__(self) -> str:
        return self.rule if self.rule == "any" else f"{self.rule} >= {self.threshold:g}"

    def holds(self, hit: Span, gold: Span) -> bool:
        """Say whether the hit holds the judged span."""
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
    """The options of :func:`score` that make sense for hits, for type checkers."""

    conventions: str | Conventions
    undefined: Undefined | None
    missing: Missing | None


def score_hits(
    golden: GoldenSet,
    hits: Mapping[str, Sequence[Hit]],
    measures: Iterable[str | Measure] | str | Measure | None = None,
    *,
    unit: Unit = "document",
    overlap: Overlap = DEFAULT_OVERLAP,
    resolve: Resolve | None = None,
    name: str = "hits",
    **options: Unpack[HitOptions],
) -> Scores:
    """Score what a system returned, chunks or documents, against a golden set.

    ``hits`` gives each query its hits. They are ranked by score, highest first, and in the given order where scores
    are equal; then they are collapsed to what is judged, each unit where its best hit stands, so that nothing counts
    twice. With ``unit``

    - ``document``, a hit counts as its document, or as the class of it, whose grade is the best of its parts';
    - ``target``, a hit counts for every judged target of its document that it holds: always for the document itself
      (or its class), for a span by ``overlap``, for a section or block by its span, which ``resolve`` gives, or else
      when the hit names the same one. Several go to successive ranks, the best grade first. A hit that holds only
      what stands above it is dropped; ``DupRate`` counts these. One that holds nothing is one unit that is not
      relevant.

    A measure with a parameter ``rel`` counts as relevant what the golden set does (``golden.relevant``), unless it was
    written with another value or the conventions have one; ``definitions`` of the scores shows it. Span measures
    (``SpanR``, ``SpanP``, ``SpanIoU``) look at the hits themselves. For those that are whole documents ``resolve``
    may tell how long they are. Options are ``conventions``, ``undefined`` and ``missing``, as for ``karat.score``.

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
    given: tuple[tuple[object, type], ...] = ((golden, GoldenSet), (hits, Mapping))
    for value, kind in given:
        if not isinstance(value, kind):
            raise UsageError(f"score_hits takes a GoldenSet and {{query: [Hit, ...]}}, not {shorten(value)}")
    if chosen.classes is not None or chosen.format is not None:
        raise UsageError("score_hits takes no classes and no format: the golden set has the classes")
    if unit not in get_args(Unit):
        raise UsageError(f"unit={unit!r}; choose from {', '.join(get_args(Unit))}")
    asked = (measures,) if isinstance(measures, str | Measure) else measures if measures is None else tuple(measures)
    using = _fill_in(golden, asked, conventions(chosen.conventions))
    wanted = wanted_measures(asked, using)
    alignment = _Collapse(golden=golden, unit=unit, overlap=overlap, resolve=resolve).align(hits, name)
    return score_alignment(alignment, wanted, name=name, options=replace(chosen, conventions=using))


def _fill_in(golden: GoldenSet, asked: Sequence[str | Measure] | None, using: Conventions) -> Conventions:
    """Let relevant mean what the golden set says, where the conventions leave it open."""
    measures = [(text, Measure.parse(text)) for text in (using.measures if asked is None else asked)]
    open_ = {
        measure.name
        for _, measure in measures
        if any(p.name == "rel" and p.default is not None for p in measure.definition.parameters)
    }
    filled = {name: {"rel": golden.relevant, **using.parameters.get(name, {})} for name in sorted(open_)}
    ours = replace(using, parameters={**using.parameters, **filled})
    for text, measure in measures:
        said = dict(measure.written(text)).get("rel")
        # Written with its default it is the measure without it, by name and value, and cannot mean another one.
        if said is not None and _rel(using, measure) == said != _rel(ours, measure):
            raise UsageError(
                f"measure {text}: in this golden set relevant means grade {golden.relevant} and above; "
                f"to have grade {said}, score dataclasses.replace(golden, relevant={said})"
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
    """A hit, and where it stands in its document, as far as that is known."""

    hit: Hit
    rank: int
    span: Span | None
    size: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """What becomes of one query."""

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
    """The rules by which hits become what was judged."""

    golden: GoldenSet
    unit: Unit
    overlap: Overlap
    resolve: Resolve | None

    def align(self, hits: Mapping[str, Sequence[Hit]], source: str) -> Alignment:
        """Collapse the hits of every query, and find the ranks of what was judged."""
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
        )

    @cached_property
    def judged(self) -> dict[str, list[_Gold]]:
        """What was judged for each query, also for one where that is nothing."""
        found: dict[str, list[_Gold]] = {query.id: [] for query in self.golden.queries}
        for (query, target), grade in self.golden.decided.items():
            found.setdefault(query, []).append(self._gold(target, grade))
        return found

    def _gold(self, target: Target, grade: int) -> _Gold:
        part = target.span is not None or not target.whole
        span = target.span
        if span is None and part and self.resolve is not None:
            span = self.resolve(target)
        _check_span(span, f"target {shorten(str(target))}", self.golden.name)
        unit = target if part and self.unit == "target" else self._document(target.document)
        return _Gold(target=target, grade=grade, unit=unit, part=part, span=span)

    def _document(self, document: str) -> Hashable:
        """Give what a document counts as. A class may have the name of a document that is not in it."""
        name = self.golden.class_of.get(document)
        return ("document", document) if name is None else ("class", name)

    def _row(self, query: str, gold: list[_Gold], hits: list[Hit]) -> _Row:
        placed = [self._place(hit, rank) for rank, hit in enumerate(hits, 1)]
        grades: dict[Hashable, int] = {}
        parts: dict[str, list[_Gold]] = {}
        for one in gold:
            grades[one.unit] = max(one.grade, grades.get(one.unit, one.grade))
            if one.part:
                parts.setdefault(one.target.document, []).append(one)
        ranks: dict[Hashable, int] = {}
        repeats = []
        for hit in placed:
            new = [unit for unit in self._units(query, hit, grades, parts) if unit not in ranks]
            ranks |= {unit: rank for rank, unit in enumerate(new, len(ranks) + 1)}
            repeats.append(not new)
        spans = {document: [one for one in ones if one.span is not None] for document, ones in parts.items()}
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
        """Give what a hit counts for, the best grade first."""
        document = self._document(hit.hit.document)
        if self.unit == "document":
            return [document]
        held: list[Hashable] = [document] if document in grades else []
        held += [one.unit for one in parts.get(hit.hit.document, ()) if self._holds(query, hit, one)]
        return sorted(held, key=lambda unit: -grades[unit]) or [("hit", hit.hit.id)]

    def _holds(self, query: str, hit: _Placed, gold: _Gold) -> bool:
        target, sized = gold.target, hit.size is not None or self.overlap.rule not in ("hit", "iou")
        if hit.span is not None and gold.span is not None and sized:
            return self.overlap.holds(hit.span, gold.span)
        if hit.hit.whole and gold.span is None and self.overlap.rule not in ("hit", "iou"):
            return True  # it holds all of its parts, wherever they are
        mine, theirs = (hit.hit.block, target.block) if target.block else (hit.hit.section, target.section)
        if mine and theirs and target.span is None:
            return mine == theirs
        raise InputError(
            f"query {shorten(query)}: cannot tell whether hit {shorten(hit.hit.id)} holds {shorten(str(target))}",
            hint="give it a span, or the section or block that it is, or score with unit='document'",
        )


def _ranked(query: str, hits: Sequence[Hit], source: str) -> list[Hit]:
    """Order hits by score, then as they came."""
    for hit in hits:
        if not isinstance(hit, Hit):
            raise UsageError(f"query {shorten(query)} has {shorten(hit)} for a hit; give karat.Hit(id, score)")
        what = f"query {shorten(query)}, hit {shorten(hit.id)}"
        for value, kinds in ((hit.id, str), (hit.score, int | float)):
            if not isinstance(value, kinds):
                raise UsageError(f"{what}: {shorten(value)} for an id, which is text, or a score, which is a number")
        if not math.isfinite(hit.score):
            raise InputError(f"{what}: score {hit.score!r} is not a finite number", source=source)
        _check_span(hit.span, what, source)
    return sorted(hits, key=lambda hit: -hit.score)


def _check_span(span: Span | None, what: str, source: str) -> None:
    if span is not None and not 0 <= span.start <= span.end <= maxsize:
        hint = "a span is a range of bytes, its end not before its start"
        raise InputError(f"{what}: span {span.start}-{span.end} is none", source=source, hint=hint)


def _pieces(gold: list[_Gold], hits: list[_Placed], document: str) -> Iterator[tuple[int, int, int]]:
    """Cut the gold of one document where spans and hits begin and end: size, best grade, first rank of each piece."""
    graded = [(one.span, one.grade) for one in gold if one.span is not None]
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
