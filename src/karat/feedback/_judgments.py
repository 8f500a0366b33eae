"""Judgments from behaviour: an estimate, its interval, how much it is based on, and where it comes from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from karat.feedback._pairs import PairCounts, QueryPairs, count_cells, count_pairs, list_pairs
from karat.feedback._sessions import Session
from karat.stats.clicks import (
    LEAST_IMPRESSIONS,
    Attractions,
    Cells,
    ClickTotals,
    combine_intervals,
    estimate_ctr,
    estimate_ips,
    estimate_propensities,
    estimate_sdbn,
    exact_interval,
)

Evidence = Literal["validated", "cited", "read"]
"""Where a judgment comes from, the most trusted first."""
Estimator = Literal["ips", "snips", "sdbn", "ctr"]
MARGINAL, RELEVANT = 0.1, 0.3
"""Of those who look at a document, the share that reads it, from which on it is marginal (1) or relevant (2).
The lower end of the interval has to reach it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviourJudgment:
    """What people's behaviour says about how well a document answers a query."""

    query: str
    """The query as most people write it."""
    document: str
    grade: int | None
    """From 0 to 3; None if too little is known. A document that nobody read is unjudged, not bad."""
    evidence: Evidence
    estimate: float
    """The share of people who call it useful, of answers that cite it, or of readers among those who look at it."""
    low: float
    high: float
    n: int
    """How many validations, or lists, that is based on."""
    estimator: str
    """How the estimate is made."""


def judge_behaviour(
    sessions: Iterable[Session] | PairCounts,
    *,
    estimator: Estimator = "snips",
    minimum: int = LEAST_IMPRESSIONS,
    confidence: float = 0.95,
) -> list[BehaviourJudgment]:
    """Return a judgment of every pair that somebody read, cited or validated, in the order of the alphabet.

    Explicit validation counts more than a citation, and that more than reading. Validation grades 3 or 0, by majority;
    a tie is no grade. A citation grades 2. Reading grades 1 or 2, by the lower end of an interval that holds those of
    all estimators, so that no way of looking at lists makes a grade too high. Where ranks never vary, the estimate is
    that of SDBN. What was shown and left alone has no judgment.
    """
    counts = sessions if isinstance(sessions, PairCounts) else count_pairs(sessions)
    totals = ClickTotals.of(counts.cells)
    return judge_pairs(counts.queries, totals, estimator=estimator, minimum=minimum, confidence=confidence)


def judge_pairs(
    queries: Mapping[str, QueryPairs],
    totals: ClickTotals,
    *,
    estimator: Estimator = "snips",
    minimum: int = LEAST_IMPRESSIONS,
    confidence: float = 0.95,
) -> list[BehaviourJudgment]:
    """Return the judgments of some queries, given the totals of all; see :func:`judge_behaviour`."""
    reads = _estimate_reads(count_cells(queries), totals, estimator, minimum, confidence)
    names = {text: pairs.text for text, pairs in queries.items()}
    judgments = []
    for place, (text, document) in enumerate(list_pairs(queries)):
        own = _Own(queries[text], names[text], document, place)
        judgment = _judge_votes(own, confidence) or _judge_citations(own, reads, confidence) or _judge_reads(own, reads)
        if judgment is not None:
            judgments.append(judgment)
    return judgments


@dataclass(frozen=True, slots=True)
class _Own:
    """A pair: what happened to the documents of its query, how people write that, the document, and its number."""

    pairs: QueryPairs
    text: str
    document: str
    place: int


@dataclass(frozen=True, slots=True)
class _Reads:
    """What the estimators say of each pair that was shown."""

    chosen: Attractions
    low: np.ndarray
    high: np.ndarray
    shown: np.ndarray


def _estimate_reads(cells: Cells, totals: ClickTotals, estimator: Estimator, minimum: int, confidence: float) -> _Reads:
    looked = estimate_propensities(totals, confidence=confidence)
    options: dict[str, Any] = {"whole": totals, "minimum": minimum, "confidence": confidence}
    estimates = {"ctr": estimate_ctr(cells, **options), "sdbn": estimate_sdbn(cells, **options)}
    if looked.depth > 1:
        for name, normalised in (("ips", False), ("snips", True)):
            estimates[name] = estimate_ips(cells, looked, self_normalised=normalised, **options)
    chosen = estimates.get(estimator, estimates["sdbn"])
    low, high = combine_intervals(list(estimates.values()))
    return _Reads(chosen, low, high, estimates["ctr"].n)


def _judge_votes(own: _Own, confidence: float) -> BehaviourJudgment | None:
    yes, no = own.pairs.useful.get(own.document, 0), own.pairs.not_useful.get(own.document, 0)
    if not yes + no:
        return None
    low, high = exact_interval(yes, yes + no, confidence)
    return BehaviourJudgment(
        query=own.text, document=own.document, grade=None if yes == no else 3 if yes > no else 0, evidence="validated",
        estimate=yes / (yes + no), low=low, high=high, n=yes + no, estimator="votes",
    )  # fmt: skip


def _judge_citations(own: _Own, reads: _Reads, confidence: float) -> BehaviourJudgment | None:
    if not (cited := own.pairs.cited.get(own.document, 0)):
        return None
    lists = max(cited, int(reads.shown[own.place]) if own.place < len(reads.shown) else 0)
    low, high = exact_interval(cited, lists, confidence)
    return BehaviourJudgment(
        query=own.text, document=own.document, grade=2, evidence="cited", estimate=cited / lists, low=low, high=high,
        n=lists, estimator="citations",
    )  # fmt: skip


def _judge_reads(own: _Own, reads: _Reads) -> BehaviourJudgment | None:
    place = own.place
    value = float(reads.chosen.value[place])
    if math.isnan(value) or not reads.chosen.clicks[place]:
        return None
    low, high = float(reads.low[place]), float(reads.high[place])
    grade = 2 if low >= RELEVANT else 1 if low >= MARGINAL else None
    return BehaviourJudgment(
        query=own.text, document=own.document, grade=grade, evidence="read",
        estimate=min(max(value, low), high), low=low, high=high, n=int(reads.chosen.n[place]),
        estimator=reads.chosen.estimator,
    )  # fmt: skip
