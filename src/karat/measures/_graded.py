"""Measures with graded relevance, in which a better grade counts for more."""

from __future__ import annotations

import math

import numpy as np

from karat.core import Floats, MeasureError, Parameter
from karat.measures._alignment import Alignment, Hits, Ints, Pool, Unjudged
from karat.measures._ideal import find_layers, find_lowest
from karat.measures._measure import GAIN, GAINS, JUDGED_ONLY, MAX_GRADE, REL, Bound, measure, ratio

Gains = tuple[tuple[int, float], ...] | None

_IDEAL = Parameter(
    name="ideal",
    kind="str",
    default="judged",
    choices=("judged", "returned"),
    help="the ideal list holds the best k judged documents, or only as many as were returned",
)

_LARGEST_EXPONENT = 1000  # sums of gains up to 2^1000 do not overflow


def gain_of(grades: Ints, gain: str, gains: Gains) -> Floats:
    """Return the gains of grades; a grade that ``gains`` does not name keeps its own."""
    out: Floats = np.maximum(grades, 0).astype(np.float64)
    if gain == "exp":
        if (top := out.max(initial=0.0)) > _LARGEST_EXPONENT:
            raise MeasureError(f"gain='exp' of grade {top:.0f} is more than a number can hold; use gain='linear'")
        out = np.exp2(out) - 1
    for grade, value in gains or ():
        out[grades == grade] = value
    return out


def discount(rank: Ints) -> Floats:
    """Return the discount of each rank, log2(rank + 1), from a table, since ranks repeat in every query."""
    table: Floats = np.log2(np.arange(2, int(rank.max(initial=0)) + 2))
    return table[rank - 1]


def ideal_hits(a: Alignment, gain: str, gains: Gains) -> tuple[Hits, Floats]:
    """Return the best possible ranking of the judged documents, and its gains."""
    value = gain_of(a.grades, gain, gains)
    useful = np.flatnonzero((value > 0) & (a.grades >= 0))
    order = useful[np.lexsort((-value[useful], a.query[useful]))]
    query = a.query[order]
    ranked = Hits(query=query, rank=query, grade=a.grades[order], queries=len(a.queries))
    return Hits(query=query, rank=ranked.ordinal + 1, grade=ranked.grade, queries=ranked.queries), value[order]


@measure("DCG", GAIN, GAINS, JUDGED_ONLY, high=math.inf, unjudged="additive")
def dcg(a: Alignment, k: int | None, *, gain: str, gains: Gains) -> Floats:
    """Discounted cumulative gain: the gains of the ranking, discounted by rank.

    Formula: DCG@k = sum over ranks r <= k of gain(grade at r) / log2(r + 1)
    Range: 0 and up
    Convention: an unjudged document has no gain
    Citation: Jarvelin and Kekalainen, Cumulated gain-based evaluation of IR techniques, TOIS 20(4), 2002

    >>> import karat
    >>> karat.score({"q": {"a": 3, "b": 1}}, {"q": {"a": 3, "x": 2, "b": 1}}, ["DCG@10"]).mean()
    {'DCG@10': 3.5}
    """
    hits = a.hits.top(k)
    return hits.total(gain_of(hits.grade, gain, gains) / discount(hits.rank))


def bound_ndcg(
    a: Alignment, k: int | None, unjudged: Unjudged, *, gain: str, gains: Gains, ideal: str
) -> tuple[Floats, Floats]:
    """Return the lowest nDCG and the highest over all grades of unjudged documents, exactly.

    DCG is linear in the gains and the ideal DCG convex, so that their quotient is lowest at a corner, where each
    document has the highest grade or none. Of any number of relevant documents the last ones are the worst, so that
    it is enough to try each number. It is highest where less DCG than none would be lowest beside the ideal.
    """
    documents = unjudged.hits
    top = float(gain_of(np.array([unjudged.grade]), gain, gains)[0])
    best, value = ideal_hits(a, gain, gains)
    cut = np.full(len(a.queries), np.iinfo(np.int64).max if k is None else k)
    if ideal == "returned":
        cut = np.minimum(cut, a.retrieved)

    def ideal_dcg(more: Ints) -> Floats:
        """Return the DCG of the ideal list with more documents of the highest grade at its top, per query."""
        rank = best.rank + more[best.query]
        judged = best.total(np.where(rank <= cut[best.query], value / discount(rank), 0.0))
        first = np.concatenate([[0.0], np.cumsum(1 / discount(np.arange(1, int(more.max(initial=0)) + 1)))])
        total: Floats = judged + top * first[np.minimum(more, cut)]
        return total

    own = dcg(a, k, gain=gain, gains=gains)
    layers = find_layers(a, unjudged.grade, lambda grades: gain_of(grades, gain, gains))
    grades = find_lowest(layers, -own, documents.query, -1 / discount(documents.rank), cut)
    judged = a.judge(documents.query, documents.rank, grades)
    high = ndcg(judged, k, gain=gain, gains=gains, ideal=ideal)
    sums, more = own.copy(), unjudged.others.copy()
    low = ratio(own, ideal_dcg(more))
    for level in documents.levels_from_bottom():
        query = documents.query[level]
        sums[query] += top / discount(documents.rank[level])
        more[query] += 1
        low[query] = np.fmin(low[query], ratio(sums, ideal_dcg(more))[query])
    return low, high


