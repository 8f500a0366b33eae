"""Measures of queries that have no answer, for which the right list is an empty one."""

from __future__ import annotations

import numpy as np

from karat.core import Floats
from karat.measures._alignment import Alignment
from karat.measures._measure import ANSWERABLE, measure


@measure(
    "TrueEmpty",
    aliases=("rightly_empty",),
    cutoff="none",
    undefined=ANSWERABLE,
    queries="unanswerable",
    unjudged="independent",
)
def true_empty(a: Alignment, k: None) -> Floats:
    """True empty: whether nothing was returned for a query that has no answer; the mean is the share rightly empty.

    Formula: 1 if no document was returned, else 0
    Range: 0 or 1
    Convention: only for queries that the golden set calls unanswerable; 0 if the system failed, and if the query is not
        in the run, because neither is an answer
    Citation: Rajpurkar, Jia and Liang, Know What You Don't Know: Unanswerable Questions for SQuAD, 2018

    >>> from karat import GoldenSet, Hit, Query, score_hits
    >>> golden = GoldenSet(queries=tuple(Query(id=id, text="?", answerable=False) for id in "ab"))
    >>> score_hits(golden, {"a": [], "b": [Hit("wifi", 1.0)]}, ["TrueEmpty"]).mean()
    {'TrueEmpty': 0.5}
    """
    return np.where(a.answered & (a.retrieved == 0), 1.0, 0.0)


@measure(
    "FalseHits",
    aliases=("false_hits",),
    cutoff="required",
    undefined=ANSWERABLE,
    higher_is_better=False,
    queries="unanswerable",
    high=None,
    unjudged="independent",
)
def false_hits(a: Alignment, k: int) -> Floats:
    """False hits: how many documents were returned, down to k, for a query that has no answer.

    Formula: FalseHits@k = |documents in the top k|
    Range: 0 to k, lower is better
    Convention: only for queries that the golden set calls unanswerable; k if the system failed, and if the query is not
        in the run, because neither is an answer
    Citation: a count

    >>> from karat import GoldenSet, Hit, Query, score_hits
    >>> golden = GoldenSet(queries=tuple(Query(id=id, text="?", answerable=False) for id in "ab"))
    >>> score_hits(golden, {"a": [], "b": [Hit("wifi", 2.0), Hit("spa", 1.0)]}, ["FalseHits@10"]).mean()
    {'FalseHits@10': 1.0}
    """
    return np.where(a.answered, a.depth(k), k).astype(np.float64)
