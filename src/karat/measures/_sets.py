"""Measures of the returned set, which ignore its order, and counts."""

from __future__ import annotations

import math

import numpy as np

from karat.core import Floats, Parameter
from karat.measures._alignment import Alignment
from karat.measures._measure import JUDGED_ONLY, REL, measure, ratio

_RELATIVE = Parameter(
    name="relative", kind="bool", default=False, help="divide by the most relevant documents that the set could hold"
)


@measure("SetP", REL, _RELATIVE, JUDGED_ONLY, aliases=("set_P", "set_precision"), unjudged="monotone")
def set_precision(a: Alignment, k: int | None, *, rel: int, relative: bool) -> Floats:
    """Set precision: the share of what was returned (down to k) that is relevant.

    Formula: SetP@k = |relevant documents in the top k| / |documents in the top k|
    Range: 0 to 1
    Convention: a short list is not punished, unlike with P@k; an empty one has 0, as in trec_eval. relative=True
        divides by min(|documents in the top k|, |relevant documents|), trec_eval's set_relative_P, and is undefined
        without relevant documents
    Citation: van Rijsbergen, Information Retrieval, 1979, chapter 7

    >>> import karat
    >>> karat.score({"q": {"a": 1, "b": 1}}, {"q": {"a": 2, "x": 1}}, ["SetP@5"]).mean()
    {'SetP@5': 0.5}
    """
    depth, relevant = a.depth(k), a.relevant(rel)
    share = np.nan_to_num(
        ratio(a.hits.relevant(rel).top(k).count(), np.minimum(depth, relevant) if relative else depth)
    )
    return np.where(relevant > 0, share, np.nan) if relative else share


@measure("SetR", REL, aliases=("set_recall",), cutoff="none", unjudged="share")
def set_recall(a: Alignment, k: None, *, rel: int) -> Floats:
    """Set recall: the share of the relevant documents that were returned at any rank.

    Formula: |relevant documents returned| / |relevant documents|
    Range: 0 to 1
    Convention: undefined without relevant documents
    Citation: van Rijsbergen, Information Retrieval, 1979, chapter 7

    >>> import karat
    >>> karat.score({"q": {"a": 1, "b": 1}}, {"q": {"a": 2, "x": 1}}, ["SetR"]).mean()
    {'SetR': 0.5}
    """
    return ratio(a.hits.relevant(rel).count(), a.relevant(rel))


_BETA = Parameter(name="beta", kind="float", default=1.0, low=0.0, help="weight of recall against precision")


@measure("SetF", _BETA, REL, JUDGED_ONLY, aliases=("set_F",), cutoff="none", unjudged="monotone")
def set_f(a: Alignment, k: None, *, beta: float, rel: int) -> Floats:
    """Set F: the weighted harmonic mean of set precision and set recall.

    Formula: (1 + beta) SetP SetR / (beta SetP + SetR)
    Range: 0 to 1
    Convention: beta is trec_eval's weight x, which is the square of van Rijsbergen's beta; 0 when nothing relevant
        was returned; undefined without relevant documents
    Citation: van Rijsbergen, Information Retrieval, 1979, chapter 7

    >>> import karat
    >>> karat.score({"q": {"a": 1, "b": 1}}, {"q": {"a": 2, "x": 1}}, ["SetF"]).mean()
    {'SetF': 0.5}
    """
    hits, relevant = a.hits.relevant(rel).count(), a.relevant(rel)
    precision, recall = np.nan_to_num(ratio(hits, a.retrieved)), np.nan_to_num(ratio(hits, relevant))
    harmonic = np.nan_to_num(ratio((beta + 1) * precision * recall, beta * precision + recall))
    return np.where(relevant > 0, harmonic, np.nan)


@measure("SetAP", REL, JUDGED_ONLY, aliases=("set_map",), cutoff="none", unjudged="monotone")
def set_average_precision(a: Alignment, k: None, *, rel: int) -> Floats:
    """Set average precision: set precision times set recall.

    Formula: SetP SetR
    Range: 0 to 1
    Convention: 0 when nothing was returned; undefined without relevant documents
    Citation: Buckley, trec_eval (set_map, unranked average precision)

    >>> import karat
    >>> karat.score({"q": {"a": 1, "b": 1}}, {"q": {"a": 2, "x": 1}}, ["SetAP"]).mean()
    {'SetAP': 0.25}
    """
    hits, relevant = a.hits.relevant(rel).count(), a.relevant(rel)
    product = ratio(hits * hits, a.retrieved * relevant)
    return np.where(relevant > 0, np.nan_to_num(product), np.nan)


_A = Parameter(name="a", kind="float", default=1.0, help="worth of a relevant document that was returned")
_B = Parameter(name="b", kind="float", default=-1.0, help="worth of a non-relevant document that was returned")
_C = Parameter(name="c", kind="float", default=0.0, help="worth of a relevant document that was not returned")
_D = Parameter(name="d", kind="float", default=0.0, help="worth of a non-relevant document that was not returned")
_N = Parameter(name="docs", kind="int", default=0, low=0, help="size of the collection, needed for d")


