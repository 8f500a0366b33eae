"""How deep measures look into lists, and which of them look deeper than the lists of a run go."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from karat.core import Measure
from karat.evaluation._evaluation import Evaluation


def deepest_cutoff(measures: Iterable[str | Measure]) -> int:
    """Return the highest cut-off of measures; 0 if none has a cut-off. An unknown measure is an error.

    >>> deepest_cutoff(["nDCG@10", "R@100", "AP"])
    100
    """
    return max((math.ceil(Measure.parse(measure).cutoff or 0) for measure in measures), default=0)


def looks_at_whole_lists(measure: str | Measure) -> bool:
    """Return whether a measure has no cut-off, so that a list that was cut at k changes what it means.

    >>> [name for name in ("AP", "AP@10", "Rprec", "TrueEmpty") if looks_at_whole_lists(name)]
    ['AP', 'Rprec']
    """
    parsed = Measure.parse(measure)
    row = parsed.definition
    ranks = row.queries == "answerable" and row.higher_is_better is not None and not row.traced
    return ranks and row.unjudged != "independent" and (parsed.cutoff is None or row.cutoff == "recall")


def describe_depth(evaluation: Evaluation, measure: str) -> list[str]:
    """Return a note if a measure looks deeper than the lists of a run go: its value is that of shorter lists."""
    k: Any = evaluation.provenance.settings.get("k")
    depth = deepest_cutoff([measure])
    if k and looks_at_whole_lists(measure):
        return _describe_cut(evaluation, measure, k)
    if not k or depth <= k:
        return []
    request = (
        f"{k} were asked for: set [eval] k = {depth}, or --k {depth}"  # a run from elsewhere does not say how many
    )
    reason = request if evaluation.provenance.versions else f"the longest list of the run has {k}"
    return [f"{measure} looks at {depth} hits, but {reason}"]


def _describe_cut(evaluation: Evaluation, measure: str, k: int) -> list[str]:
    """Return a note if a measure without a cut-off was computed from lists that were cut at k."""
    system = evaluation.provenance.system
    cut = sum(len(documents) >= k for documents in evaluation.lists.values())
    if not cut or not evaluation.provenance.versions or system.get("longest", math.inf) <= k:
        return []
    means = f"it is {measure}@{k}" if "@" not in measure else "it says less than its name"
    lists = f"{cut:,} of {len(evaluation.lists):,} lists end there"
    return [f"{measure} looks at whole lists, but {k} hits were asked for, and {lists}: {means}; set [eval] k, or --k"]
