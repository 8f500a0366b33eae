"""Measures of a ranking with binary relevance."""

from __future__ import annotations

import numpy as np

from karat.core import Floats, Parameter
from karat.measures._alignment import Alignment, Ints, Unjudged
from karat.measures._measure import JUDGED_ONLY, REL, ROUNDING, Bound, measure, ratio
from karat.measures._prefix import PrefixByRank


@measure("P", REL, JUDGED_ONLY, aliases=("precision",), cutoff="required", unjudged="additive")
def precision(a: Alignment, k: int, *, rel: int) -> Floats:
    """Precision: the share of the top k that is relevant.

    Formula: P@k = |relevant documents in the top k| / k
    Range: 0 to 1
    Convention: ranks below the end of a short list count as not relevant, and a query with no relevant document has
        precision 0, both as in trec_eval; SetP@k divides by what was returned instead
    Citation: van Rijsbergen, Information Retrieval, 1979, chapter 7

    >>> import karat
    >>> karat.score({"q": {"a": 1, "b": 1}}, {"q": {"a": 2, "x": 1}}, ["P@5"]).mean()
    {'P@5': 0.2}
    """
    return a.hits.relevant(rel).top(k).count() / k


@measure("R", REL, JUDGED_ONLY, aliases=("recall",), cutoff="required", unjudged="share")
def recall(a: Alignment, k: int, *, rel: int) -> Floats:
    """Recall: the share of the relevant documents that are in the top k.

    Formula: R@k = |relevant documents in the top k| / |relevant documents|
    Range: 0 to 1
    Convention: undefined without relevant documents (trec_eval gives 0)
    Citation: van Rijsbergen, Information Retrieval, 1979, chapter 7

    >>> import karat
    >>> karat.score({"q": {"a": 1, "b": 1}}, {"q": {"a": 2, "x": 1}}, ["R@5"]).mean()
    {'R@5': 0.5}
    """
    return ratio(a.hits.relevant(rel).top(k).count(), a.relevant(rel))


@measure("R_cap", REL, JUDGED_ONLY, aliases=("recall_cap", "relative_P"), cutoff="required", unjudged="share")
def capped_recall(a: Alignment, k: int, *, rel: int) -> Floats:
    """Capped recall: recall relative to the most that k ranks can hold, so that a perfect ranking always has 1.

    Formula: R_cap@k = |relevant documents in the top k| / min(k, |relevant documents|)
    Range: 0 to 1
    Convention: undefined without relevant documents; trec_eval calls it relative_P
    Citation: Thakur et al., BEIR, NeurIPS Datasets and Benchmarks 2021

    >>> import karat
    >>> karat.score({"q": {"a": 1, "b": 1, "c": 1}}, {"q": {"a": 2, "x": 1}}, ["R_cap@2"]).mean()
    {'R_cap@2': 0.5}
    """
    return ratio(a.hits.relevant(rel).top(k).count(), np.minimum(k, a.relevant(rel)))


@measure("F1", REL, JUDGED_ONLY, aliases=("f_measure",), cutoff="required", unjudged="share")
def f1(a: Alignment, k: int, *, rel: int) -> Floats:
    """F1: the harmonic mean of precision and recall at k.

    Formula: F1@k = 2 P@k R@k / (P@k + R@k) = 2 |relevant documents in the top k| / (k + |relevant documents|)
    Range: 0 to 1
    Convention: undefined without relevant documents
    Citation: van Rijsbergen, Information Retrieval, 1979, chapter 7

    >>> import karat
    >>> karat.score({"q": {"a": 1, "b": 1}}, {"q": {"a": 2, "x": 1}}, ["F1@2"]).mean()
    {'F1@2': 0.5}
    """
    relevant = a.relevant(rel)
    return ratio(2 * a.hits.relevant(rel).top(k).count(), np.where(relevant > 0, k + relevant, 0))


def bound_average_precision(a: Alignment, k: int | None, unjudged: Unjudged, *, rel: int) -> tuple[Floats, Floats]:
    """Return the lowest and the highest AP over all grades of unjudged documents, exactly.

    A relevant document more can lower AP, because there is more to find. But of any number of them the first ones are
    the best and the last ones the worst, so that it is enough to try each number.
    """
    hits, documents = a.hits.relevant(rel).top(k), unjudged.hits
    relevant, inverse = a.relevant(rel), 1 / hits.rank
    above = PrefixByRank(hits, np.ones(len(hits.rank)))(documents.query, documents.rank)
    # What the judged documents below one gain if it is relevant.
    below = hits.total(inverse)[documents.query] - PrefixByRank(hits, inverse)(documents.query, documents.rank)
    total = hits.total((hits.ordinal + 1) * inverse)
    high, low = ratio(total, relevant), ratio(total, relevant + unjudged.others)
    sums, added = total.copy(), np.zeros(len(total))
    for number, level in enumerate(documents.levels(), 1):
        query = documents.query[level]
        sums[query] += (above[level] + number) / documents.rank[level] + below[level]
        high[query] = np.fmax(high[query], sums[query] / (relevant[query] + number))
    sums = total.copy()
    for number, level in enumerate(documents.levels_from_bottom(), 1):
        query, rank = documents.query[level], documents.rank[level]
        sums[query] += (above[level] + 1) / rank + below[level] + added[query]
        added[query] += 1 / rank
        low[query] = np.fmin(low[query], sums[query] / (relevant + unjudged.others + number)[query])
    return low, high


