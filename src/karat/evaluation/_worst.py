"""The worst values of measures, which answers that failed or are empty have in the gate."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from karat.core import Measure, Scores
from karat.measures import NO_OPINION, UNKNOWN_TEXT

UNANSWERED = ("nothing retrieved", "no chunks returned", "fewer than two results")
"""Why a measure has no value: the answer is to blame, and not the golden set."""


def find_worst(measure: str) -> float:
    """Return the worst value of a measure, which may be infinite; NaN for a count, of which no value is better.

    >>> find_worst("RR@10"), find_worst("DupRate@10"), find_worst("FalseHits@5"), find_worst("Utility")
    (0.0, 1.0, 5.0, -inf)
    """
    parsed = Measure.parse(measure)
    low, high = parsed.bounds
    higher = parsed.definition.higher_is_better
    return math.nan if higher is None else low if higher else high


def fill_worst(scores: Scores, lost: Collection[str]) -> Scores:
    """Return the scores with the worst value of each measure that is undefined for the answers to some queries.

    ``lost`` are the queries without an answer. A value that is missing because of the golden set stays missing.

    >>> scores = Scores.from_columns("mine", {"Judged@10": {"q1": 1.0}}, queries=["q1", "q2"],
    ...                              reasons={("q2", "Judged@10"): "nothing retrieved"})
    >>> scores.mean(), fill_worst(scores, ["q2"]).mean()
    ({'Judged@10': 1.0}, {'Judged@10': 0.5})
    """
    rows = [scores.rows[query] for query in lost if query in scores.rows]
    worst = np.array([find_worst(measure) for measure in scores.measures])
    blamed = [number for number, reason in enumerate(scores.reasons, 1) if reason in UNANSWERED]
    missing = np.zeros(scores.values.shape, bool)
    missing[rows] = np.isin(scores.codes[rows], blamed)
    # Left out of the mean, an answer on which the judge fails, or whose citation nobody can read, would make it better.
    unknown = (*NO_OPINION, UNKNOWN_TEXT)
    failed = [number for number, reason in enumerate(scores.reasons, 1) if reason.startswith(unknown)]
    missing |= np.isin(scores.codes, failed)
    missing &= np.isfinite(worst)
    if not missing.any():
        return scores
    return replace(
        scores,
        values=np.where(missing, worst, scores.values),
        codes=np.where(missing, 0, scores.codes).astype(np.uint8),
    )
