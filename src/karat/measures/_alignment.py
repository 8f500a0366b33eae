"""The ranks of the judged documents: all that a measure needs to know about a ranking.

No measure looks at an unjudged document itself, only at how many of them stand between the judged ones. So documents
are not sorted: each judged document gets its rank, and the rest is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from karat.core import Floats

if TYPE_CHECKING:
    from karat.measures._evidence import Evidence

Ints: TypeAlias = NDArray[np.int64]
_FEW = 64  # documents; sorting so few takes less time than calling NumPy
Bools: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Judgments:
    """Relevance judgments: queries in byte order, each with its documents and their grades.

    ``documents[starts[i]:starts[i + 1]]`` belong to ``queries[i]``. A negative grade means that the document was
    pooled but not judged.
    """

    queries: tuple[str, ...]
    starts: Ints
    documents: Sequence[str]
    grades: Ints
    source: str = "qrels"

    def __post_init__(self) -> None:
        _freeze(self.starts, self.grades)

    @classmethod
    def from_dicts(cls, judged: Mapping[str, Mapping[str, int]], source: str = "qrels") -> Judgments:
        """Build judgments from ``{query: {document: grade}}``. A query without documents has nothing to find."""
        queries = sorted(judged)
        sizes = [len(judged[query]) for query in queries]
        return cls(
            queries=tuple(queries),
            starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            documents=[document for query in queries for document in judged[query]],
            grades=np.array([grade for query in queries for grade in judged[query].values()], np.int64),
            source=source,
        )

    def alignment(self, *, ranks: Ints, retrieved: Ints, in_run: Bools, not_judged: int) -> Alignment:
        """Return an alignment of these judgments with the ranks of a run."""
        return Alignment(
            queries=self.queries,
            starts=self.starts,
            grades=self.grades,
            ranks=ranks,
            retrieved=retrieved,
            in_run=in_run,
            not_judged=not_judged,
        )

    def spans(self) -> Iterator[tuple[str, int, int]]:
        """Yield each query with the range of its documents."""
        bounds = pairwise(self.starts.tolist())
        return ((query, start, end) for query, (start, end) in zip(self.queries, bounds, strict=True))


@dataclass(frozen=True, kw_only=True)
class Alignment:
    """The rank of every judged document in one run."""

    queries: tuple[str, ...]
    starts: Ints
    """``grades[starts[i]:starts[i + 1]]`` belong to query i."""
    grades: Ints
    """Negative where a document was pooled but not judged."""
    ranks: Ints
    """1 is the top; 0 where the document was not retrieved."""
    retrieved: Ints
    """How many documents the run returns, per query."""
    in_run: Bools
    """Whether the run has the query."""
    not_judged: int = 0
    """How many queries of the run have no judgments."""
    chunks: Chunks | None = None
    """The hits before they were collapsed to judged units; None for plain runs."""
    unanswerable: Bools | None = None
    """Whether the right answer to the query is no answer; None if there is no such query."""
    failed: Bools | None = None
    """Whether the system failed on the query, so that an empty list is not an answer; None if it failed on none."""
    evidence: Evidence | None = None
    """The traces, for measures that look at them; None if there are none."""

    def __post_init__(self) -> None:
        _freeze(self.starts, self.grades, self.ranks, self.retrieved, self.in_run)

    @cached_property
    def query(self) -> Ints:
        """The index of the query, for each judged document."""
        return np.repeat(np.arange(len(self.queries)), np.diff(self.starts))

    @cached_property
    def hits(self) -> Hits:
        """The judged documents that were retrieved, in ranking order."""
        rows = np.flatnonzero((self.ranks > 0) & (self.grades >= 0))
        query, rank = self.query[rows], self.ranks[rows]
        order = np.lexsort((rank, query))
        return Hits(query=query[order], rank=rank[order], grade=self.grades[rows][order], queries=len(self.queries))

    @property
    def answered(self) -> Bools:
        """Whether the system answered the query, be it with an empty list."""
        return self.in_run if self.failed is None else self.in_run & ~self.failed

    def relevant(self, rel: int) -> Ints:
        """Count the documents that are relevant at grade ``rel``, per query; most measures ask for the same."""
        if rel not in self._relevant:
            self._relevant[rel] = self.count(self.query[(self.grades >= rel) & (self.grades >= 0)])
            _freeze(self._relevant[rel])
        return self._relevant[rel]

    @cached_property
    def _relevant(self) -> dict[int, Ints]:
        return {}

    def count(self, query: Ints) -> Ints:
        """Count how often each query occurs."""
        return np.bincount(query, minlength=len(self.queries))

    def depth(self, cutoff: int | None) -> Ints:
        """Return the number of documents retrieved down to the cut-off, per query."""
        return self.retrieved if cutoff is None else np.minimum(self.retrieved, cutoff)

    def top(self, depth: int) -> Alignment:
        """Return the alignment without the documents below rank ``depth``."""
        ranks = np.where(self.ranks > depth, 0, self.ranks)
        return replace(self, ranks=ranks, retrieved=np.minimum(self.retrieved, depth))

    def unjudged(self, cutoff: int | None) -> Hits:
        """Return the documents down to the cut-off that have no judgment, in ranking order, with grade 0."""
        depth = self.depth(cutoff)
        firsts = np.cumsum(depth) - depth
        free = np.ones(int(depth.sum()), np.bool_)
        hits = self.hits.top(cutoff)
        free[firsts[hits.query] + hits.rank - 1] = False
        places = np.flatnonzero(free)
        query = np.repeat(np.arange(len(self.queries)), depth)[places]
        rank = places - firsts[query] + 1
        return Hits(query=query, rank=rank, grade=np.zeros(len(query), np.int64), queries=len(self.queries))

    def judge(self, query: Ints, rank: Ints, grade: int | Ints) -> Alignment:
        """Return the alignment with one more judgment for each query and rank; rank 0 is a document not retrieved.

        The queries are in ascending order, and the documents at these ranks have no judgment. All get one grade, or
        each its own.
        """
        at = self.starts[query + 1]
        # A document that was pooled and not judged has a row already, which must not be counted twice.
        ranks = np.where(self.grades < 0, 0, self.ranks)
        return replace(
            self,
            starts=self.starts + np.concatenate([[0], np.cumsum(self.count(query))]),
            grades=np.insert(self.grades, at, grade),
            ranks=np.insert(ranks, at, rank),
        )

    @cached_property
    def judged_only(self) -> Alignment:
        """The alignment without unjudged documents; those below them move up."""
        ranks = np.zeros_like(self.ranks)
        rows = np.flatnonzero((self.ranks > 0) & (self.grades >= 0))
        order = rows[np.lexsort((self.ranks[rows], self.query[rows]))]
        hits = self.hits
        ranks[order] = hits.ordinal + 1
        return replace(self, ranks=ranks, retrieved=self.count(hits.query))


@dataclass(frozen=True, kw_only=True)
class Chunks:
    """The chunks that a system returned, and the gold text, cut into pieces that a chunk holds whole or not at all.

    Sizes are in bytes. Ranks here count chunks; in an alignment they count judged units.
    """

    query: Ints
    """The index of the query, for each chunk."""
    rank: Ints
    size: Ints
    """0 where the size is unknown; see ``unsized``."""
    repeats: Bools
    """Whether a chunk counts only for units that a chunk above it counts for already."""
    gold_query: Ints
    """The index of the query, for each piece of gold."""
    gold_size: Ints
    gold_grade: Ints
    gold_rank: Ints
    """The rank of the first chunk that holds the piece; 0 where none does."""
    unsized: Ints
    """The rank of the first chunk of unknown size, per query; 0 where all sizes are known."""
    unplaced: Ints
    """The rank of the first chunk whose gold is unknown, per query; 0 where all are known."""

    def __post_init__(self) -> None:
        _freeze(self.query, self.rank, self.size, self.repeats, self.unsized, self.unplaced)
        _freeze(self.gold_query, self.gold_size, self.gold_grade, self.gold_rank)


@dataclass(frozen=True, kw_only=True)
class Hits:
    """Judged documents in ranking order, query after query."""

    query: Ints
    rank: Ints
    grade: Ints
    queries: int

    def where(self, mask: Bools) -> Hits:
        """Return the hits that a mask selects."""
        if mask.all():
            return self
        return Hits(query=self.query[mask], rank=self.rank[mask], grade=self.grade[mask], queries=self.queries)

    def top(self, cutoff: int | None) -> Hits:
        """Return the hits down to the cut-off."""
        return self if cutoff is None else self.where(self.rank <= cutoff)

    def relevant(self, rel: int) -> Hits:
        """Return the hits that are relevant at grade ``rel``; most measures ask for the same."""
        if rel not in self._relevant:
            self._relevant[rel] = self.where(self.grade >= rel)
        return self._relevant[rel]

    @cached_property
    def _relevant(self) -> dict[int, Hits]:
        return {}

    @cached_property
    def ordinal(self) -> Ints:
        """The number of each hit within its query, from 0."""
        counts = np.bincount(self.query, minlength=self.queries)
        firsts = np.cumsum(counts) - counts
        return np.arange(len(self.query)) - firsts[self.query]

    def count(self) -> Ints:
        """Count the hits, per query."""
        return np.bincount(self.query, minlength=self.queries)

    def total(self, weights: Floats) -> Floats:
        """Sum one weight per hit, per query, from the top of the ranking down, as trec_eval does."""
        sums: Floats = np.bincount(self.query, weights=weights, minlength=self.queries).astype(np.float64, copy=False)
        return sums

    def levels(self) -> Iterator[Ints]:
        """Yield the indices of all first hits, then of all second hits, and so on.

        A measure in which each hit depends on those above it can walk down all rankings at once, with one array
        operation per level, and still add in rank order.
        """
        return _group(self.ordinal)

    def levels_from_bottom(self) -> Iterator[Ints]:
        """Yield the indices of all last hits, then of all that stand above them, and so on."""
        return _group(self.count()[self.query] - 1 - self.ordinal)


@dataclass(frozen=True, kw_only=True)
class Unjudged:
    """Documents that could have any grade, because nobody judged them."""

    hits: Hits
    """Those that the ranking has, down to the cut-off."""
    others: Ints
    """How many there are besides, which another ranking has, per query."""
    grade: int
    """The highest grade that they could have; it is relevant."""


@dataclass(frozen=True, kw_only=True)
class Pool:
    """The documents down to a cut-off of two rankings that nobody judged, of queries whose rankings differ there."""

    query: Ints
    """The index of the query, in ascending order."""
    first: Ints
    """The rank in the first ranking; 0 if it is not there."""
    second: Ints


def _group(numbers: Ints) -> Iterator[Ints]:
    """Yield the indices of all numbers 0, then of all numbers 1, and so on."""
    order = np.argsort(numbers, kind="stable")
    for start, end in pairwise(np.concatenate([[0], np.cumsum(np.bincount(numbers))])):
        yield order[start:end]


def _freeze(*arrays: NDArray[Any]) -> None:
    for array in arrays:
        array.setflags(write=False)


def align(judgments: Judgments, run: Mapping[str, Mapping[str, float]]) -> Alignment:
    """Find the rank of every judged document in ``{query: {document: score}}``.

    Documents are ordered by score, descending, in double precision. Equal scores are ordered by document id,
    descending as bytes, which for text is the order of code points.

    >>> judgments = Judgments.from_dicts({"q1": {"a": 1, "b": 0, "z": 1}})
    >>> align(judgments, {"q1": {"a": 0.5, "b": 0.5, "c": 0.9}}).ranks.tolist()
    [3, 2, 0]
    """
    ranks = np.zeros(len(judgments.grades), np.int64)
    retrieved = np.zeros(len(judgments.queries), np.int64)
    in_run = np.zeros(len(judgments.queries), np.bool_)
    for i, (query, start, end) in enumerate(judgments.spans()):
        scored = run.get(query)
        if scored is None:
            continue
        in_run[i] = True
        retrieved[i] = len(scored)
        rows = [j for j in range(start, end) if judgments.documents[j] in scored]
        if rows:
            ranks[rows] = _ranks([judgments.documents[j] for j in rows], scored)
    not_judged = len(run) - int(in_run.sum())
    return judgments.alignment(ranks=ranks, retrieved=retrieved, in_run=in_run, not_judged=not_judged)


def _ranks(wanted: list[str], scored: Mapping[str, float]) -> Ints:
    """Return 1 + the number of documents with a higher score, or the same score and a greater id, for each document."""
    if len(scored) <= _FEW:
        order = sorted(zip(map(float, scored.values()), scored, strict=True), reverse=True)
        place = {document: rank for rank, (_, document) in enumerate(order, 1)}
        return np.array([place[document] for document in wanted], np.int64)
    scores = np.fromiter(scored.values(), np.float64, len(scored))
    own = np.array([scored[document] for document in wanted], np.float64)
    ascending = np.sort(scores)
    higher = len(scores) - np.searchsorted(ascending, own, "right")
    tied = len(scores) - np.searchsorted(ascending, own, "left") - higher
    ranks: Ints = higher + 1
    if (tied > 1).any():
        blocks: dict[float, list[str]] = {score: [] for score in own[tied > 1].tolist()}
        for document, score in scored.items():
            if float(score) in blocks:
                blocks[float(score)].append(document)
        place = {document: j for block in blocks.values() for j, document in enumerate(sorted(block, reverse=True))}
        ranks += [place.get(document, 0) for document in wanted]
    return ranks
