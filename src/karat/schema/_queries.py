"""The queries of a decision document: scores, hits, what was expected, and why a query failed."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from karat.schema._types import Number, Rank, Score

FIELDS = ("category", "type", "intent")
"""The fields of a query that a report shows."""


# A large report has millions of these rows, none of which can be part of a cycle: gc=False spares memory and time.
class HitRow(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A hit of a query."""

    rank: Rank
    id: str
    document: str
    score: Number
    grade: Annotated[int | None, Meta(description="null where nobody judged it.")]
    was: Annotated[Rank | None, Meta(description="The rank of its document in the baseline.")]
    channels: Annotated[dict[str, int], Meta(description="Its ranks before fusion, by channel.")] = {}


class LeftRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """A document that was among the first of the baseline and is no longer found."""

    document: str
    title: str
    was: Rank
    grade: int | None


class ExpectedRow(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A relevant document, and the rank at which it was found."""

    document: str
    title: str
    grade: int
    rank: Annotated[Rank | None, Meta(description="null where it was not found.")]


class QueryRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A query: its scores, what was found and what was expected."""

    id: str
    text: str
    category: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    intent: str | UnsetType = UNSET
    scores: dict[str, Number]
    baseline: dict[str, Number]
    error: Annotated[str, Meta(description="The error message if the system failed; otherwise empty.")]
    unfound: Annotated[bool, Meta(description="Whether nothing relevant was found for a query that has an answer.")]
    unjudged: (
        Annotated[
            bool, Meta(description="Whether it has an answer, and the golden set nothing that is relevant to it.")
        ]
        | UnsetType
    ) = UNSET
    unanswerable: Annotated[bool, Meta(description="Whether the right answer is no answer.")] | UnsetType = UNSET
    false_answer: (
        Annotated[bool, Meta(description="Whether it is unanswerable, and got hits, and no refusal.")] | UnsetType
    ) = UNSET
    refused: (
        Annotated[bool, Meta(description="Whether it has an answer, and was refused in some wording or repeat.")]
        | UnsetType
    ) = UNSET
    was_failed: (
        Annotated[
            bool,
            Meta(
                description="Whether the baseline got an error, or found nothing relevant; absent if it was not asked."
            ),
        ]
        | UnsetType
    ) = UNSET
    ms: Score
    hits: tuple[HitRow, ...]
    left: Annotated[tuple[LeftRow, ...], Meta(description="Documents of the baseline that are no longer found.")] = ()
    expected: tuple[ExpectedRow, ...]

    @property
    def fields(self) -> dict[str, str]:
        """The fields that the query has, of category, type and intent."""
        return {name: value for name in FIELDS if (value := getattr(self, name))}


class Passage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Title and beginning of a text that was found."""

    title: str
    snippet: str


class QueryFailure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A query that failed, and why."""

    query: str
    reasons: tuple[str, ...]
    cause: (
        Annotated[
            str, Meta(description="The first cause that the run alone shows, as karat explain --no-ask names it.")
        ]
        | UnsetType
    ) = UNSET
    since: (
        Annotated[
            Literal["new", "old"], Meta(description="Whether the baseline did not fail it, or did; absent if unknown.")
        ]
        | UnsetType
    ) = UNSET
    had: (
        Annotated[str, Meta(description="A relevant document that the baseline had, and its rank there.")] | UnsetType
    ) = UNSET

    @property
    def lines(self) -> tuple[str, ...]:
        """The reasons, the cause and the mark against the baseline, as reports show them."""
        had = f", and had {self.had}" if self.had else ""
        marks = {"new": f"new: the baseline did not fail it{had}", "old": "old: the baseline failed it, too"}
        return (*self.reasons, *((self.cause,) if self.cause else ()), *((marks[self.since],) if self.since else ()))
