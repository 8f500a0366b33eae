"""The worst values of measures, which answers that failed or are empty have in the gate."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from karat.core import Measure, Scores
from karat.measures import NO_OPINION, UNKNOWN_TEXT

UNANSWERED = ("nothing retrieved", "no chunks returned", "fewer than two results")
"""Why a measure has no value: the answer is to blame, and not the golden set."""


NOT_JUDGED, UNKNOWN = "not judged", "of unknown text"
WHY: Mapping[str, tuple[str, ...]] = {NOT_JUDGED: NO_OPINION, UNKNOWN: (UNKNOWN_TEXT,)}
"""Why an answer has no value although it should: a word for it, and how the reasons begin. Left out of the mean, an
answer on which the judge fails, or whose citation nobody can read, would make it better."""


def find_worst(measure: str) -> float:
    """Return the worst value of a measure, which may be infinite; NaN for a count, where no value is better.

    >>> find_worst("RR@10"), find_worst("DupRate@10"), find_worst("FalseHits@5"), find_worst("Utility")
    (0.0, 1.0, 5.0, -inf)
    """
    parsed = Measure.parse(measure)
    low, high = parsed.bounds
    higher = parsed.definition.higher_is_better
    return math.nan if higher is None else low if higher else high


def count_unmeasured(tables: Iterable[Scores], measures: Iterable[str]) -> dict[str, dict[str, dict[str, int]]]:
    """Return how many answers have no value for which the gate blames the run: by measure, by why, and by query.

    ``tables`` has one table for each wording and repeat.
    """
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for table in tables:
        for why, begins in WHY.items():
            if not any(reason.startswith(begins) for reason in table.reasons):
                continue
            missing = _find_missing(table, begins)
            for measure in measures:
                rows = np.flatnonzero(missing[:, table.columns[measure]]).tolist()
                own = counts.setdefault(measure, {}).setdefault(why, {}) if rows else {}
                for row in rows:
                    own[table.queries[row]] = own.get(table.queries[row], 0) + 1
    return counts


def _find_missing(table: Scores, begins: tuple[str, ...]) -> NDArray[np.bool_]:
    return table.is_missing_for(lambda reason: reason.startswith(begins))


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
    missing = np.zeros(scores.values.shape, bool)
    missing[rows] = scores.is_missing_for(lambda reason: reason in UNANSWERED)[rows]
    unknown = tuple(begin for begins in WHY.values() for begin in begins)
    missing |= _find_missing(scores, unknown)
    missing &= np.isfinite(worst)
    if not missing.any():
        return scores
    return replace(
        scores,
        values=np.where(missing, worst, scores.values),
        codes=np.where(missing, 0, scores.codes).astype(np.uint8),
    )
