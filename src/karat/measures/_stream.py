"""Alignment of large runs: streamed in pieces that stay in the processor's cache.

Each piece holds whole queries. Only the ranks of its judged documents are kept, so memory does not grow with the run.
Rows are joined on 64-bit hashes of (query, document), and the ids of the matches are then compared.
docs/decisions/0002-scoring-engine.md has the measurements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from karat.core import Floats
from karat.measures._alignment import Alignment, Bools, Ints, Judgments
from karat.measures._columns import Kind, duplicate

Frames = Callable[[], Iterator[pl.DataFrame]]
"""Starts reading from the beginning; yields tables with columns ``query``, ``document``, ``value``, in file order."""

Hashes = NDArray[np.uint64]
T = TypeVar("T")

ROWS = 250_000
"""Rows per piece: few enough that memory is used again and not asked for, and enough that the calls cost little."""


_DOCUMENT_SEED, _QUERY_SEED = 0, 1


class NotUnderstood(Exception):
    """The text is too irregular for the fast reader; the exact one reads it, or says what is wrong."""


class _Interleaved(Exception):
    """A query comes back after another one, so that its rows must be brought together first."""


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Whole queries of a run, checked and ready to be joined with judgments."""

    queries: list[str]
    starts: Ints
    """The row at which each query begins."""
    documents: pl.Series
    keys: Hashes
    """A hash of (query, document), row by row."""
    scores: Floats


def with_pieces(frames: Frames, source: str, use: Callable[[Iterator[Piece]], T]) -> T:
    """Check a streamed run, pass it to ``use`` in pieces of whole queries, and return the result."""
    try:
        return use(_pieces(frames(), source))
    except _Interleaved:
        together = pl.concat(list(frames())).sort("query", maintain_order=True)
        return use(_pieces(together.iter_slices(ROWS), source))


def block_starts(query: pl.Series) -> Ints:
    """Return the rows at which a new query begins."""
    if not len(query):
        return np.empty(0, np.int64)
    lengths = query.rle().struct.field("len").to_numpy()
    starts: Ints = np.cumsum(lengths, dtype=np.int64) - lengths
    return starts


def _whole_queries(frames: Iterable[pl.DataFrame]) -> Iterator[tuple[pl.DataFrame, Ints]]:
    """Yield pieces that end where a query does, each with the rows at which its queries begin."""
    held: list[pl.DataFrame] = []
    begins: list[Ints] = []
    size = 0
    for frame in frames:
        if not len(frame):
            continue
        starts = block_starts(frame["query"])
        continues = bool(held) and held[-1]["query"][-1] == frame["query"][0]
        begins.append((starts[1:] if continues else starts) + size)
        held.append(frame)
        size += len(frame)
        if size < ROWS // 2:
            continue
        whole, starts = pl.concat(held), np.concatenate(begins)
        last = int(starts[-1])  # more rows of this query may come
        if last:
            yield whole[:last], starts[:-1]
        held, begins, size = [whole[last:]], [np.zeros(1, np.int64)], size - last
    if held:
        yield pl.concat(held), np.concatenate(begins)


def _pieces(frames: Iterable[pl.DataFrame], source: str) -> Iterator[Piece]:
    seen: set[str] = set()
    for frame, starts in _whole_queries(frames):
        names = frame["query"].gather(starts)
        queries = names.to_list()
        before = len(seen)
        seen.update(queries)
        if len(seen) < before + len(queries):
            raise _Interleaved
        sizes = np.diff(starts, append=len(frame))
        keys = hashes(frame["document"], _DOCUMENT_SEED) ^ np.repeat(hashes(names, _QUERY_SEED), sizes)
        refuse_duplicates(frame, keys, sizes, "run", source)
        scores = frame["value"].to_numpy()
        if not np.isfinite(scores).all():  # text only: tables were checked when they were cast
            raise NotUnderstood
        yield Piece(queries=queries, starts=starts, documents=frame["document"], keys=keys, scores=scores)


def align_pieces(judgments: Judgments, pieces: Iterable[Piece]) -> Alignment:
    """Find the rank of every judged document in a streamed run, as :func:`align` does."""
    index = _Index(judgments)
    number = {query: i for i, query in enumerate(judgments.queries)}
    ranks = np.zeros(len(judgments.grades), np.int64)
    retrieved = np.zeros(len(judgments.queries), np.int64)
    in_run = np.zeros(len(judgments.queries), np.bool_)
    not_judged = 0
    for piece in pieces:
        numbers = np.array([number.get(query, -1) for query in piece.queries], np.int64)
        judged = numbers >= 0
        retrieved[numbers[judged]] = np.diff(piece.starts, append=len(piece.keys))[judged]
        in_run[numbers[judged]] = True
        not_judged += int((~judged).sum())
        rows, pairs = index.match(piece, numbers[judged])
        block = np.searchsorted(piece.starts, rows, "right") - 1
        own = numbers[block] == index.query[pairs]
        rows, pairs, block = rows[own], pairs[own], block[own]
        if len(rows):
            ranks[pairs] = _places(rows, piece) - piece.starts[block]
    return judgments.alignment(ranks=ranks, retrieved=retrieved, in_run=in_run, not_judged=not_judged)


