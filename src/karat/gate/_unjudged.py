"""Decisions that hold whatever the grades of unjudged documents are."""

from __future__ import annotations

from dataclasses import replace

from karat.core import GoldenSet, Measure
from karat.evaluation import Evaluation, count_unjudged, find_ends
from karat.gate._check import Check
from karat.gate._decision import Decision, decide
from karat.gate._operations import KINDS
from karat.gate._policy import is_measure
from karat.stats import Outcome

Key = tuple[str, str, str]
_BY_ITSELF = ("min", "max", "must_pass")
"""The kinds of checks that do not look at the baseline."""


def hold_at_bounds(decision: Decision, golden: GoldenSet, *, seed: int = 0) -> Decision:
    """Return a decision in which no check passes unless it also does with the worst grades of unjudged documents.

    For limits of the run by itself these are the grades with which it has its worst scores. For changes they are also
    those with which the baseline has its best. Where a check would not pass with them it is inconclusive, and says how
    many documents to judge. No check becomes better.
    """
    before, policy = decision.baseline, decision.policy
    alone, _ = find_ends(decision.candidate, None, golden)
    limits = _find_checks(decide(alone, before, policy, seed=seed))
    changes = _find_checks(decide(*find_ends(decision.candidate, before, golden), policy, seed=seed))
    checks = []
    for check in decision.checks:
        by_itself = check.kind in _BY_ITSELF
        end = (limits if by_itself else changes).get(_key(check))
        if check.outcome is Outcome.PASS and _is_judged(check) and (end is None or end.outcome is not Outcome.PASS):
            check = _defer(check, end, decision.candidate, None if by_itself else before, golden)
        checks.append(check)
    return replace(decision, checks=tuple(checks))


def _is_judged(check: Check) -> bool:
    """Return whether a check depends on judgments, and could be worse with more of them."""
    return bool(check.metric) and is_measure(check.metric) and check.kind not in KINDS


def _find_checks(decision: Decision) -> dict[Key, Check]:
    return {_key(check): check for check in decision.checks}


def _key(check: Check) -> Key:
    return check.name, check.kind, check.query


def _defer(
    check: Check, end: Check | None, candidate: Evaluation, baseline: Evaluation | None, golden: GoldenSet
) -> Check:
    """Return a check that passed as inconclusive, with what could undo it and how to find that out."""
    count = count_unjudged(candidate, baseline, golden, check.metric)
    doubt = f"but {_explain(count)}{_describe(end)}"
    advice = _advise(check.metric, "RUN" if baseline is None else "RUN BASELINE")
    return replace(check, outcome=Outcome.INCONCLUSIVE, reason=f"{check.reason}; {doubt}: {advice}")


def _explain(count: int) -> str:
    if not count:
        return "documents that nobody judged could undo it"
    documents = "1 unjudged document" if count == 1 else f"{count:,} unjudged documents"
    return f"the grades of {documents} could undo it"


def _describe(end: Check | None) -> str:
    """Return what the numbers could be, if they are known."""
    if end is None or end.current is None:
        return ""
    against = "" if end.baseline is None else f" against {end.baseline:.4f}"
    return f" (at worst {end.current:.4f}{against})"


def _advise(metric: str, runs: str) -> str:
    depth = Measure.parse(metric).cutoff
    cut = f" --depth {depth}" if isinstance(depth, int) else ""
    return f"'karat golden pool {runs}{cut}' lists them"
