"""Floors and must-pass queries that a good run suggests, as TOML to paste into karat.toml. Nothing is written."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence

from karat.core import Measure
from karat.evaluation import Evaluation
from karat.gate import LIMITS, TESTS, Policy
from karat.schema import ProposedFloor, RuleProposal

_ERRORS = 2.0
_MUST_PASS = 5
_DIGITS = 100


def propose_rules(evaluation: Evaluation, policy: Policy) -> RuleProposal | None:
    """Return floors and must-pass queries that a run suggests; None if the policy has floors already, or none fits.

    A floor is the mean minus the larger of the tolerated drop and two standard errors of the mean, rounded down to
    hundredths: the same system on other questions of the same kind stays above it in about 98 of 100 cases. If each
    query has 0 or 1, Wilson's lower bound takes the place of the standard errors, which are 0 where all are right. The
    must-pass queries have a relevant hit at rank 1 in every wording and repeat, and have to keep it there.
    """
    if any(rule.min is not None and rule.is_measure for rule in policy.rules):
        return None
    floors = tuple(_propose_floors(evaluation, policy))
    if not floors:
        return None
    metric, certain = ("", []) if policy.must_pass else _find_certain(evaluation)
    must_pass = tuple(certain[:_MUST_PASS])
    return RuleProposal(
        floors=floors,
        must_pass=must_pass,
        must_pass_metric=metric if must_pass else "",
        certain=len(certain),
        toml="\n".join([*_render_must_pass(must_pass, metric, len(certain)), *_render_floors(floors)]) + "\n",
    )


def _propose_floors(evaluation: Evaluation, policy: Policy) -> Iterator[ProposedFloor]:
    for rule in policy.rules:
        if not rule.is_measure or rule.where is not None or rule.lower_is_better:
            continue
        values = list(evaluation.values(rule.metric).values())
        mean = evaluation.mean(rule.metric)
        if len(values) < 2 or math.isnan(mean):
            continue
        margin = max(policy.drop.margin(mean), _measure_error(values))
        floor = math.floor((mean - margin) * _DIGITS + 1e-9) / _DIGITS
        if floor > 0:
            limits = {name: getattr(rule, name) for name in (*LIMITS, *TESTS) if name != "min"}
            limits = {name: value for name, value in limits.items() if value is not None and value is not False}
            yield ProposedFloor(metric=rule.metric, mean=mean, margin=margin, floor=floor, keeps=limits)


def _measure_error(values: Sequence[float]) -> float:
    """Return how far below their mean the true mean may be: two standard errors, or Wilson's bound for 0 and 1.

    E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927) 209-212.

    >>> _measure_error([1.0, 1.0, 1.0, 1.0]), _measure_error([0.5, 0.5])
    (0.5, 0.0)
    """
    n = len(values)
    mean = math.fsum(values) / n
    if set(values) <= {0.0, 1.0}:
        z = _ERRORS * _ERRORS / n
        return mean - (mean + z / 2 - math.sqrt(z * mean * (1 - mean) + z * z / 4)) / (1 + z)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return _ERRORS * math.sqrt(variance / n)


def _find_certain(evaluation: Evaluation) -> tuple[str, list[str]]:
    """Return the measure that is 1 for a relevant hit at rank 1, and the queries that have one, in the set's order."""
    names = [name for name in evaluation.scores.measures if Measure.parse(name).definition.name == "RR"]
    values = evaluation.values(names[0]) if names else {}
    certain = [query for query in evaluation.queries if values.get(query) == 1 and query not in evaluation.failures]
    return (names[0] if names else ""), certain


def _render_must_pass(must_pass: tuple[str, ...], metric: str, certain: int) -> Iterator[str]:
    """Yield the lines that come first: what follows a rule belongs to that rule."""
    if not must_pass:
        return
    yield "# For the end of the table [gate]: questions that must keep a relevant hit at rank 1. These are"
    yield f"# {len(must_pass)} of {certain:,} that were found at rank 1; name those that must never be lost."
    yield "must_pass = ["
    for query in must_pass:
        yield f"    {{ query = {json.dumps(query, ensure_ascii=False)}, metric = {json.dumps(metric)}, min = 1 }},"
    yield "]"
    yield ""


def _render_floors(floors: tuple[ProposedFloor, ...]) -> Iterator[str]:
    yield "# Floors: the mean of this run minus the tolerated drop, or minus two standard errors of the mean if that is"
    yield "# more (for scores of 0 and 1: Wilson's bound)."
    yield "# They hold without a baseline, and stop a slow decline that no single comparison shows."
    for proposal in floors:
        yield ""
        yield "[[gate.rules]]"
        yield f"metric = {json.dumps(proposal.metric)}"
        yield f"min = {proposal.floor:g} # {proposal.mean:.4f} - {proposal.margin:.4f}"
        for name, value in proposal.keeps.items():
            yield f"{name} = {json.dumps(value)}"
