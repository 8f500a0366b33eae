"""What ``karat label`` prints of proposals."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from karat.schema._golden import GoldenDiff
from karat.schema._types import Count
from karat.schema.labelling._lines import ProposalChange, ProposalDecision

State = Literal["open", "accepted", "refused"]


class ProposalSummary(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A proposal in one line."""

    proposal: str
    state: State
    by: str
    at: str
    reason: str
    changes: Count


class LabelProposals(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The proposals of a project, the latest first."""

    proposals: tuple[ProposalSummary, ...]
    left_out: tuple[str, ...] = ()
    """Proposals that cannot be read, and what to do."""


class ProposedPair(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pair of query and document that a proposal grades, with what people need to follow it."""

    query: str
    question: str
    """The text of the query."""
    document: str
    target: str
    """The document, or a span of it."""
    title: str
    excerpt: str
    """The words of the span, or how the document begins."""
    before: int | None
    """The grade that the golden set has now; null if it has none, or the proposal was decided on."""
    after: int | None
    """The grade that it would have; null if the proposal does not fit, or was decided on."""
    grades: dict[str, int]
    """Who says which grade, before anybody settled it."""
    settled: dict[str, int] = {}
    """Who settled what the others disagreed on, and the grade."""
    now: int | None = None
    """The grade that the golden set has now, also after the decision; null if it has none."""


class LabelProposal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A proposal, and what it would change in the current golden set."""

    proposal: str
    state: State
    by: str
    at: str
    reason: str
    changes: tuple[ProposalChange, ...]
    diff: GoldenDiff | None
    """Null if it does not fit the golden set, or was decided on."""
    problem: str
    """Why it does not fit; empty if it does."""
    left_out: dict[str, Count]
    """What was labelled and is not proposed, by reason."""
    decision: ProposalDecision | None
    pairs: tuple[ProposedPair, ...] = ()
    """What it grades, query by query: at most the first thousand pairs."""
    next: str = ""
    """What to do after it was accepted; empty otherwise."""