class _Index:
    """The judged pairs, by their query and their key."""

    def __init__(self, judgments: Judgments) -> None:
        self.query = np.repeat(np.arange(len(judgments.queries)), np.diff(judgments.starts))
        self._starts = judgments.starts
        self._documents = pl.Series(judgments.documents, dtype=pl.String)
        salts = hashes(pl.Series(judgments.queries, dtype=pl.String), _QUERY_SEED)
        self._keys = hashes(self._documents, _DOCUMENT_SEED) ^ salts[self.query]

    def match(self, piece: Piece, queries: Ints) -> tuple[Ints, Ints]:
        """Return the rows that hold a judged document, and the pair of each; ``queries`` are those of the piece."""
        pairs = self._list_pairs(queries)
        pairs = pairs[np.argsort(self._keys[pairs])]
        keys = self._keys[pairs]
        if (keys[1:] == keys[:-1]).any():  # two pairs with one hash: once in a billion sets of judgments
            raise NotUnderstood
        rows = _find_candidates(piece.keys, keys)
        wanted = piece.keys[rows]
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        same = keys[place] == wanted
        rows, pairs = rows[same], pairs[place[same]]
        same_document = (piece.documents.gather(rows) == self._documents.gather(pairs)).to_numpy()
        return rows[same_document], pairs[same_document]

    def _list_pairs(self, queries: Ints) -> Ints:
        """Return the pairs of some queries."""
        starts = self._starts[queries]
        sizes = self._starts[queries + 1] - starts
        pairs: Ints = np.arange(sizes.sum()) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
        return pairs


def _find_candidates(keys: Hashes, judged: Hashes) -> Ints:
    """Return the rows whose keys may be among those that are judged, and few others.

    Most rows are judged for no query: a table of the first bits of keys, which stays in the cache, drops them.
    """
    bits = len(judged).bit_length() + 5
    shift = np.uint64(64 - bits)
    maybe = np.zeros(1 << bits, np.bool_)
    maybe[judged >> shift] = True
    # A shifted key is the same number when read as signed, and NumPy can index with it as it is.
    return np.flatnonzero(maybe.take((keys >> shift).view(np.int64), mode="wrap"))


def refuse_duplicates(frame: pl.DataFrame, keys: Hashes, sizes: Ints, kind: Kind, source: str) -> None:
    """Raise an error if a document appears twice for a query; ``keys`` are hashes of the documents."""
    if not _any_twice(keys, sizes):
        return
    repeated = frame.select("query", "document").is_duplicated()
    if repeated.any():
        row = frame.row(repeated.arg_max() or 0)
        raise duplicate(kind, row[0], row[1], source, None)


def _any_twice(keys: Hashes, sizes: Ints) -> bool:
    """Return whether a key may appear twice within a query. False is certain, True is not."""
    width = int(sizes.max())
    if width * len(sizes) <= 2 * len(keys):
        # Many short rows of half keys sort ten times faster than one long row of keys.
        halves = keys.astype(np.uint32)
        if width * len(sizes) == len(keys):
            grid = halves.reshape(len(sizes), width)
        else:
            grid = np.empty((len(sizes), width), np.uint32)
            grid[:] = np.arange(width)
            grid[np.arange(width) < sizes[:, None]] = halves
        grid.sort(axis=1)
        if not (grid[:, 1:] == grid[:, :-1]).any():
            return False
    ordered = np.sort(keys)
    return bool((ordered[1:] == ordered[:-1]).any())


def hashes(column: pl.Series, seed: int) -> Hashes:
    """Return a 64-bit hash of each value."""
    return column.hash(seed).to_numpy()


def _places(rows: Ints, piece: Piece) -> Ints:
    """Return the places of some rows, from 1, after ordering each query's rows by score, then id, both descending."""
    starts, scores = piece.starts, piece.scores
    between = starts[1:] - 1  # a query's last row and the next one's first are not compared
    rises = scores[1:] > scores[:-1]
    rises[between] = False
    order: Ints | None = None
    at = rows
    if rises.any():
        order = np.lexsort((-scores, np.repeat(np.arange(len(starts)), np.diff(starts, append=len(scores)))))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        at, scores = place[rows], scores[order]
    ties = scores[1:] == scores[:-1]
    ties[between] = False
    padded = np.concatenate([[False], ties, [False]])
    tied = np.flatnonzero(padded[at] | padded[at + 1])
    places = at + 1
    if len(tied):
        places[tied] = _break_ties(at[tied], ties, order, piece.documents) + 1
    return places


def _break_ties(at: Ints, ties: Bools, order: Ints | None, documents: pl.Series) -> Ints:
    """Order by id each group of equal scores that holds a judged document; return the new places of ``at``."""
    like_next = np.flatnonzero(ties)
    gaps = np.flatnonzero(np.diff(like_next) > 1)
    last = like_next[np.append(gaps, len(like_next) - 1)] + 1
    groups, member = np.unique(np.searchsorted(last, at), return_inverse=True)
    first = like_next[np.append(0, gaps + 1)][groups]
    sizes = last[groups] - first + 1
    offsets = np.cumsum(sizes) - sizes
    places = np.arange(sizes.sum()) + np.repeat(first - offsets, sizes)
    ids = documents.gather(places if order is None else order[places]).to_list()
    place: dict[tuple[int, str], int] = {}
    for g, (start, size) in enumerate(zip(offsets.tolist(), sizes.tolist(), strict=True)):
        place.update(((g, id_), i) for i, id_ in enumerate(sorted(ids[start : start + size], reverse=True)))
    own = at - first[member] + offsets[member]
    new = [place[g, ids[i]] for g, i in zip(member.tolist(), own.tolist(), strict=True)]
    places_by_id: Ints = first[member] + np.array(new, np.int64)
    return places_by_id
