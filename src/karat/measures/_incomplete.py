"""Measures for incomplete judgments, and measures of how incomplete they are."""

from __future__ import annotations

import numpy as np

from karat.core import Floats
from karat.measures._alignment import Alignment, Bools, Ints
from karat.measures._measure import REL, measure, ratio

_EPSILON = 0.00001  # trec_eval's smoothing of the inferred precision


@measure("Bpref", REL, aliases=("binary_preference",), cutoff="none")
def bpref(a: Alignment, k: None, *, rel: int) -> Floats:
    """Binary preference: how seldom a judged non-relevant document is ranked above a relevant one.

    Formula: (1 / R) sum over retrieved relevant documents of 1 - min(n, R) / min(N, R), n = judged non-relevant
        documents above it, N = all of them, R = all relevant documents
    Range: 0 to 1
    Convention: unjudged documents are left out; undefined without relevant documents
    Citation: Buckley and Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004

    >>> import karat
    >>> karat.score({"q": {"a": 1, "b": 1, "x": 0}}, {"q": {"a": 3, "x": 2, "b": 1}}, ["Bpref"]).mean()
    {'Bpref': 0.5}
    """
    relevant = a.relevant(rel)
    nonrelevant = a.relevant(0) - relevant
    good = a.hits.grade >= rel
    above = (a.hits.ordinal - _before(a, good))[good]
    hits = a.hits.where(good)
    most = np.minimum(nonrelevant, relevant)[hits.query]
    lost = np.minimum(above, relevant[hits.query]) / np.maximum(most, 1)
    return ratio(hits.total(np.where(above > 0, 1 - lost, 1.0)), relevant)


@measure("GBpref", REL, aliases=("gm_bpref",), cutoff="none", aggregate="geometric", low=0.00001)
def geometric_bpref(a: Alignment, k: None, *, rel: int) -> Floats:
    """Geometric bpref: the geometric mean of Bpref.

    Formula: exp((1 / n) sum over queries of ln max(Bpref, 0.00001))
    Range: 0.00001 to 1
    Convention: the per-query value is Bpref itself; the floor is trec_eval's
    Citation: Robertson, On GMAP and other transformations, CIKM 2006

    >>> import karat
    >>> karat.score({"q": {"a": 1, "x": 0}}, {"q": {"a": 3, "x": 2}}, ["GBpref"]).mean()
    {'GBpref': 1.0}
    """
    return bpref(a, k, rel=rel)


@measure("infAP", REL, aliases=("inferred_ap",), cutoff="none")
def inferred_average_precision(a: Alignment, k: None, *, rel: int) -> Floats:
    """Inferred average precision: AP estimated from a pool of which only a random sample was judged.

    Formula: (1 / R) sum over retrieved relevant documents at rank r of 1 / r + ((r - 1) / r) (pool / (r - 1))
        ((rel + e) / (rel + nonrel + 2e)), where pool, rel and nonrel count what stands above: in the pool, judged
        relevant, judged not relevant; e = 0.00001
    Range: 0 to 1
    Convention: a negative grade marks a document that was pooled but not judged; undefined without relevant
        documents
    Citation: Yilmaz and Aslam, Estimating average precision with incomplete and imperfect judgments, CIKM 2006

    >>> import karat
    >>> karat.score({"q": {"a": 1, "x": 0}}, {"q": {"a": 3, "x": 2}}, ["infAP"]).mean()
    {'infAP': 1.0}
    """
    hits = a.hits
    good = hits.grade >= rel
    before = _before(a, good)
    retrieved, relevant_above, judged_above = hits.where(good), before[good], hits.ordinal[good]
    pool = judged_above + _pooled_above(a)[good]
    r = retrieved.rank.astype(np.float64)
    inferred = (relevant_above + _EPSILON) / (judged_above + 2 * _EPSILON)
    # (r - 1) / r * pool / (r - 1), in trec_eval's order of operations so that sums agree to the last bit.
    above = np.maximum(r - 1, 1)
    share = (above / r) * (pool / above) * inferred
    return ratio(retrieved.total(np.where(r > 1, 1 / r + share, 1.0)), a.relevant(rel))


@measure("Judged", undefined="nothing retrieved", unjudged="counted")
def judged(a: Alignment, k: int | None) -> Floats:
    """Judged: the share of the top k that has a judgment. Low values make every other measure doubtful.

    Formula: Judged@k = |judged documents in the top k| / |documents in the top k|
    Range: 0 to 1
    Convention: divided by what was returned, at most k; undefined when nothing was returned
    Citation: MacAvaney, Macdonald and Ounis, Streamlining evaluation with ir-measures, ECIR 2022

    >>> import karat
    >>> karat.score({"q": {"a": 1, "b": 0}}, {"q": {"a": 3, "b": 2, "x": 1, "y": 0}}, ["Judged@10"]).mean()
    {'Judged@10': 0.5}
    """
    return ratio(a.hits.top(k).count(), a.depth(k))


@measure(
    "Unjudged",
    aliases=("num_unjudged",),
    aggregate="sum",
    higher_is_better=None,
    queries="all",
    high=None,
    unjudged="counted",
)
def unjudged(a: Alignment, k: int | None) -> Floats:
    """Unjudged: the number of documents in the top k without a judgment.

    Formula: |documents in the top k| - |judged documents in the top k|
    Range: 0 to k
    Convention: the total over queries is a sum
    Citation: a count

    >>> import karat
    >>> karat.score({"q": {"a": 1}}, {"q": {"a": 3, "x": 1}}, ["Unjudged@10"]).sum("Unjudged@10")
    1.0
    """
    return (a.depth(k) - a.hits.top(k).count()).astype(np.float64)


@measure("Hole", cutoff="required", undefined="nothing retrieved", higher_is_better=False, unjudged="counted")
def hole(a: Alignment, k: int) -> Floats:
    """Hole: the share of k ranks that hold an unjudged document.

    Formula: Hole@k = |unjudged documents in the top k| / k
    Range: 0 to 1, lower is better
    Convention: divided by k; undefined when nothing was returned. Unjudged means for this query, as in the paper;
        BEIR's own code takes a document for judged when it was judged for any query
    Citation: Thakur et al., BEIR, NeurIPS Datasets and Benchmarks 2021

    >>> import karat
    >>> karat.score({"q": {"a": 1}}, {"q": {"a": 3, "x": 1}}, ["Hole@10"]).mean()
    {'Hole@10': 0.1}
    """
    return np.where(a.retrieved > 0, unjudged(a, k) / k, np.nan)


def _before(a: Alignment, mask: Bools) -> Ints:
    """Return, for each hit, the number of hits above it in its query for which ``mask`` holds."""
    running: Ints = np.cumsum(mask) - mask
    counts = a.hits.count()
    firsts = np.cumsum(counts) - counts
    padded = np.append(running, 0)
    before: Ints = running - padded[firsts][a.hits.query]
    return before


def _pooled_above(a: Alignment) -> Ints:
    """Return, for each hit, the number of documents above it that were pooled but not judged."""
    pooled = np.flatnonzero((a.grades < 0) & (a.ranks > 0))
    if not len(pooled):
        return np.zeros(len(a.hits.query), np.int64)
    longest = int(a.retrieved.max()) + 1
    keys = np.sort(a.query[pooled] * longest + a.ranks[pooled])
    start = np.searchsorted(keys, a.hits.query * longest)
    above: Ints = np.searchsorted(keys, a.hits.query * longest + a.hits.rank) - start
    return above
