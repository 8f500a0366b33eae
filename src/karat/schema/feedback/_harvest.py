"""What ``karat harvest --json`` prints, and the rows of the file that says where grades come from."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from karat.schema._types import Count

Grade = Annotated[int, Meta(ge=0, le=3)]
Share = Annotated[float, Meta(ge=0, le=1)]


class BehaviourRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pair of query and document, and what people's behaviour says about it."""

    query: Annotated[str, Meta(description="The id of the query in the candidate.")]
    document: str
    grade: Annotated[Grade | None, Meta(description="Null if too little is known for a grade.")]
    evidence: Literal["validated", "cited", "read"]
    estimate: Annotated[Share, Meta(description="The share of validations, answers or readers that speak for it.")]
    low: Annotated[Share, Meta(description="The lower end of the 95 % interval.")]
    high: Share
    n: Annotated[Count, Meta(description="The validations or lists that it is based on.")]
    estimator: str


class HarvestGroup(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Queries of one intent that ended alike."""

    intent: str
    outcome: str
    distinct: Annotated[Count, Meta(description="How many different queries there are.")]
    chosen: Annotated[Count, Meta(description="How many of them are in the candidate.")]


class HarvestReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was taken from live traffic, and what was left out."""

    asked: Annotated[Count, Meta(description="Queries in the log.")]
    distinct: Annotated[Count, Meta(description="Different queries.")]
    known: Annotated[Count, Meta(description="Different queries that the golden set has already; left out.")]
    rare: Annotated[Count, Meta(description="Different queries of too few sessions; left out.")]
    chosen: Annotated[Count, Meta(description="Queries in the candidate.")]
    failures: Annotated[Count, Meta(description="Those of them that fail at least as often as they succeed.")]
    for_people: Annotated[Count, Meta(description="Queries whose pairs people are asked to judge.")]
    pairs: Annotated[Count, Meta(description="Pairs to judge.")]
    proposals: Annotated[Count, Meta(description="Grades that behaviour proposes.")]
    unsure: Annotated[Count, Meta(description="Pairs with behaviour that is too little for a grade.")]
    groups: tuple[HarvestGroup, ...]
    oddities: Annotated[dict[str, int], Meta(description="What was odd about the records, counted.")]
    notes: tuple[str, ...]
    nothing_to_judge: Annotated[
        tuple[str, ...],
        Meta(description="The ids of queries that people should look at, and for which there is no pair to judge."),
    ] = ()
    paraphrases: Annotated[
        Count, Meta(description="Texts that may be other wordings of golden queries, for a person to accept.")
    ] = 0