@measure(
    "AP", REL, JUDGED_ONLY, aliases=("map", "map_cut", "average_precision"), unjudged=Bound(bound_average_precision)
)
def average_precision(a: Alignment, k: int | None, *, rel: int) -> Floats:
    """Average precision: precision at the rank of each relevant document, averaged; its mean is MAP.

    Formula: AP@k = (1 / |relevant documents|) sum over relevant documents at ranks r <= k of P@r
    Range: 0 to 1
    Convention: divided by all relevant documents, also when k is smaller, as in trec_eval's map_cut; undefined
        without relevant documents
    Citation: Buckley and Voorhees, Retrieval System Evaluation, in TREC, MIT Press 2005

    >>> import karat
    >>> karat.score({"q": {"a": 1, "b": 1}}, {"q": {"a": 4, "x": 3, "b": 2, "y": 1}}, ["AP"]).mean()
    {'AP': 0.8333333333333333}
    """
    hits = a.hits.relevant(rel).top(k)
    return ratio(hits.total((hits.ordinal + 1) / hits.rank), a.relevant(rel))


@measure(
    "GMAP",
    REL,
    JUDGED_ONLY,
    aliases=("gm_map",),
    aggregate="geometric",
    low=0.00001,
    unjudged=Bound(bound_average_precision),
)
def geometric_map(a: Alignment, k: int | None, *, rel: int) -> Floats:
    """Geometric MAP: the geometric mean of average precision, in which hard queries weigh more.

    Formula: exp((1 / n) sum over queries of ln max(AP, 0.00001))
    Range: 0.00001 to 1
    Convention: the per-query value is AP itself; the floor is trec_eval's; undefined without relevant documents
    Citation: Robertson, On GMAP and other transformations, CIKM 2006

    >>> import karat
    >>> qrels, run = {"q": {"a": 1}, "r": {"b": 1}}, {"q": {"a": 1}, "r": {"x": 5, "y": 4, "z": 3, "b": 2}}
    >>> karat.score(qrels, run, ["GMAP"]).mean()
    {'GMAP': 0.5}
    """
    return average_precision(a, k, rel=rel)


@measure("RR", REL, JUDGED_ONLY, aliases=("mrr", "recip_rank", "reciprocal_rank"), unjudged="best")
def reciprocal_rank(a: Alignment, k: int | None, *, rel: int) -> Floats:
    """Reciprocal rank of the first relevant document; its mean over queries is MRR.

    Formula: RR@k = 1 / rank of the first relevant document, 0 if none is in the top k
    Range: 0 to 1
    Convention: undefined for a query that has no relevant document at all
    Citation: Voorhees, The TREC-8 Question Answering Track Report, 1999

    >>> import karat
    >>> karat.score({"q": {"b": 1}}, {"q": {"x": 3, "b": 2}}, ["RR@10"]).mean()
    {'RR@10': 0.5}
    """
    hits = a.hits.relevant(rel).top(k)
    first = hits.where(hits.ordinal == 0)
    return np.where(a.relevant(rel) > 0, first.total(1 / first.rank), np.nan)


@measure("Success", REL, JUDGED_ONLY, aliases=("hit", "hit_rate", "hitrate"), cutoff="required", unjudged="best")
def success(a: Alignment, k: int, *, rel: int) -> Floats:
    """Success, or hit rate: 1 when the top k holds a relevant document, else 0.

    Formula: Success@k = 1 if |relevant documents in the top k| > 0 else 0
    Range: 0 or 1; the mean is a share of queries
    Convention: undefined for a query that has no relevant document at all
    Citation: Craswell and Hawking, Overview of the TREC-2004 Web Track

    >>> import karat
    >>> karat.score({"q": {"b": 1}}, {"q": {"x": 3, "b": 2}}, ["Success@1", "hit@2"]).mean()
    {'Success@1': 0.0, 'Success@2': 1.0}
    """
    success = a.hits.relevant(rel).top(k).count() > 0
    return np.where(a.relevant(rel) > 0, success.astype(np.float64), np.nan)


