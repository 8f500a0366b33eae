"""Where the judged documents stand in a ranking: all that any measure needs to know.

No measure looks at a document that nobody judged, only at how many there are and where the judged ones stand between
them. So documents are never sorted: each judged document gets its rank, and everything else is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from karat.core import Floats

Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Judgments:
    """Who judged what: queries in byte order, and for each its documents with their grades.

    ``documents[starts[i]:starts[i + 1]]`` are those of ``queries[i]``. A negative grade means that the document was
    in the pool and not judged.
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
        """Build from ``{query: {document: grade}}``; a query without documents is one with nothing to find."""
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
        """Put a run's ranks beside the grades."""
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
        """Give each query with the range of its documents."""
        bounds = pairwise(self.starts.tolist())
        return ((query, start, end) for query, (start, end) in zip(self.queries, bounds, strict=True))


@dataclass(frozen=True, kw_only=True)
class Alignment:
    """A run seen from its judgments: the rank of every judged document."""

    queries: tuple[str, ...]
    starts: Ints
    """``grades[starts[i]:starts[i + 1]]`` belong to query i."""
    grades: Ints
    """Negative: in the pool, and not judged."""
    ranks: Ints
    """1 is the top; 0 where the document was not retrieved."""
    retrieved: Ints
    """How many documents the run gives, per query."""
    in_run: Bools
    """Whether the run has the query."""
    not_judged: int = 0
    """How many queries of the run have no judgments."""
    chunks: Chunks | None = None
    """What was returned before it was collapsed to what is judged, where that is known."""

    def __post_init__(self) -> None:
        _freeze(self.starts, self.grades, self.ranks, self.retrieved, self.in_run)

    @cached_property
    def query(self) -> Ints:
        """The number of the query, for each judged document."""
        return np.repeat(np.arange(len(self.queries)), np.diff(self.starts))

    @cached_property
    def hits(self) -> Hits:
        """The judged documents that were retrieved, in the order of the ranking."""
        found = np.flatnonzero((self.ranks > 0) & (self.grades >= 0))
        query, rank = self.query[found], self.ranks[found]
        order = np.lexsort((rank, query))
        return Hits(query=query[order], rank=rank[order], grade=self.grades[found][order], queries=len(self.queries))

    def relevant(self, rel: int) -> Ints:
        """Count the documents that are relevant at grade ``rel``, per query."""
        return self.count(self.query[(self.grades >= rel) & (self.grades >= 0)])

    def count(self, query: Ints) -> Ints:
        """Count how often each query occurs."""
        return np.bincount(query, minlength=len(self.queries))

    def depth(self, cutoff: int | None) -> Ints:
        """Give the number of documents retrieved down to the cut-off, per query."""
        return self.retrieved if cutoff is None else np.minimum(self.retrieved, cutoff)

    def top(self, depth: int) -> Alignment:
        """Forget every document below rank ``depth``."""
        ranks = np.where(self.ranks > depth, 0, self.ranks)
        return replace(self, ranks=ranks, retrieved=np.minimum(self.retrieved, depth))

    @cached_property
    def judged_only(self) -> Alignment:
        """Remove the unjudged documents from the ranking; those below move up."""
        ranks = np.zeros_like(self.ranks)
        found = np.flatnonzero((self.ranks > 0) & (self.grades >= 0))
        order = found[np.lexsort((self.ranks[found], self.query[found]))]
        hits = self.hits
        ranks[order] = hits.ordinal + 1
        return replace(self, ranks=ranks, retrieved=self.count(hits.query))


