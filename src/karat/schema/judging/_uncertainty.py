"""Where the uncertainty of a decision on a judge's scores comes from."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from karat.schema._types import Count

Share = Annotated[float, Meta(ge=0, le=1)]


class UncertaintyRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parts of the variance of a measure's change since the baseline, and what would decide."""

    metric: str
    judge: str
    where: dict[str, str] | None
    """The segment; null for all queries."""
    queries: Share
    answers: Share | None
    """Null if nothing was asked twice."""
    votes: Share | None
    """How much is the judge's; null if it had one vote."""
    asked: Count
    """How many votes each answer has."""
    n: Count
    labels: Count
    """How many labels correct the change."""
    needed_queries: Count | None
    """How many queries would decide; null if the check has decided, or that is not known."""
    needed_votes: Count | None
    """How many votes for each answer would; null if they alone would not."""
    needed_labels: Count | None
    costs: dict[str, str]
    """What more queries and more votes would cost, by these words."""