def lower_ndcg(
    first: Alignment, second: Alignment, k: int | None, pool: Pool, grade: int, *, gain: str, gains: Gains, ideal: str
) -> Ints:
    """Return the grades of unjudged documents with which one ranking has the lowest nDCG beside another.

    Both have the same ideal list, unless it is cut at the number of documents that each returned.
    """
    weights = [np.where(rank > 0, 1 / discount(np.maximum(rank, 1)), 0.0) for rank in (pool.first, pool.second)]
    base = dcg(first, k, gain=gain, gains=gains) - dcg(second, k, gain=gain, gains=gains)
    layers = find_layers(first, grade, lambda grades: gain_of(grades, gain, gains))
    cut = np.full(len(base), np.iinfo(np.int64).max if k is None else k)
    return find_lowest(layers, base, pool.query, weights[0] - weights[1], cut)


@measure(
    "nDCG",
    GAIN,
    GAINS,
    _IDEAL,
    JUDGED_ONLY,
    aliases=("ndcg_cut",),
    unjudged=Bound(bound_ndcg, difference=lower_ndcg, unless=("ideal", "returned")),
)
def ndcg(a: Alignment, k: int | None, *, gain: str, gains: Gains, ideal: str) -> Floats:
    """Normalised discounted cumulative gain: DCG against that of the best possible ranking.

    Formula: nDCG@k = DCG@k / DCG@k of all judged documents in order of their gain
    Range: 0 to 1
    Convention: linear gain (the grade itself) as in trec_eval, gain='exp' for 2^grade - 1; the ideal list is cut at
        k, and holds all judged documents, found or not; undefined when no judged document has a gain.
        ideal='returned' cuts the ideal list at the number of returned documents, which flatters short lists.
        trec_eval 9 and 10 sort custom gains after truncating their differences to whole numbers; here they are exact
    Citation: Jarvelin and Kekalainen, Cumulated gain-based evaluation of IR techniques, TOIS 20(4), 2002

    >>> import karat
    >>> karat.score({"q": {"a": 3, "b": 1}}, {"q": {"a": 3, "x": 2, "b": 1}}, ["nDCG@10"]).mean()
    {'nDCG@10': 0.9639404333166532}
    """
    best, value = ideal_hits(a, gain, gains)
    within = best.rank <= (best.rank if k is None else k)
    if ideal == "returned":
        within &= best.rank <= a.retrieved[best.query]
    terms = np.where(within, value / discount(best.rank), 0.0)
    top = best.total(terms)
    if ideal == "returned":
        # Without returned documents there is no ideal list; the value is 0 if there was something to find.
        judged = best.count() > 0
        return np.where(judged, np.nan_to_num(ratio(dcg(a, k, gain=gain, gains=gains), top)), np.nan)
    return ratio(dcg(a, k, gain=gain, gains=gains), top)


@measure("ERR", MAX_GRADE, JUDGED_ONLY, unjudged="monotone")
def expected_reciprocal_rank(a: Alignment, k: int | None, *, max_grade: int) -> Floats:
    """Expected reciprocal rank: the expected value of 1 / rank, where rank is that at which a user is satisfied.

    Formula: ERR@k = sum over ranks r <= k of (1 / r) s(r) prod over i < r of (1 - s(i)),
        s = (2^grade - 1) / 2^max_grade
    Range: 0 to less than 1
    Convention: max_grade is 4 as in TREC's gdeval, whatever the grades in use; a higher grade is an error
    Citation: Chapelle, Metzler, Zhang and Grinspan, Expected reciprocal rank for graded relevance, CIKM 2009

    >>> import karat
    >>> karat.score({"q": {"a": 1, "b": 2}}, {"q": {"a": 2, "b": 1}}, ["ERR(max_grade=2)@5"]).mean()
    {'ERR(max_grade=2)@5': 0.53125}
    """
    _check_scale(a, "ERR", max_grade)
    hits = a.hits.top(k)
    # (2^grade - 1) / 2^max_grade, without numbers as large as the scale allows.
    satisfied = np.exp2(hits.grade - max_grade) - np.exp2(-max_grade)
    out, still_reading = np.zeros(hits.queries), np.ones(hits.queries)
    for level in hits.levels():
        query = hits.query[level]
        out[query] += satisfied[level] * still_reading[query] / hits.rank[level]
        still_reading[query] *= 1 - satisfied[level]
    return out


