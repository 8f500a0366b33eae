"""A trace: what a system returned for one question, and what it recorded on the way there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from karat.core._context import Context
from karat.core._hit import Hit, document_of
from karat.core._hit_list import HitList
from karat.core._judgment import Span

_NO_CONTEXT = Context()
_EMPTY: Mapping[str, Any] = {}
"""The telemetry and the envelope of all traces that have none; nobody changes those of a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A stage that a question went through, and the list of hits after it.

    >>> Stage(name="candidate", channel="dense", hits=(Hit("wifi", 0.8), Hit("pool", 0.7))).count
    2
    """

    name: str
    """Such as candidate, filter, fusion, rerank, fallback or final-rank."""
    channel: str = ""
    """The channel whose candidates these are, such as lexical or dense; empty for a stage after the fusion."""
    inputs: int | None = None
    """How many hits it was given; None if that is not known."""
    outputs: int | None = None
    """How many hits it returned, of which ``hits`` may be only the first; None if that is not known."""
    milliseconds: float | None = None
    hits: tuple[Hit, ...] = ()
    """The list after the stage, best first; empty if it was not recorded."""

    @property
    def label(self) -> str:
        """The name under which the times of a trace have it: that of the stage, with its channel.

        >>> Stage(name="candidate", channel="dense").label
        'candidate.dense'
        """
        return f"{self.name}.{self.channel}" if self.channel else self.name

    @property
    def count(self) -> int:
        """How many hits it returned, as far as that is known."""
        return len(self.hits) if self.outputs is None else self.outputs


@dataclass(frozen=True, slots=True)
class Citation:
    """What an answer cites, under the system's own id."""

    id: str
    document: str = ""
    """The document that it belongs to; by default the one that the id names."""
    span: Span | None = None
    """The position of the cited text in the document's canonical text, in bytes."""
    section: str = ""
    block: str = ""

    def __post_init__(self) -> None:
        if not self.document:
            object.__setattr__(self, "document", document_of(self.id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What a system returned for one question."""

    query: str
    """The id of the query."""
    text: str
    """The question as it was asked."""
    hits: tuple[Hit, ...] = ()
    """Best first."""
    timings: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds by stage; ``total`` is the time around the system."""
    error: str = ""
    """Why the question failed; then there are no hits."""
    paraphrase: int = 0
    """0 for the text of the query, otherwise the number of the paraphrase, from 1."""
    repeat: int = 0
    """The number of the repeat, from 0."""
    judged: str = ""
    """A digest of the judged documents as they were; "" if not known, and for paraphrases and repeats."""
    stages: tuple[Stage, ...] = ()
    """The stages in their order, if the system records them; the candidates of each channel are a stage."""
    context: Context = _NO_CONTEXT
    """The session, turn, time and tenant of the question."""
    answer: str = ""
    """The text that was generated from the hits."""
    citations: tuple[Citation, ...] = ()
    """What the answer cites, in its order."""
    refused: bool = False
    """Whether the system said that it cannot answer."""
    opinions: Mapping[str, float | str] = field(default_factory=lambda: _EMPTY)
    """What judges say of the answer: a value from 0 to 1, or why there is none. They are in a file of their own."""
    telemetry: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    """What else the system recorded, as JSON values that karat keeps as they are: mode, fallback, token ratio, delta-S
    of each hit, lambda state and so on."""
    envelope: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    """The envelope of the record that the trace was read from: schema_version, event, ts, trace_id, agent_id, mem_rev,
    mem_hash, index_hash."""

    @property
    def listed(self) -> Sequence[Hit]:
        """The hits as they are held: a :class:`HitList`, or the tuple; for those who need no objects."""
        listed: Sequence[Hit] = _held_hits.__get__(self)
        return listed


_held_hits: Any = vars(Trace)["hits"]
"""The slot of the hits, which has a ``HitList`` until somebody asks for the objects."""


def _make_hits(trace: Trace) -> tuple[Hit, ...]:
    listed = _held_hits.__get__(trace)
    if type(listed) is HitList:
        listed = listed.hits()
        _held_hits.__set__(trace, listed)
    hits: tuple[Hit, ...] = listed
    return hits


setattr(Trace, "listed", _held_hits)  # noqa: B010 (the slot itself, which is read without a call)
setattr(Trace, "hits", property(_make_hits, _held_hits.__set__))  # noqa: B010 (a type checker takes it for a field)
