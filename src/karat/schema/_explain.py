"""What ``karat explain --json`` prints: where relevant documents stand, and why queries fail."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from karat.schema._types import Count, Number, Rank, SystemChange

StandingState = Literal[
    "found",
    "in another section",
    "wrong section",
    "cut by k",
    "dropped by the reranker",
    "below the cut",
    "not retrieved",
    "not in the index",
]

QueryChange = Literal["", "worse", "new", "old"]
_CHANGE = Meta(
    description="worse than in the other run or the baseline; new if that did not ask it; old if it failed there, too, "
    "and is not worse; empty if there is neither."
)


class StagePlace(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The place of a document in the list of a channel or stage."""

    stage: str
    rank: Annotated[Rank | None, Meta(description="null where the list does not have it.")]
    score: Number | None
    size: Annotated[Count | None, Meta(description="How many documents the list has; null where that is not known.")]


class ExpectedPassage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The part of a document that should have matched: the chunk of the index, or a block of the text."""

    id: str
    section: str
    span: Annotated[tuple[int, int], Meta(description="Bytes of the document's canonical text, the end excluded.")]
    text: str


class DocumentStanding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A relevant document, and where it stands in every channel and stage."""

    document: str
    title: str
    grade: int
    rank: Annotated[Rank | None, Meta(description="In the list that the system returned.")]
    was: Annotated[
        Rank | None, Meta(description="In the run that it is compared with, or in the baseline, if that had found it.")
    ] = None
    state: StandingState
    places: tuple[StagePlace, ...]
    beaten_by: Annotated[
        tuple[str, ...], Meta(description="Hits above it that are not relevant, hard negatives first.")
    ]
    hard_negatives: Annotated[
        tuple[str, ...], Meta(description="Those of them that the golden set calls hard negatives.")
    ] = ()
    matched: Annotated[tuple[str, ...], Meta(description="Words of the query that the passage has.")]
    unmatched: Annotated[tuple[str, ...], Meta(description="Words of the query that the passage lacks.")]
    passage: ExpectedPassage | None


class CauseFinding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A cause that explains what a query lost, with its evidence."""

    cause: str
    title: str
    strength: Annotated[float, Meta(ge=0, le=1, description="The share of the loss that it explains, as far as known.")]
    evidence: str
    fix: str


class StageMove(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A document that another run had at another place, and the first stage whose lists differ."""

    document: str
    grade: int | None
    rank: Rank | None
    was: Rank | None
    stage: Annotated[str, Meta(description="The first channel or stage that has it elsewhere; empty if not known.")]
    stage_rank: Rank | None
    stage_was: Rank | None


class ExplainedQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A query: what was expected, where it stands, and why it is not among the hits."""

    query: str
    text: str
    lost: Annotated[float, Meta(ge=0, le=1, description="The share of the expected grades that is not among the hits.")]
    error: str
    expected: tuple[DocumentStanding, ...]
    causes: Annotated[tuple[CauseFinding, ...], Meta(description="The most likely first; empty if none is known.")]
    moved: tuple[StageMove, ...] = ()
    change: Annotated[QueryChange, _CHANGE] = ""
    falls: Annotated[
        dict[str, tuple[Number, Number]],
        Meta(
            description="The measures by which it is worse than in the other run or the baseline, the greatest fall "
            "first, each with its value then and now."
        ),
    ] = {}


class CauseGroup(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The queries that fail for the same reason."""

    cause: str
    title: str
    fix: str
    lost: Annotated[float, Meta(ge=0, description="The sum of the losses of its queries.")]
    queries: tuple[str, ...]
    change: Annotated[QueryChange, _CHANGE] = ""


class WhatIf(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What would change if one thing were different, over all queries that lost something."""

    change: str
    found: Annotated[Count, Meta(description="Relevant documents that are lost now, and would be among the hits.")]
    lost: Annotated[Count, Meta(description="Relevant documents that are among the hits now, and would be lost.")]
    queries: Annotated[Count, Meta(description="Queries for which it was tried.")]
    net: Annotated[
        float, Meta(description="The share of all that is lost that it would bring back, less what it costs.")
    ]


class ExplainDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why the queries of a run fail."""

    run: str
    file: str
    against: str | None
    baseline: Annotated[
        str | None, Meta(description="The accepted run whose lists tell what was found before; without against.")
    ] = None
    method: Annotated[
        Literal["counterfactual", "trace"],
        Meta(description="Whether the system was asked again with one thing changed, or only the run was read."),
    ]
    note: Annotated[str, Meta(description="Why the system was not asked again, or what it could not be asked.")]
    cut: Annotated[Rank, Meta(description="A relevant document below this rank counts as lost.")]
    queries: Count
    failed: Annotated[
        Count, Meta(description="Queries that failed, lost something relevant, or have no answer and got hits.")
    ]
    summary: str
    hints: tuple[str, ...]
    groups: tuple[CauseGroup, ...]
    what_if: tuple[WhatIf, ...]
    explained: tuple[ExplainedQuery, ...]
    worse: Annotated[
        Count | None, Meta(description="Queries worse than in the other run or the baseline; null if there is neither.")
    ] = None
    changes: Annotated[
        tuple[SystemChange, ...], Meta(description="In what the run and the other one, or the baseline, differ.")
    ] = ()
