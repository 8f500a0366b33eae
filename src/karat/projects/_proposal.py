"""Floors and must-pass queries that a good run suggests, as TOML to paste into karat.toml. Nothing is written."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

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
    hundredths: the same system on other questions of the same kind stays above it in about 98 of 100 cases. The
    must-pass queries have a relevant hit at rank 1 in every wording and repeat.
    """
    if any(rule.min is not None and rule.is_measure for rule in policy.rules):
        return None
    floors = tuple(_propose_floors(evaluation, policy))
    if not floors:
        return None
    must_pass = () if policy.must_pass else tuple(_find_certain(evaluation))
    return RuleProposal(floors=floors, must_pass=must_pass, toml=_render(floors, must_pass))


def _propose_floors(evaluation: Evaluation, policy: Policy) -> Iterator[ProposedFloor]:
    for rule in policy.rules:
        if not rule.is_measure or rule.where is not None or rule.lower_is_better:
            continue
        values = list(evaluation.values(rule.metric).values())
        mean = evaluation.mean(rule.metric)
        if len(values) < 2 or math.isnan(mean):
            continue
        centre = math.fsum(values) / len(values)
        variance = math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1)
        margin = max(policy.drop.margin(mean), _ERRORS * math.sqrt(variance / len(values)))
        floor = math.floor((mean - margin) * _DIGITS + 1e-9) / _DIGITS
        if floor > 0:
            limits = {name: getattr(rule, name) for name in (*LIMITS, *TESTS) if name != "min"}
            limits = {name: value for name, value in limits.items() if value is not None and value is not False}
            yield ProposedFloor(metric=rule.metric, mean=mean, margin=margin, floor=floor, keeps=limits)


def _find_certain(evaluation: Evaluation) -> Iterator[str]:
    """Yield the first queries with a relevant hit at rank 1, in the order of the golden set."""
    names = [name for name in evaluation.scores.measures if Measure.parse(name).definition.name == "RR"]
    values = evaluation.values(names[0]) if names else {}
    certain = [query for query in evaluation.queries if values.get(query) == 1 and query not in evaluation.failures]
    yield from certain[:_MUST_PASS]


def _render(floors: tuple[ProposedFloor, ...], must_pass: tuple[str, ...]) -> str:
    lines = [
        "# Floors: the mean of this run minus the larger of the tolerated drop and two standard errors of the mean.",
        "# They hold without a baseline, and stop a slow decline that no single comparison shows.",
    ]
    if must_pass:
        ids = ", ".join(json.dumps(query, ensure_ascii=False) for query in must_pass)
        lines += ["[gate]", f"must_pass = [{ids}] # found at rank 1; keep those that must never be lost"]
    for proposal in floors:
        lines += [
            "",
            "[[gate.rules]]",
            f"metric = {json.dumps(proposal.metric)}",
            f"min = {proposal.floor:g} # {proposal.mean:.4f} - {proposal.margin:.4f}",
            *(f"{name} = {json.dumps(value)}" for name, value in proposal.keeps.items()),
        ]
    return "\n".join(lines) + "\n"