@measure(
    "Hits", REL, JUDGED_ONLY, aliases=("num_hits",), aggregate="sum", cutoff="required", high=None, unjudged="additive"
)
def hits(a: Alignment, k: int, *, rel: int) -> Floats:
    """Hits: the number of relevant documents in the top k.

    Formula: Hits@k = |relevant documents in the top k|
    Range: 0 to k
    Convention: the total over queries is a sum
    Citation: a count

    >>> import karat
    >>> karat.score({"q": {"a": 1, "b": 2}}, {"q": {"a": 2, "b": 1}}, ["Hits@5"]).sum("Hits@5")
    2.0
    """
    return a.hits.relevant(rel).top(k).count().astype(np.float64)


_MULT = Parameter(name="mult", kind="float", default=1.0, low=0.01, high=1e6, help="multiple of R at which to measure")


@measure("Rprec", _MULT, REL, JUDGED_ONLY, ROUNDING, aliases=("r_precision", "rprec_mult"), cutoff="none")
def r_precision(a: Alignment, k: None, *, mult: float, rel: int, rounding: str) -> Floats:
    """R-precision: precision at rank R, the number of relevant documents.

    Formula: P@n with n = ceil(mult * |relevant documents|)
    Range: 0 to 1
    Convention: undefined without relevant documents. trec_eval 9 computes n as floor(mult * R + 0.9), which for some
        multiples is one less than the definition; rounding='trec' does the same
    Citation: Buckley and Voorhees, Retrieval System Evaluation, in TREC, MIT Press 2005

    >>> import karat
    >>> karat.score({"q": {"a": 1, "b": 1}}, {"q": {"a": 3, "x": 2, "b": 1}}, ["Rprec"]).mean()
    {'Rprec': 0.5}
    """
    relevant = a.relevant(rel)
    cut = _share(mult, relevant, rounding)
    hits = a.hits.relevant(rel)
    # trec_eval's rounding can give rank 0, where nothing can be hits.
    precision = np.nan_to_num(ratio(hits.where(hits.rank <= cut[hits.query]).count(), cut))
    return np.where(relevant > 0, precision, np.nan)


@measure("IPrec", REL, JUDGED_ONLY, ROUNDING, aliases=("iprec_at_recall",), cutoff="recall")
def interpolated_precision(a: Alignment, k: float, *, rel: int, rounding: str) -> Floats:
    """Interpolated precision: the best precision at any rank where recall has reached a level.

    Formula: IPrec@x = max of P@r over ranks r with R@r >= x, 0 if there is none
    Range: 0 to 1
    Convention: undefined without relevant documents. Follows the definition: recall x is reached with
        ceil(x * R) relevant documents. trec_eval 9 rounds as floor(x * R + 0.9), trec_eval 10 to the nearest whole
        number, and both count too few for some x and R; rounding='trec' does as trec_eval 9
    Citation: Manning, Raghavan and Schuetze, Introduction to Information Retrieval, 2008, section 8.4

    >>> import karat
    >>> karat.score({"q": {"a": 1, "b": 1}}, {"q": {"x": 3, "a": 2, "b": 1}}, ["IPrec@0.1"]).mean()
    {'IPrec@0.1': 0.6666666666666666}
    """
    relevant = a.relevant(rel)
    hits = a.hits.relevant(rel)
    reached = hits.ordinal + 1 >= _share(k, relevant, rounding)[hits.query]
    best = np.zeros(len(relevant))
    np.maximum.at(best, hits.query[reached], ((hits.ordinal + 1) / hits.rank)[reached])
    return np.where(relevant > 0, best, np.nan)


@measure("IPrec11", REL, JUDGED_ONLY, ROUNDING, aliases=("11pt", "11pt_avg", "eleven_point"), cutoff="none")
def eleven_point_average(a: Alignment, k: None, *, rel: int, rounding: str) -> Floats:
    """Eleven-point average: interpolated precision averaged over recall 0, 0.1, ... 1.

    Formula: (1 / 11) sum over x in {0, 0.1, ... 1} of IPrec@x
    Range: 0 to 1
    Convention: undefined without relevant documents; rounding as for IPrec
    Citation: Manning, Raghavan and Schuetze, Introduction to Information Retrieval, 2008, section 8.4

    >>> import karat
    >>> karat.score({"q": {"a": 1}}, {"q": {"x": 2, "a": 1}}, ["11pt_avg"]).mean()
    {'IPrec11': 0.5}
    """
    # From recall 1 down, as trec_eval adds them up, so that sums agree to the last bit.
    levels = [interpolated_precision(a, i / 10, rel=rel, rounding=rounding) for i in range(10, -1, -1)]
    average: Floats = sum(levels, np.zeros(len(a.queries))) / 11
    return average


def _share(share: float, relevant: Ints, rounding: str) -> Ints:
    """Return the number of documents that is a share of the relevant ones."""
    # 0.28 * 25 is 7.000000000000001 in binary; a share means the decimal number that was written.
    number = np.floor(share * relevant + 0.9) if rounding == "trec" else np.ceil(share * relevant - 1e-9)
    counts: Ints = number.astype(np.int64)
    return counts