@dataclass(frozen=True, kw_only=True)
class Chunks:
    """What a system returned, chunk by chunk, and the text that is gold, cut into pieces that are read as a whole.

    Sizes are in bytes. Ranks here count chunks; in an alignment they count what is judged.
    """

    query: Ints
    """The number of the query, for each chunk."""
    rank: Ints
    size: Ints
    """0 where it is not known; see ``unsized``."""
    repeats: Bools
    """Whether everything that the chunk could count for stands above it."""
    gold_query: Ints
    """The number of the query, for each piece of gold."""
    gold_size: Ints
    gold_grade: Ints
    gold_rank: Ints
    """The first chunk that holds the piece; 0 where none does."""
    unsized: Ints
    """The first chunk whose size is not known, per query; 0 where all are."""
    unplaced: Ints
    """The first chunk of which it is not known what gold it holds, per query; 0 where all are."""

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
        """Keep some of the hits."""
        return Hits(query=self.query[mask], rank=self.rank[mask], grade=self.grade[mask], queries=self.queries)

    def top(self, cutoff: int | None) -> Hits:
        """Keep the hits down to the cut-off."""
        return self if cutoff is None else self.where(self.rank <= cutoff)

    def relevant(self, rel: int) -> Hits:
        """Keep the hits that are relevant at grade ``rel``."""
        return self.where(self.grade >= rel)

    @cached_property
    def ordinal(self) -> Ints:
        """Number the hits of each query from 0."""
        counts = np.bincount(self.query, minlength=self.queries)
        firsts = np.cumsum(counts) - counts
        return np.arange(len(self.query)) - firsts[self.query]

    def count(self) -> Ints:
        """Count the hits, per query."""
        return np.bincount(self.query, minlength=self.queries)

    def total(self, weights: Floats) -> Floats:
        """Add up one weight per hit, per query, from the top of the ranking down (so that sums match trec_eval's)."""
        sums: Floats = np.bincount(self.query, weights=weights, minlength=self.queries).astype(np.float64, copy=False)
        return sums

    def levels(self) -> Iterator[Ints]:
        """Give the indices of all first hits, then of all second hits, and so on.

        A measure in which each hit depends on those above it walks down all rankings at once, one array operation a
        level, and keeps the order of its additions.
        """
        order = np.argsort(self.ordinal, kind="stable")
        for start, end in pairwise(np.concatenate([[0], np.cumsum(np.bincount(self.ordinal))])):
            yield order[start:end]


def _freeze(*arrays: NDArray[Any]) -> None:
    for array in arrays:
        array.setflags(write=False)


def align(judgments: Judgments, run: Mapping[str, Mapping[str, float]], *, single: bool = False) -> Alignment:
    """Find the rank of every judged document in ``{query: {document: score}}``.

    Order is score descending, then document id descending as bytes, which for text is the order of code points.
    ``single`` compares scores in single precision, as trec_eval does.

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
        found = [j for j in range(start, end) if judgments.documents[j] in scored]
        if found:
            scores = np.fromiter(scored.values(), np.float64, len(scored))
            ranks[found] = _ranks(
                [judgments.documents[j] for j in found], scored, scores.astype(np.float32) if single else scores
            )
    not_judged = len(run) - int(in_run.sum())
    return judgments.alignment(ranks=ranks, retrieved=retrieved, in_run=in_run, not_judged=not_judged)


def _ranks(wanted: list[str], scored: Mapping[str, float], scores: NDArray[np.floating]) -> Ints:
    """Give the ranks of some documents: 1 + those with a higher score + those with the same score and a greater id."""
    own = np.array([scored[document] for document in wanted], np.float64).astype(scores.dtype)
    ascending = np.sort(scores)
    higher = len(scores) - np.searchsorted(ascending, own, "right")
    tied = len(scores) - np.searchsorted(ascending, own, "left") - higher
    ranks: Ints = higher + 1
    if (tied > 1).any():
        documents = list(scored)
        for score in np.unique(own[tied > 1]):
            block = sorted((documents[j] for j in np.flatnonzero(scores == score)), reverse=True)
            place = {document: j for j, document in enumerate(block)}
            for j in np.flatnonzero(own == score):
                ranks[j] += place[wanted[j]]
    return ranks