_PERSISTENCE = Parameter(name="p", kind="float", default=0.8, low=0.0, high=0.999999, help="chance to read on")


@measure("RBP", _PERSISTENCE, REL, JUDGED_ONLY, unjudged="additive")
def rank_biased_precision(a: Alignment, k: int | None, *, p: float, rel: int) -> Floats:
    """Rank-biased precision: the gain per document of a user who reads on with probability p.

    Formula: RBP@k = (1 - p) sum over ranks r <= k of relevant(r) p^(r - 1)
    Range: 0 to 1; RBPres is the most that unjudged documents could add
    Convention: binary at grade rel; trec_eval 10's rbp reads uninitialised memory and is not a reference
    Citation: Moffat and Zobel, Rank-biased precision for measurement of retrieval effectiveness, TOIS 27(1), 2008

    >>> import karat
    >>> karat.score({"q": {"a": 1, "b": 1}}, {"q": {"a": 2, "b": 1}}, ["RBP(p=0.5)"]).mean()
    {'RBP(p=0.5)': 0.75}
    """
    hits = a.hits.relevant(rel).top(k)
    return np.minimum(hits.total(geometric(p, hits.rank)), 1.0)


@measure(
    "RBPres",
    _PERSISTENCE,
    JUDGED_ONLY,
    aliases=("rbp_resid", "rbp_residual"),
    higher_is_better=False,
    unjudged="counted",
)
def rank_biased_precision_residual(a: Alignment, k: int | None, *, p: float) -> Floats:
    """Residual of RBP: the most that unjudged documents and ranks below the end could add.

    Formula: 1 - (1 - p) sum over judged documents at ranks r <= k of p^(r - 1)
    Range: 0 to 1; the true RBP lies between RBP and RBP + RBPres
    Convention: every rank without a judgment might hold a relevant document
    Citation: Moffat and Zobel, Rank-biased precision for measurement of retrieval effectiveness, TOIS 27(1), 2008

    >>> import karat
    >>> karat.score({"q": {"a": 1}}, {"q": {"x": 2, "a": 1}}, ["RBPres(p=0.5)"]).mean()
    {'RBPres(p=0.5)': 0.75}
    """
    hits = a.hits.top(k)
    return 1 - np.minimum(hits.total(geometric(p, hits.rank)), 1.0)


def geometric(p: float, rank: Ints) -> Floats:
    """Return the probability that a user who reads on with probability p stops at each rank.

    They sum to 1, or a little more because of rounding.
    """
    return (1 - p) * np.power(p, rank - 1, dtype=np.float64)


_TARGET = Parameter(name="T", kind="float", default=1.0, low=0.01, high=1e6, help="the gain that the user wants")
_SCALE = Parameter(
    name="max_grade", kind="int", default=1, low=1, help="grade that has gain 1; lower grades have a share of it"
)


@measure("INSQ", _TARGET, _SCALE, JUDGED_ONLY, unjudged="additive")
def insq(a: Alignment, k: int | None, *, T: float, max_grade: int) -> Floats:  # noqa: N803 (the paper's name)
    """INSQ: a weighted precision for a user who wants T relevant documents, and reads further the larger T is.

    Formula: sum over ranks r <= k of W(r) gain(r), W(r) = 1 / ((r + 2T - 1)^2 S), S = sum over all i >= 1 of
        1 / (i + 2T - 1)^2; gain = min(grade, max_grade) / max_grade
    Range: 0 to 1
    Convention: S is the infinite sum, so weights do not depend on the length of the list
    Citation: Moffat, Scholer and Thomas, Models and metrics: IR evaluation as a user process, ADCS 2012

    >>> import karat
    >>> round(karat.score({"q": {"a": 1}}, {"q": {"a": 1}}, ["INSQ"]).mean()["INSQ"], 6)
    0.387637
    """
    hits = a.hits.top(k)
    gain = np.minimum(hits.grade, max_grade) / max_grade
    return hits.total(gain / (hits.rank + 2 * T - 1) ** 2 / sum_of_inverse_squares(2 * T))


