"""Decisions on runs without a system: scores and rules as a test wants them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evaluations import change, make_evaluation
from karat.evaluation import Evaluation
from karat.gate import Check, Decision, Policy, Rule, decide
from karat.gate._operations import KINDS

GOLDEN = {"name": "tiny", "version": "1", "fingerprint": "sha256:aa"}
SETTINGS = {"k": 10, "paraphrases": False, "repeat": 1, "sample": None, "seed": 0, "unit": "document",
            "normaliser": "karat-1"}  # fmt: skip


def run_of(columns: Mapping[str, Sequence[float]] | None = None, **fields: Any) -> Evaluation:
    """A run with these scores of q1, q2, q3 ...; what is not given is as in any other run of these tests."""
    known: dict[str, Any] = {
        "name": "mine",
        "golden": GOLDEN,
        "system": {"kind": "test"},
        "fingerprint": "sha256:bb",
        "settings": SETTINGS,
        "values": {
            name: {f"q{i}": float(value) for i, value in enumerate(column, 1)}
            for name, column in (columns or {}).items()
        },
    }
    return make_evaluation(**known | fields)


def gate(candidate: Evaluation, baseline: Evaluation | None, *rules: Rule, **fields: Any) -> Decision:
    """Decide by these rules; ``segments`` are the queries of segments, all else belongs to the policy."""
    segments = fields.pop("segments", None)
    if segments is not None:
        candidate = change(candidate, segments=segments)
    return decide(candidate, baseline, Policy(name="test", rules=rules, **fields))


def of_rules(decision: Decision) -> list[Check]:
    """The checks of a decision without the operational ones."""
    return [check for check in decision.checks if check.kind not in KINDS]


def only(candidate: Evaluation, baseline: Evaluation | None, rule: Rule, **fields: Any) -> Check:
    """Decide by a rule that makes one check, and return it; operational checks are left out."""
    (check,) = of_rules(gate(candidate, baseline, rule, **fields))
    return check


def said(check: Check) -> tuple[str, str]:
    """The outcome and its reason."""
    return check.outcome.value, check.reason
