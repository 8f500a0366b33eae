"""A session as a document: what was asked in it, and what became of that."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from karat.schema._types import Count
from karat.schema.feedback._harvest import Share


class SessionValidation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What somebody said of a document."""

    document: str
    useful: bool


class SessionQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A query of a session."""

    id: str
    text: str
    intent: str
    results: Annotated[tuple[str, ...], Meta(description="The documents that came back, best first, each once.")]
    selected: Annotated[tuple[str, ...], Meta(description="Those that were read.")]
    validated: tuple[SessionValidation, ...]
    repeats: Annotated[str, Meta(description="The id of the earlier query that it asks again; empty if none.")]
    outcome: str
    reciprocal_rank: Annotated[Share | None, Meta(description="Null if the golden set does not have the query.")]


class SessionSummary(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that is known about a session."""

    session: str
    queries: tuple[SessionQuery, ...]
    task_outcomes: Annotated[tuple[dict[str, Any], ...], Meta(description="What was said of how the task ended.")]
    searches: Count
    accessed: Annotated[Count, Meta(description="Documents that were read, each once.")]
    mean_reciprocal_rank: Annotated[Share | None, Meta(description="Null if the golden set has none of the queries.")]
    repeat_rate: Annotated[Share, Meta(description="The share of queries that ask an earlier one again.")]
    minutes: Annotated[float, Meta(ge=0)]
    unvalidated: Annotated[
        tuple[str, ...], Meta(description="Documents that were read, and of which nobody said more.")
    ]
