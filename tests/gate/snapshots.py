"""Runs without a system: scores as a test wants them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from karat.evaluation import Snapshot
from karat.gate import Check, Decision, Policy, Rule, decide

GOLDEN = {"name": "tiny", "version": "1", "fingerprint": "sha256:aa"}
SETTINGS = {"k": 10, "paraphrases": False, "repeat": 1, "sample": None, "seed": 0, "unit": "document",
            "normaliser": "karat-1"}  # fmt: skip


def run_of(columns: Mapping[str, Sequence[float]] | None = None, **fields: Any) -> Snapshot:
    """A run with these scores of q1, q2, q3 ...; what is not said is as in any other run of these tests."""
    columns = columns or {}
    size = max(map(len, columns.values()), default=0)
    queries = tuple(f"q{i + 1}" for i in range(size))
    known: dict[str, Any] = {
        "name": "mine",
        "golden": GOLDEN,
        "system": {"kind": "test"},
        "fingerprint": "sha256:bb",
        "settings": SETTINGS,
        "values": {
            name: {query: (float(value),) for query, value in zip(queries, column, strict=False)}
            for name, column in columns.items()
        },
        "means": {name: mean(column) for name, column in columns.items()},
        "queries": queries,
    }
    return Snapshot(**known | fields)


def mean(column: Sequence[float]) -> float:
    """The mean of those that are numbers."""
    there = [value for value in column if not math.isnan(value)]
    return math.fsum(there) / len(there) if there else math.nan


def gate(candidate: Snapshot, baseline: Snapshot | None, *rules: Rule, **fields: Any) -> Decision:
    """Decide by these rules; ``groups`` are the queries of segments, all else belongs to the policy."""
    groups = fields.pop("groups", None)
    return decide(candidate, baseline, Policy(name="test", rules=rules, **fields), groups)


def only(candidate: Snapshot, baseline: Snapshot | None, rule: Rule, **fields: Any) -> Check:
    """Decide by a rule that makes one check, and give it."""
    (check,) = gate(candidate, baseline, rule, **fields).checks
    return check


def said(check: Check) -> tuple[str, str]:
    """Give the outcome and its reason."""
    return check.outcome.value, check.reason
