"""Repeated trials: how often a system succeeds at least once in k attempts, or every time."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np

from karat.core import Measure, Scores, UsageError


def pass_at_k(repeats: Sequence[Scores], k: int, *, threshold: float = 1.0, name: str = "trials") -> Scores:
    """Turn the scores of repeated trials of one system into pass@k and pass^k for each measure and query.

    A trial succeeds on a query when its score is at least ``threshold``. With n trials of which c succeed, draw k
    without replacement: pass@k is the probability that at least one is a success, 1 - C(n-c, k) / C(n, k) (Chen et
    al., Evaluating large language models trained on code, 2021), and pass^k that all are, C(c, k) / C(n, k) (Yao et
    al., tau-bench, 2024). A query for which a trial has no score is missing, with that trial's reason.

    >>> import karat
    >>> qrels = {"q": {"a": 1}}
    >>> trials = [karat.score(qrels, {"q": {d: 1.0}}, ["Success@1"]) for d in ("a", "x", "a")]
    >>> pass_at_k(trials, 2).mean()
    {'pass@2(Success@1>=1)': 1.0, 'pass^2(Success@1>=1)': 0.3333333333333333}
    """
    if k < 1:
        raise UsageError(f"pass@{k}: k should be at least 1")
    if len(repeats) < k:
        raise UsageError(f"pass@{k} needs at least {k} trial{'' if k == 1 else 's'}, and there are {len(repeats)}")
    first = repeats[0]
    if any(
        (t.queries, t.measures, t.definitions) != (first.queries, first.measures, first.definitions) for t in repeats
    ):
        raise UsageError("trials must have the same queries and measures")
    for measure in first.measures:
        if Measure.parse(measure).definition.higher_is_better is False:
            raise UsageError(f"a trial succeeds at {threshold:g} and above, but lower values of {measure} are better")
    n = len(repeats)
    ever = np.array([1 - comb(n - c, k) / comb(n, k) for c in range(n + 1)])
    always = np.array([comb(c, k) / comb(n, k) for c in range(n + 1)])
    reasons = tuple(dict.fromkeys(reason for scores in repeats for reason in scores.reasons))
    successes = np.sum([scores.values >= threshold for scores in repeats], axis=0)
    codes = np.zeros(first.codes.shape, np.uint8)
    for scores in reversed(repeats):
        renumbered = np.array([0, *(reasons.index(reason) + 1 for reason in scores.reasons)], np.uint8)
        codes = np.where(scores.codes > 0, renumbered[scores.codes], codes)
    values = np.hstack([np.where(codes > 0, np.nan, curve[successes]) for curve in (ever, always)])
    order = [column for j in range(len(first.measures)) for column in (j, j + len(first.measures))]
    labels = [f"{sign}({measure}>={threshold:g})" for sign in (f"pass@{k}", f"pass^{k}") for measure in first.measures]
    return Scores(
        name=name,
        queries=first.queries,
        measures=tuple(labels[j] for j in order),
        values=values[:, order],
        codes=np.hstack([codes, codes])[:, order],
        reasons=reasons,
        not_in_run=tuple(q for q in first.queries if any(q in scores.not_in_run for scores in repeats)),
        not_judged=first.not_judged,
    )
