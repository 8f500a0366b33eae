"""The experimental measures of trec_eval, for the sake of ``-m all_trec``."""

from __future__ import annotations

import numpy as np

from karat.core import Floats
from karat.measures._alignment import Alignment, Hits
from karat.measures._graded import Gains, discount, gain_of, ideal_hits
from karat.measures._measure import GAIN, GAINS, JUDGED_ONLY, REL, measure, ratio
from karat.measures._prefix import Prefix, PrefixByRank


@measure("binG", REL, JUDGED_ONLY, cutoff="none")
def binary_g(a: Alignment, k: None, *, rel: int) -> Floats:
    """Binary G: each relevant document counts less the more non-relevant ones are ranked above it.

    Formula: (1 / R) sum over retrieved relevant documents of 1 / log2(2 + non-relevant documents above it)
    Range: 0 to 1
    Convention: an unjudged document is not relevant; undefined without relevant documents
    Citation: Buckley, trec_eval (experimental, 2008)

    >>> import karat
    >>> karat.score({"q": {"a": 1}}, {"q": {"x": 4, "y": 3, "a": 1}}, ["binG"]).mean()
    {'binG': 0.5}
    """
    hits = a.hits.relevant(rel)
    return ratio(hits.total(1 / np.log2(hits.rank - hits.ordinal + 1.0)), a.relevant(rel))


@measure("G", GAIN, GAINS, JUDGED_ONLY, cutoff="none")
def normalised_gain(a: Alignment, k: None, *, gain: str, gains: Gains) -> Floats:
    """G: each document's gain, discounted by how far the ranking lags behind the ideal one at that point.

    Formula: sum over retrieved documents of gain / log2(2 + cost(r) - gain so far), divided by the sum of all gains;
        cost(r) adds max(1, gain of the ideal document) for each rank down to r
    Range: 0 to 1
    Convention: undefined when no judged document has a gain
    Citation: Buckley, trec_eval (experimental, 2008)

    >>> import karat
    >>> karat.score({"q": {"a": 1}}, {"q": {"x": 4, "y": 3, "a": 1}}, ["G"]).mean()
    {'G': 0.5}
    """
    best, ideal = ideal_hits(a, gain, gains)
    hits = _useful(a, gain, gains)
    own = gain_of(hits.grade, gain, gains)
    # Ranks that hold an ideal document cost its gain, at least 1; all other ranks cost 1.
    extra = Prefix(best, np.maximum(ideal, 1.0) - 1.0)
    out, so_far = np.zeros(hits.queries), np.zeros(hits.queries)
    for level in hits.levels():
        query, rank = hits.query[level], hits.rank[level]
        so_far[query] += own[level]
        out[query] += own[level] / np.log2(2 + rank + extra(query, rank) - so_far[query])
    return ratio(out, best.total(ideal))


@measure("nDCG_rel", GAIN, GAINS, JUDGED_ONLY, cutoff="none")
def ndcg_at_relevant(a: Alignment, k: None, *, gain: str, gains: Gains) -> Floats:
    """NDCG averaged over the ranks of the documents with a gain.

    Formula: (1 / R) sum over documents with a gain of nDCG at their rank; for those not retrieved, at the end
    Range: 0 to 1
    Convention: undefined when no judged document has a gain
    Citation: Buckley, trec_eval (experimental)

    >>> import karat
    >>> karat.score({"q": {"a": 1}}, {"q": {"x": 4, "y": 3, "a": 1}}, ["nDCG_rel"]).mean()
    {'nDCG_rel': 0.5}
    """
    best, ideal = ideal_hits(a, gain, gains)
    hits = _useful(a, gain, gains)
    own = gain_of(hits.grade, gain, gains)
    value = own / discount(hits.rank)
    ideal_dcg = Prefix(best, ideal / discount(best.rank))
    out, dcg, retrieved = np.zeros(hits.queries), np.zeros(hits.queries), np.zeros(hits.queries)
    for level in hits.levels():
        level_query = hits.query[level]
        dcg[level_query] += value[level]
        counts = own[level] > 0
        query, rank = level_query[counts], hits.rank[level][counts]
        out[query] += dcg[query] / ideal_dcg(query, rank)
        retrieved[query] += 1
    relevant = best.count()
    rest = ratio((relevant - retrieved) * dcg, best.total(ideal / discount(best.rank)))
    return ratio(out + np.nan_to_num(rest), relevant)


@measure("RnDCG", GAIN, GAINS, JUDGED_ONLY, cutoff="none")
def ndcg_at_levels(a: Alignment, k: None, *, gain: str, gains: Gains) -> Floats:
    """RnDCG: nDCG averaged over the ranks at which the ideal ranking changes its grade.

    Formula: mean of nDCG@b over the ends b of each block of equal gain in the ideal ranking; when more was retrieved
        than the ideal ranking holds, and at least two documents more, nDCG at the end of the list counts as well
    Range: 0 to 1
    Convention: undefined when no judged document has a gain
    Citation: Buckley, trec_eval (experimental)

    >>> import karat
    >>> karat.score({"q": {"a": 2, "b": 1}}, {"q": {"a": 4, "b": 3}}, ["RnDCG"]).mean()
    {'RnDCG': 1.0}
    """
    best, ideal = ideal_hits(a, gain, gains)
    hits = _useful(a, gain, gains)
    ideal_dcg = Prefix(best, ideal / discount(best.rank))
    run_dcg = PrefixByRank(hits, gain_of(hits.grade, gain, gains) / discount(hits.rank))
    follows = np.append(best.query[1:], -1)
    ends = (follows != best.query) | (np.append(ideal[1:], 0) != ideal)
    at_ends = best.where(ends)
    out = at_ends.total(run_dcg(at_ends.query, at_ends.rank) / ideal_dcg(at_ends.query, at_ends.rank))
    points = at_ends.count()
    sizes = best.count()
    longer = np.flatnonzero((sizes > 0) & (a.retrieved > sizes + 1))
    out[longer] += run_dcg(longer, a.retrieved[longer]) / ideal_dcg(longer, sizes[longer])
    points[longer] += 1
    return ratio(out, points)


def _useful(a: Alignment, gain: str, gains: Gains) -> Hits:
    return a.hits.where(gain_of(a.hits.grade, gain, gains) != 0)
