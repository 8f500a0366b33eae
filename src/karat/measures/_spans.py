"""Measures of the returned text, byte by byte, which need hits and judgments with spans."""

from __future__ import annotations

import numpy as np

from karat.core import Floats
from karat.measures._alignment import Alignment, Bools, Chunks, Ints
from karat.measures._measure import NO_SPANS, REL, measure, ratio

NO_CHUNKS = "no chunks returned"


@measure("SpanR", REL, aliases=("span_recall",), undefined=NO_SPANS)
def span_recall(a: Alignment, k: int | None, *, rel: int) -> Floats:
    """Span recall: the share of the relevant text that the top k chunks hold.

    Formula: SpanR@k = |bytes of relevant spans in the top k chunks| / |bytes of relevant spans|
    Range: 0 to 1
    Convention: k counts chunks as they were returned, whatever the unit; a byte counts once, however many chunks or
        judgments have it (Chroma counts characters, and those of overlapping judgments twice in the denominator);
        judgments of whole documents do not count; undefined without relevant spans, and where a chunk has no span
    Citation: Smith and Troynikov, Evaluating chunking strategies for retrieval, Chroma, 2024

    >>> from karat import GoldenSet, Hit, Judgment, Span, Target, score_hits
    >>> gold = Judgment(query="q", target=Target(document="wifi", span=Span(0, 10)), grade=3)
    >>> hits = {"q": [Hit("wifi:chunk:0", 2.0, span=Span(4, 24)), Hit("spa:chunk:7", 1.0, span=Span(0, 40))]}
    >>> score_hits(GoldenSet(judgments=(gold,)), hits, ["SpanR@5"]).mean()
    {'SpanR@5': 0.6}
    """
    chunks = a.chunks
    if chunks is None:
        return np.full(len(a.queries), np.nan)
    held, gold = _held(a, chunks, rel, k), _gold(a, chunks, rel)
    return np.where(_reaches(chunks.unplaced, k), np.nan, ratio(held, gold))


@measure("SpanP", REL, aliases=("span_precision",), undefined=NO_SPANS)
def span_precision(a: Alignment, k: int | None, *, rel: int) -> Floats:
    """Span precision: the share of the returned text that is relevant.

    Formula: SpanP@k = |bytes of relevant spans in the top k chunks| / sum of the sizes of the top k chunks
    Range: 0 to 1
    Convention: as for SpanR; text that two chunks share counts once in the numerator and twice in the denominator, so
        that overlap lowers the value; 0 when nothing was returned. For the run that returns all chunks
        with relevant text, and no other, it is Chroma's precision omega where chunks do not overlap (and none ends
        just where relevant text begins, or begins where it ends: Chroma counts these too)
    Citation: Smith and Troynikov, Evaluating chunking strategies for retrieval, Chroma, 2024

    >>> from karat import GoldenSet, Hit, Judgment, Span, Target, score_hits
    >>> gold = Judgment(query="q", target=Target(document="wifi", span=Span(0, 10)), grade=3)
    >>> hits = {"q": [Hit("wifi:chunk:0", 2.0, span=Span(4, 24)), Hit("spa:chunk:7", 1.0, span=Span(0, 40))]}
    >>> score_hits(GoldenSet(judgments=(gold,)), hits, ["SpanP@5"]).mean()
    {'SpanP@5': 0.1}
    """
    chunks = a.chunks
    if chunks is None:
        return np.full(len(a.queries), np.nan)
    share = np.nan_to_num(ratio(_held(a, chunks, rel, k), _returned(a, chunks, k)))
    return np.where(_unknown(a, chunks, rel, k), np.nan, share)


