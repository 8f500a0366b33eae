"""What judges say of a run: the lines of a file of opinions, and the report of ``karat judge``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from karat.schema._types import Count

Share = Annotated[float, Meta(ge=0, le=1)]


class OpinionHeader(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line of a file of opinions: the run they belong to, and who judged."""

    karat: Literal["opinions"]
    format: Literal[1, 2]
    run: str
    """The SHA-256 of the run file. Opinions of another file are not used."""
    judge: str | UnsetType = UNSET
    """In format 1, what decides about all of the opinions."""
    judges: dict[str, str] | UnsetType = UNSET
    """In format 2, what decides about the opinions of each judge: its model, parameters and prompts. Scores of
    different judges are not compared."""


class JudgeFinding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that a judge has decided."""

    subject: str
    """The claim, the question, or which text it is."""
    verdict: bool | float
    text: Count | UnsetType = UNSET
    """The number of the text that decides, from 1."""
    quote: str | UnsetType = UNSET
    """The words of that text."""
    reason: str | UnsetType = UNSET


class OpinionDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of a file of opinions: one judge's opinion of one answer, in one vote."""

    query: str
    judge: str
    value: Share | None
    """From 0 to 1; null if it could not be measured."""
    reason: str | UnsetType = UNSET
    """Why there is no value."""
    paraphrase: Count | UnsetType = UNSET
    repeat: Count | UnsetType = UNSET
    vote: Count | UnsetType = UNSET
    findings: list[JudgeFinding] | UnsetType = UNSET


class JudgeSpending(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What judging took."""

    calls: Count
    cached: Count
    """Replies that were known from an earlier run."""
    input_tokens: Count
    output_tokens: Count
    money: Annotated[float, Meta(ge=0)]
    """In the currency of the prices; 0 without prices."""
    unmetered: Count = 0
    """Calls of which the server did not say how many tokens they took. Their tokens are not among the above; their
    money is, as the most that they may have cost."""


class JudgedMeasure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one judge says of all answers."""

    judge: str
    measure: str
    """The name of the measure that its opinions are, in gates and reports."""
    fingerprint: str = ""
    """What decides about its opinions: model, parameters and prompts; empty for a dry run."""
    mean: float | None
    """Over the queries that have a value, as ``karat eval`` prints it; null if none has."""
    scored: Count
    """How many queries have a value. Votes, repeats and wordings of a query count once."""
    total: Count
    """How many queries the run has, whatever came back."""
    low: float | None
    """The mean if every query without a value had the worst one; those that the measure is not for are left out."""
    high: float | None
    """The mean if every query without a value had the best one."""
    reasons: dict[str, Count]
    """Why queries have no value, and how many."""
    voted: Count = 0
    """How many answers have several votes."""
    disputed: Count = 0
    """On how many of these the votes differ."""
    spread: float | None = None
    """The standard deviation of the votes on an answer, averaged over these; null with one vote."""
    misquoted: Count = 0
    """How many verdicts did not count, because the words that the judge quotes are not in the text."""
    spared: Count = 0
    """How many answers are to questions that have none, so that the judge was not asked: its measure leaves them
    out."""


class JudgeReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``karat judge --json`` prints."""

    run: str
    """The run file."""
    run_id: str = ""
    """The id of the run: as in spans, metrics and log records (``karat.run.id``)."""
    opinions: str | None
    """The file of opinions; null for a dry run."""
    judge: str
    """What decides about the opinions of all judges together."""
    measures: list[JudgedMeasure]
    spending: JudgeSpending
    """What it took; for a dry run, what it would take at most, as far as that is known."""
    dry_run: bool
    kept: dict[str, str] = {}
    """Judges that had judged this run before, and were not asked now: their opinions stay. Each with what decides about
    them."""
    changed: dict[str, str] = {}
    """Judges that had judged this run before they changed, as by another model or more votes: what they said then was
    replaced. Each with what decided about that."""
    replaced: str = ""
    """Why opinions that were there are gone; empty if none are."""
    caveats: list[str] = []
    """What limits the opinions, such as texts that are not in their documents."""