@measure(
    "Utility",
    _A,
    _B,
    _C,
    _D,
    _N,
    REL,
    JUDGED_ONLY,
    cutoff="none",
    low=-math.inf,
    high=math.inf,
    unjudged="monotone",
)
def utility(alignment: Alignment, k: None, /, *, a: float, b: float, c: float, d: float, docs: int, rel: int) -> Floats:
    """Utility: a weighted sum over the contingency table of returned and relevant.

    Formula: a |relevant returned| + b |other returned| + c |relevant not returned| + d |other not returned|
    Range: any number
    Convention: an unjudged document is not relevant; d needs docs, the size of the collection
    Citation: Hull and Robertson, The TREC-8 Filtering Track Final Report, 1999

    >>> import karat
    >>> karat.score({"q": {"a": 1}}, {"q": {"a": 3, "x": 2, "y": 1}}, ["Utility"]).mean()
    {'Utility': -1.0}
    """
    hits, relevant, returned = alignment.hits.relevant(rel).count(), alignment.relevant(rel), alignment.retrieved
    rest = docs + hits - returned - relevant
    total: Floats = a * hits + b * (returned - hits) + c * (relevant - hits) + d * rest
    return total


_ANY = Parameter(name="rel", kind="int", default=None, low=1, help="count only documents of this grade and above")


@measure(
    "NumRet",
    _ANY,
    JUDGED_ONLY,
    aliases=("num_ret",),
    cutoff="none",
    aggregate="sum",
    higher_is_better=None,
    queries="all",
    high=math.inf,
)
def num_ret(a: Alignment, k: None, *, rel: int | None) -> Floats:
    """NumRet: the number of documents returned.

    Formula: |documents returned|, with rel only the relevant ones
    Range: 0 and up
    Convention: the total over queries is a sum
    Citation: a count

    >>> import karat
    >>> karat.score({"q": {"a": 1}}, {"q": {"a": 3, "x": 2}}, ["NumRet", "NumRet(rel=1)"]).to_dicts()
    [{'query_id': 'q', 'NumRet': 2.0, 'NumRet(rel=1)': 1.0}]
    """
    counts = a.retrieved if rel is None else a.hits.relevant(rel).count()
    return counts.astype(np.float64)


@measure(
    "NumRelRet",
    REL,
    aliases=("num_rel_ret",),
    cutoff="none",
    aggregate="sum",
    higher_is_better=None,
    queries="all",
    high=math.inf,
)
def num_rel_ret(a: Alignment, k: None, *, rel: int) -> Floats:
    """NumRelRet: the number of relevant documents returned.

    Formula: |relevant documents returned|
    Range: 0 and up
    Convention: the total over queries is a sum
    Citation: a count

    >>> import karat
    >>> karat.score({"q": {"a": 1, "b": 1}}, {"q": {"a": 3, "x": 2}}, ["NumRelRet"]).sum("NumRelRet")
    1.0
    """
    return a.hits.relevant(rel).count().astype(np.float64)


@measure(
    "NumNonRelRet",
    REL,
    aliases=("num_nonrel_judged_ret",),
    cutoff="none",
    aggregate="sum",
    higher_is_better=None,
    queries="all",
    high=math.inf,
)
def num_nonrel_ret(a: Alignment, k: None, *, rel: int) -> Floats:
    """NumNonRelRet: the number of returned documents that were judged not relevant.

    Formula: |judged documents returned| - |relevant documents returned|
    Range: 0 and up
    Convention: unjudged documents do not count; the total over queries is a sum
    Citation: a count

    >>> import karat
    >>> karat.score({"q": {"a": 1, "x": 0}}, {"q": {"a": 3, "x": 2, "y": 1}}, ["NumNonRelRet"]).sum("NumNonRelRet")
    1.0
    """
    return (a.hits.count() - a.hits.relevant(rel).count()).astype(np.float64)


@measure(
    "NumRel",
    REL,
    aliases=("num_rel",),
    cutoff="none",
    aggregate="sum",
    higher_is_better=None,
    queries="all",
    high=math.inf,
)
def num_rel(a: Alignment, k: None, *, rel: int) -> Floats:
    """NumRel: the number of relevant documents.

    Formula: |relevant documents|
    Range: 0 and up
    Convention: does not depend on the run; the total over queries is a sum
    Citation: a count

    >>> import karat
    >>> karat.score({"q": {"a": 1, "b": 2}}, {"q": {"a": 3}}, ["NumRel", "NumRel(rel=2)"]).to_dicts()
    [{'query_id': 'q', 'NumRel': 2.0, 'NumRel(rel=2)': 1.0}]
    """
    return a.relevant(rel).astype(np.float64)


@measure("NumQ", aliases=("num_q",), cutoff="none", aggregate="sum", higher_is_better=None, queries="all", low=1.0)
def num_q(a: Alignment, k: None) -> Floats:
    """NumQ: the number of queries scored.

    Formula: 1 for each query
    Range: 1
    Convention: the total over queries is a sum
    Citation: a count

    >>> import karat
    >>> karat.score({"q": {"a": 1}, "r": {"b": 1}}, {"q": {"a": 3}}, ["NumQ"]).sum("NumQ")
    2.0
    """
    return np.ones(len(a.queries))
