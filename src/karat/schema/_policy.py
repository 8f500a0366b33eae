"""What ``karat gate --show-policy --json`` prints, and the rules that ``karat baseline update --json`` proposes."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct


class PolicyRule(Struct, frozen=True, kw_only=True):
    """A rule of a policy."""

    metric: str
    where: dict[str, str] | None
    """The segment that the rule is about; null for all queries."""
    asks: str
    """What it asks for, in words."""
    limits: dict[str, float | bool]
    """Its limits and tests by their keys in karat.toml."""


class PolicyTolerance(Struct, frozen=True, kw_only=True):
    """The drop that tests tolerate, and their level."""

    relative: float
    absolute: float
    alpha: float


class PolicyOperations(Struct, frozen=True, kw_only=True):
    """The limits of the operational rules; null for one that is switched off."""

    failed: float | None
    empty: float | None
    latency: float | None
    texts: float | None


class PolicyDocument(Struct, frozen=True, kw_only=True):
    """A policy: everything that a gate asks of a run."""

    name: str
    purpose: str
    extends: str
    """The policy that it changes; empty if it stands alone."""
    changes: tuple[str, ...]
    operations: PolicyOperations
    rules: tuple[PolicyRule, ...]
    must_pass: tuple[dict[str, Any], ...]
    tolerance: PolicyTolerance | None
    """Null if no rule makes a test."""
    on_inconclusive: Literal["pass", "fail"]
    on_changed_questions: Literal["fail", "pass"]
    """Whether a run of which too many questions are not compared fails, whatever on_inconclusive is."""
    on_unjudged: Literal["ignore", "bounds"]
    """Whether unjudged documents count as not relevant, or no check passes unless it does whatever their grades are."""
    list_below: dict[str, float]
    documents_may_change: bool
    notes: tuple[str, ...]


class ProposedFloor(Struct, frozen=True, kw_only=True):
    """A floor that a run suggests."""

    metric: str
    mean: float
    margin: float
    """The larger of the tolerated drop and two standard errors of the mean; for scores of 0 and 1, Wilson's bound."""
    floor: float
    keeps: dict[str, float | bool]
    """The other limits and tests of the rule, which stay as they are."""


class RuleProposal(Struct, frozen=True, kw_only=True):
    """Rules that a good run suggests; nothing has been written."""

    floors: tuple[ProposedFloor, ...]
    must_pass: tuple[str, ...]
    """The first of the queries that have a relevant hit at rank 1."""
    certain: int
    """How many queries have a relevant hit at rank 1."""
    toml: str
    """The same as a text to paste at the end of the table [gate] of karat.toml."""
    must_pass_metric: str = ""
    """The measure that has to stay 1 for these queries, such as RR@10; empty if there are none."""


class AcceptanceReport(Struct, frozen=True, kw_only=True):
    """What ``karat baseline update --json`` prints: the recorded baseline, and the rules that karat suggests."""

    path: str
    name: str
    queries: int
    forced: str
    inconclusive: tuple[str, ...]
    """The reasons of the inconclusive checks in spite of which the run was accepted."""
    proposal: RuleProposal | None
