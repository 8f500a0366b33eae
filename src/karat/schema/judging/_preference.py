"""Which of two runs has the better answers."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from karat.schema._opinion import JudgeSpending
from karat.schema._types import Count

Preference = Annotated[float, Meta(ge=-1, le=1)]


class PreferredAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which answer to a query is better."""

    query: str
    value: Preference
    """1 for that of the first run, -1 for that of the second, 0 for neither."""
    reasons: list[str]
    """What the judge says, in either order."""


class PreferenceReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``karat judge prefer --json`` prints."""

    runs: tuple[str, str]
    judge: str
    first: Count
    """Queries whose answer is better in the first run."""
    second: Count
    even: Count
    """Queries in which neither is better, or the judge prefers another answer in the other order."""
    scored: Count
    total: Count
    """Queries that both runs were asked."""
    difference: Preference | None
    """The mean over the queries: 1 if the first run is better in all of them, -1 if the second is."""
    low: Preference | None
    """The lower end of the 95 % interval of the difference (BCa bootstrap over the queries)."""
    high: Preference | None
    p: float | None
    """The two-sided p-value of the sign-flip test that neither is better."""
    unsteady: Count
    """Answers on which the judge contradicts itself when they change places."""
    first_place: Count
    """How often the judge preferred the answer that stood first, whichever it was."""
    second_place: Count
    reasons: dict[str, Count]
    """Why answers could not be compared, and how many."""
    queries: list[PreferredAnswer]
    spending: JudgeSpending