def sum_of_inverse_squares(start: float) -> float:
    """Return 1 / start^2 + 1 / (start + 1)^2 + ... (the trigamma function) in double precision.

    >>> sum_of_inverse_squares(1.0) == math.pi**2 / 6
    True
    """
    head = []
    x = start
    while x < 30:  # then the asymptotic series is exact to the last bit
        head.append(1 / x**2)
        x += 1
    tail = 1 / x + 1 / (2 * x**2) + 1 / (6 * x**3) - 1 / (30 * x**5) + 1 / (42 * x**7) - 1 / (30 * x**9)
    return math.fsum([*head, tail])


_P95 = Parameter(name="p", kind="float", default=0.95, low=0.01, high=0.9999, help="persistence of the overlap")
_NORMALISE = Parameter(name="normalize", kind="bool", default=True, help="divide by the best a finite list can reach")


@measure("Compat", _P95, _NORMALISE, JUDGED_ONLY, aliases=("compatibility",), cutoff="none")
def compatibility(a: Alignment, k: None, *, p: float, normalize: bool) -> Floats:
    """Compatibility: rank-biased overlap with the ideal ranking that is nearest to this one.

    Formula: sum over depths d of p^(d - 1) |top d of run and top d of ideal| / d, divided by sum of p^(d - 1); with
        normalize, divided by the same of the ideal ranking with itself
    Range: 0 to 1
    Convention: the ideal ranking has every document with a positive grade, best grade first; documents of one grade
        are in the order of the run, missing ones last (ir-measures gives missing ones the score 0, which puts them
        before documents with negative scores); undefined without a positive grade
    Citation: Clarke, Vtyurina and Smucker, Assessing top-k preferences, TOIS 39(3), 2021

    >>> import karat
    >>> karat.score({"q": {"a": 2, "b": 1}}, {"q": {"a": 2, "b": 1}}, ["Compat"]).mean()
    {'Compat': 1.0}
    """
    wanted = np.flatnonzero(a.grades > 0)
    query = a.query[wanted]
    place = np.where(a.ranks[wanted] > 0, a.ranks[wanted], np.iinfo(np.int64).max)
    order = np.lexsort((place, -a.grades[wanted], query))
    ideal = Hits(query=query[order], rank=place[order], grade=a.grades[wanted][order], queries=len(a.queries))
    depth = np.maximum(a.retrieved, ideal.count())
    weights = p ** np.arange(int(depth.max(initial=0)))
    # prefix[d]: the contribution of a document that is in both lists from depth 1 on, down to depth d.
    prefix = np.concatenate([[0.0], np.cumsum(weights / np.arange(1, len(weights) + 1))])
    end = prefix[depth][ideal.query]
    together = np.maximum(ideal.rank, ideal.ordinal + 1)
    retrieved = ideal.rank < np.iinfo(np.int64).max
    overlap = ideal.total(np.where(retrieved, end - prefix[np.where(retrieved, together - 1, 0)], 0.0))
    best = ideal.total(end - prefix[ideal.ordinal])
    whole = np.concatenate([[0.0], np.cumsum(weights)])[depth]
    return ratio(overlap, best if normalize else np.where(best > 0, whole, 0.0))


@measure(
    "InvRate", aliases=("inversion_rate", "inversions"), undefined="fewer than two results", higher_is_better=False
)
def inversion_rate(a: Alignment, k: int | None) -> Floats:
    """Inversion rate: the share of pairs of results in which the worse one is ranked above the better one.

    Formula: |pairs i < j of the top k with grade(i) < grade(j)| / |pairs of the top k|
    Range: 0 to 1, lower is better
    Convention: an unjudged document has grade 0; undefined for fewer than two results
    Citation: Kendall, Rank Correlation Methods, 1948 (the share of discordant pairs)

    >>> import karat
    >>> karat.score({"q": {"a": 1}}, {"q": {"x": 3, "a": 2, "y": 1}}, ["InvRate"]).mean()
    {'InvRate': 0.3333333333333333}
    """
    hits = a.hits.top(k)
    inverted = np.zeros(len(a.queries))
    for grade in np.unique(hits.grade[hits.grade > 0]):
        # There are r - 1 documents above a hit at rank r; those with at least its grade are not inversions.
        better = hits.where(hits.grade >= grade)
        own = better.grade == grade
        np.add.at(inverted, better.query[own], (better.rank - 1 - better.ordinal)[own])
    depth = a.depth(k)
    return ratio(inverted, depth * (depth - 1) / 2)


def _check_scale(a: Alignment, name: str, max_grade: int) -> None:
    top = int(a.grades.max(initial=0))
    if top > max_grade:
        raise MeasureError(
            f"{name} assumes grades up to {max_grade}, and the judgments have {top}; use {name}(max_grade={top})"
        )
