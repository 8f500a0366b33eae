"""The values of two runs that a rule compares, query by query."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import numpy as np

from karat.evaluation import Evaluation
from karat.gate._comparison import Pairs, pair_scores
from karat.gate._policy import Rule


def pair_with_lost(candidate: Evaluation, baseline: Evaluation, rule: Rule, queries: Sequence[str] | None) -> Pairs:
    """Return the scores of each query before and now.

    A query that has a score in the baseline, was asked and has none now counts as 0, unless lower is better.
    """
    pairs = pair_scores(candidate, baseline, rule.metric, queries)
    if rule.lower_is_better or not len(pairs):  # 0 would be a reward
        return pairs
    names, before = baseline.scores.present(rule.metric, queries)
    after = candidate.scores.look_up(rule.metric, names)
    missing = np.isnan(after)
    if not missing.any():
        return Pairs(queries=names, before=before, after=after)
    kept = [not lost or query in candidate.query_set for query, lost in zip(names, missing.tolist(), strict=True)]
    after = np.where(missing, 0.0, after)
    return Pairs(queries=tuple(compress(names, kept)), before=before[kept], after=after[kept])
