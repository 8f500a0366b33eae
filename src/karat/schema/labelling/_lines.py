"""Lines of the files in which labels, queues and proposals are kept."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from karat.schema._types import Count

Verdict = Literal["grade", "skip", "cannot_tell", "undo"]
QueueKind = Literal["pool", "decide", "rows", "uncertain", "disputes"]
Bytes = tuple[Count, Count]


class LabelHead(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line of a person's labels."""

    karat: Literal["labels"]
    version: int
    who: str


class LabelLine(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A person's label of a pair of query and document, or the withdrawal of an earlier one."""

    key: str
    """Names the line: what comes twice with the same key counts once."""
    at: str
    """When it was saved, in UTC."""
    verdict: Verdict = "grade"
    query: str = ""
    document: str = ""
    grade: Count | None = None
    span: Bytes | None = None
    """The bytes of the document's canonical text that the grade is about; null for the whole document."""
    quote: str = ""
    """The words of the span when it was chosen; empty in a file of an earlier version."""
    note: str = ""
    seconds: float | None = None
    """How long the person took."""
    queue: str = ""
    guideline: str = ""
    """The version of the guidelines that the person could read."""
    settles: bool = False
    """Whether it settles what others disagree on."""
    undoes: str = ""
    """The key of the line that an undo takes back."""


class QueueHead(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The first line of a queue: who is asked about what, and why."""

    karat: Literal["label-queue"]
    version: int
    name: str
    kind: QueueKind
    at: str
    seed: int = 0
    overlap: float = 0.0
    """The share of the pairs that several people label."""
    people: Count = 2
    """How many people label such a pair."""
    sources: tuple[str, ...] = ()
    """The runs, or the files of rows, that the pairs come from."""
    depth: Count = 0
    measure: str = ""
    gains: tuple[float, ...] = ()
    """The gain of each grade, where the queue decides between two runs."""
    adjudicator: str = ""
    """Who settles disputes; the queue is for this person alone."""


class NewQuery(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A query that the golden set does not have, with the row by which it would come into the set."""

    text: str
    row: dict[str, Any] = {}


class QueueRow(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The documents of one query that are to be labelled; lists are in the order of the documents, or empty."""

    query: str
    documents: tuple[str, ...]
    several: tuple[int, ...] = ()
    """The places of those that several people label."""
    weights: tuple[float, ...] = ()
    """How much each matters: its weight in the difference of two runs, or how uncertain judges are."""
    spans: tuple[Bytes | None, ...] = ()
    """The passage that a system returned, in bytes of the document's canonical text."""
    texts: tuple[str, ...] = ()
    """The passage, where the golden set has no such text."""
    judged: tuple[tuple[float, float], ...] = ()
    """Weight and gain of what was judged before."""
    lacking: tuple[float, ...] = ()
    """The weights of documents that cannot be judged."""
    new: NewQuery | None = None


class ProposalHead(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The first line of a proposal."""

    karat: Literal["proposal"]
    version: int
    name: str
    by: str
    at: str
    reason: str = ""
    left_out: dict[str, Count] = {}
    """What was labelled and is not proposed: how many pairs, by reason."""


class ProposalChange(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One change of a golden set: exactly one of judgment, query, paraphrase and wording."""

    judgment: dict[str, Any] | None = None
    """A row of judgments.jsonl: it is added, or replaces that of the same annotator."""
    query: dict[str, Any] | None = None
    """A row of queries.jsonl, which is added."""
    paraphrase: str = ""
    """A wording that is added to the query ``of``."""
    wording: str = ""
    """A text that replaces that of the query ``of``, which was ``before``."""
    of: str = ""
    before: str = ""


class ProposalDecision(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The last line of a proposal that somebody has decided on."""

    accepted: bool
    by: str
    at: str
    reason: str