@measure("SpanIoU", REL, aliases=("span_iou",), undefined=NO_SPANS)
def span_iou(a: Alignment, k: int | None, *, rel: int) -> Floats:
    """Span IoU: the relevant text that was returned, divided by all text that is relevant or was returned.

    Formula: SpanIoU@k = found / (returned + gold - found), where found / gold is SpanR@k and found / returned SpanP@k
    Range: 0 to 1
    Convention: as for SpanP; overlap lowers the value, as with Chroma, so that it is the Jaccard index only for chunks
        that do not overlap
    Citation: Smith and Troynikov, Evaluating chunking strategies for retrieval, Chroma, 2024

    >>> from karat import GoldenSet, Hit, Judgment, Span, Target, score_hits
    >>> gold = Judgment(query="q", target=Target(document="wifi", span=Span(0, 10)), grade=3)
    >>> hits = {"q": [Hit("wifi:chunk:0", 2.0, span=Span(4, 20))]}
    >>> score_hits(GoldenSet(judgments=(gold,)), hits, ["SpanIoU@5"]).mean()
    {'SpanIoU@5': 0.3}
    """
    chunks = a.chunks
    if chunks is None:
        return np.full(len(a.queries), np.nan)
    held = _held(a, chunks, rel, k)
    union = _returned(a, chunks, k) + _gold(a, chunks, rel) - held
    return np.where(_unknown(a, chunks, rel, k), np.nan, ratio(held, union))


@measure("DupRate", aliases=("duplicate_rate",), undefined=NO_CHUNKS, higher_is_better=False, unjudged="independent")
def duplicate_rate(a: Alignment, k: int | None) -> Floats:
    """Duplicate rate: the share of the top k chunks that add nothing to the chunks above them.

    Formula: DupRate@k = |chunks in the top k that only repeat units of chunks above them| / |chunks in the top k|
    Range: 0 to 1, lower is better
    Convention: depends on the unit: a second chunk of a document, or of a judged target, is a duplicate, and is dropped
        before any other measure; undefined where nothing was returned, and for plain runs, in which no document can
        appear twice
    Citation: a share

    >>> from karat import GoldenSet, Hit, Judgment, Target, score_hits
    >>> gold = Judgment(query="q", target=Target(document="wifi"), grade=3)
    >>> hits = {"q": [Hit("wifi:chunk:0", 4.0), Hit("wifi:chunk:7", 3.0), Hit("spa:chunk:0", 2.0), Hit("gym", 1.0)]}
    >>> score_hits(GoldenSet(judgments=(gold,)), hits, ["DupRate", "R@1"]).mean()
    {'DupRate': 0.25, 'R@1': 1.0}
    """
    chunks = a.chunks
    if chunks is None:
        return np.full(len(a.queries), np.nan)
    top = _top(chunks.rank, k)
    return ratio(a.count(chunks.query[top & chunks.repeats]), a.count(chunks.query[top]))


def _gold(a: Alignment, chunks: Chunks, rel: int) -> Floats:
    """Return the number of relevant bytes, per query."""
    relevant = chunks.gold_grade >= rel
    return _total(a, chunks.gold_query[relevant], chunks.gold_size[relevant])


def _held(a: Alignment, chunks: Chunks, rel: int, k: int | None) -> Floats:
    """Return the number of relevant bytes in the top k chunks, per query."""
    mask = (chunks.gold_grade >= rel) & _reaches(chunks.gold_rank, k)
    return _total(a, chunks.gold_query[mask], chunks.gold_size[mask])


def _returned(a: Alignment, chunks: Chunks, k: int | None) -> Floats:
    """Return the total size of the top k chunks, per query."""
    top = _top(chunks.rank, k)
    return _total(a, chunks.query[top], chunks.size[top])


def _unknown(a: Alignment, chunks: Chunks, rel: int, k: int | None) -> Bools:
    """Return for which queries there is no relevant text, or the size of the returned text is unknown."""
    nothing: Bools = _gold(a, chunks, rel) == 0
    return nothing | _reaches(chunks.unsized, k)  # a chunk without a place has no size either


def _total(a: Alignment, query: Ints, size: Ints) -> Floats:
    # As float64, sums of bytes are exact up to 9 petabytes.
    return np.bincount(query, weights=size, minlength=len(a.queries)).astype(np.float64, copy=False)


def _top(rank: Ints, k: int | None) -> Bools:
    return np.ones(len(rank), np.bool_) if k is None else rank <= k


def _reaches(first: Ints, k: int | None) -> Bools:
    """Return whether a rank is within the top k; 0 is the rank of no chunk."""
    return (first > 0) & _top(first, k)
