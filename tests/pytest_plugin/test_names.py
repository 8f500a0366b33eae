"""The items that a marked test becomes."""

from __future__ import annotations

from karat.gate import Policy, Rule
from karat.pytest_plugin._rules import list_names


def test_a_rule_that_only_answers_break_has_no_item() -> None:
    """It would be skipped in every suite of a retriever; a system that breaks it fails the first item."""
    assert list_names(Policy(rules=(Rule(metric="RR@10", min=0.5),))) == ["failed", "empty", "latency", "RR@10"]
