"""The lines of a run file: a header, then one trace on each line.

Where a field has no value, it is left out: a trace of a plain system has a query, its text, times and hits.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from karat.schema._types import Count

TRACE_FORMAT = 2
"""The format of the run files that this karat writes. Format 1, which has no stages, context, answer, citations,
telemetry and envelope, stays readable."""
LONGEST = 1e15
"""Milliseconds that no answer takes. A larger number is damage, and a sum of such numbers may be infinite."""
FARTHEST = 10**15
"""Bytes that no text has."""
Milliseconds = Annotated[float, Meta(ge=-LONGEST, le=LONGEST)]
Offset = Annotated[int, Meta(ge=-FARTHEST, le=FARTHEST)]
Range = Annotated[tuple[Offset, Offset], Meta(description="The first byte, and the one after the last.")]


class RunHeader(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line of a run file: where the run comes from. The last line is ``{"end": true}``."""

    karat: Literal["run"]
    format: Literal[1, 2]
    name: str
    """The name of the system."""
    golden: dict[str, Any]
    """Name, version and fingerprint of the golden set."""
    system: dict[str, Any]
    """The parts of the system, as it describes itself."""
    fingerprint: str
    """The fingerprint of the system."""
    settings: dict[str, Any]
    """How the system was asked: k, paraphrases, repeats and so on."""
    versions: dict[str, str]
    begun: str | UnsetType = UNSET
    """When the first question was asked, in UTC."""
    origin: dict[str, Any] | UnsetType = UNSET
    """Label, commit, branch, dirty, machine and ci, as far as they are known."""


class TraceHit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a system returned: a document, or a part of one."""

    id: str
    """The system's own id."""
    score: float
    document: str | UnsetType = UNSET
    """The document that it belongs to, where that is not the id."""
    span: Range | UnsetType = UNSET
    """Its position in the document's canonical text, in bytes."""
    section: str | UnsetType = UNSET
    block: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    """prose, code, table, figure or caption."""
    content: str | UnsetType = UNSET
    channels: dict[str, tuple[int, float]] | UnsetType = UNSET
    """Its rank, from 1, and its score in each channel that found it; rank 0 if it is not known."""
    stages: dict[str, float] | UnsetType = UNSET
    """Its score after each stage."""
    source_hash: str | UnsetType = UNSET
    tenant: str | UnsetType = UNSET
    locator: str | UnsetType = UNSET
    """Where it is in its source, in the system's own words."""


class TraceStage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A stage that a question went through, and the list after it."""

    name: str
    """Such as candidate, filter, fusion, rerank, fallback or final-rank."""
    channel: str | UnsetType = UNSET
    """The channel whose candidates these are."""
    inputs: Count | UnsetType = UNSET
    outputs: Count | UnsetType = UNSET
    ms: Milliseconds | UnsetType = UNSET
    hits: list[TraceHit] | UnsetType = UNSET


class TraceContext(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who asked a question, when, and in which conversation."""

    session: str | UnsetType = UNSET
    turn: Count | UnsetType = UNSET
    time: str | UnsetType = UNSET
    tenant: str | UnsetType = UNSET
    documents: tuple[str, ...] | UnsetType = UNSET
    """The documents in the session's working memory."""
    metadata: dict[str, Any] | UnsetType = UNSET


class TraceCitation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an answer cites."""

    id: str
    document: str | UnsetType = UNSET
    """The document that it belongs to, where that is not the id."""
    span: Range | UnsetType = UNSET
    section: str | UnsetType = UNSET
    block: str | UnsetType = UNSET


class TraceDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of a run file of format 2: what a system returned for one question, and what it recorded on the way."""

    query: str
    """The id of the query."""
    text: str
    """The question as it was asked."""
    paraphrase: Count | UnsetType = UNSET
    """The number of the paraphrase, from 1; left out for the query as it stands."""
    repeat: Count | UnsetType = UNSET
    """The number of the repeat, from 1; left out for the first answer."""
    judged: str | UnsetType = UNSET
    """A digest of the judged documents as they were."""
    ms: dict[str, Milliseconds]
    """Milliseconds by stage; ``total`` is the time around the system."""
    error: str | UnsetType = UNSET
    """Why the question failed; then there are no hits."""
    hits: list[TraceHit]
    """The best first."""
    stages: list[TraceStage] | UnsetType = UNSET
    context: TraceContext | UnsetType = UNSET
    answer: str | UnsetType = UNSET
    citations: list[TraceCitation] | UnsetType = UNSET
    refused: bool | UnsetType = UNSET
    """Whether the system said that it cannot answer."""
    telemetry: dict[str, Any] | UnsetType = UNSET
    """What else the system recorded."""
    envelope: dict[str, Any] | UnsetType = UNSET
    """The envelope of the record that the trace was read from, such as trace_id, agent_id and mem_rev."""
