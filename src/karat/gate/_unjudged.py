"""Decisions that hold whatever the grades of unjudged documents are."""

from __future__ import annotations

from dataclasses import replace

from karat.core import GoldenSet, Measure
from karat.evaluation import count_unjudged, find_ends
from karat.gate._check import Check
from karat.gate._decision import Decision, decide
from karat.gate._policy import is_measure
from karat.stats import Outcome

Key = tuple[str, str, str]


def hold_at_bounds(decision: Decision, golden: GoldenSet, *, seed: int = 0) -> Decision:
    """Return a decision in which no check passes unless it also does with the worst grades of unjudged documents.

    The worst grades are those with which the run has its worst scores and the baseline its best. Where a check would
    not pass with them it is inconclusive, and says how many documents to judge. No check becomes better.
    """
    candidate, baseline = find_ends(decision.candidate, decision.baseline, golden)
    ends = {_key(check): check for check in decide(candidate, baseline, decision.policy, seed=seed).checks}
    checks = tuple(
        _defer(check, ends.get(_key(check)), decision, golden)
        if check.outcome is Outcome.PASS and is_measure(check.metric) and check.metric
        else check
        for check in decision.checks
    )
    return replace(decision, checks=checks)


def _key(check: Check) -> Key:
    return check.name, check.kind, check.query


def _defer(check: Check, end: Check | None, decision: Decision, golden: GoldenSet) -> Check:
    """Return a check that passed, or an inconclusive one if it does not pass at the worst end."""
    if end is not None and end.outcome is Outcome.PASS:
        return check
    count = count_unjudged(decision.candidate, decision.baseline, golden, check.metric)
    return replace(
        check,
        outcome=Outcome.INCONCLUSIVE,
        reason=f"{check.reason}; but {_explain(count)}{_describe(end)}. {_advise(check.metric, decision)}",
    )


def _explain(count: int) -> str:
    if not count:
        return "what nobody judged could undo it, and the lists do not tell how"
    documents = "1 unjudged document" if count == 1 else f"{count:,} unjudged documents"
    return f"the grades of {documents} could undo it"


def _describe(end: Check | None) -> str:
    """Return what the numbers could be, if they are known."""
    if end is None or end.current is None:
        return ""
    against = "" if end.baseline is None else f" against {end.baseline:.4f}"
    return f" (at worst {end.current:.4f}{against})"


def _advise(metric: str, decision: Decision) -> str:
    depth = Measure.parse(metric).cutoff
    runs = "RUN" if decision.baseline is None else "RUN BASELINE"
    cut = f" --depth {depth}" if isinstance(depth, int) else ""
    return f"'karat golden pool {runs}{cut}' lists what to judge"
