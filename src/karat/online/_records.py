"""What a log holds: the queries that people asked, with what came back, and the events that tell what they did then.

They are structs and not dataclasses because they are encoded while a user waits: a field is one position of an array. A
new field goes to the end and has a default, so that journals written by earlier versions stay readable.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from msgspec import Struct

IMPRESSION = "impression"
"""A document was shown; ``rank`` says where."""
READ_AFTER_SEARCH = "read_after_search"
"""A document was opened after a search: a click."""
RE_SEARCH = "re_search"
"""A query was asked again; ``query`` is the one that had not been enough."""
SCROLL_PAST = "scroll_past"
"""A document was seen and passed over."""
REFERENCE = "reference"
"""Text of a document was used in what was written next."""
VALIDATE_USEFUL = "validate_useful"
VALIDATE_NOT_USEFUL = "validate_not_useful"
TASK_OUTCOME = "task_outcome"
"""The task ended; ``value`` says how well, from 0 to 1."""

EVENT_KINDS = (
    IMPRESSION,
    READ_AFTER_SEARCH,
    RE_SEARCH,
    SCROLL_PAST,
    REFERENCE,
    VALIDATE_USEFUL,
    VALIDATE_NOT_USEFUL,
    TASK_OUTCOME,
)
"""The kinds of events that karat understands. Any other word is a free action, which is kept as it is."""


def is_outcome(value: float) -> bool:
    """Return whether a number can say how well a task ended: 0 is failed, 1 is the best.

    >>> [is_outcome(value) for value in (0, 0.5, 1, 7, -1, float("nan"))]
    [True, True, True, False, False, False]
    """
    return 0 <= value <= 1


class LoggedHit(Struct, frozen=True, array_like=True, gc=False):
    """A document, or a part of one, that was returned.

    >>> LoggedHit("wifi", 1, 0.8).id
    'wifi'
    """

    document: str
    rank: int
    """From 1."""
    score: float | None = None
    channels: tuple[str, ...] = ()
    """The channels that found it before fusion."""
    span: tuple[int, int] | None = None
    """Its position in the document's canonical text, in bytes."""
    section: str = ""
    chunk: str = ""
    """The system's own id, if that is not the document's."""

    @property
    def id(self) -> str:
        """The system's own id: that of the chunk, or the document's."""
        return self.chunk or self.document


class LoggedQuery(Struct, frozen=True, array_like=True, tag="query"):
    """A query that was asked, and what came back.

    >>> query = LoggedQuery("1", 1.7e9, "wifi password", hits=(LoggedHit("wifi", 1), LoggedHit("pool", 2)), count=2)
    >>> query.documents, query.rank_of("pool"), query.rank_of("spa")
    (('wifi', 'pool'), 2, None)
    """

    id: str
    """Made by the writer, unique, and in the order of time."""
    time: float
    """When it was asked, in seconds since 1970, UTC."""
    text: str
    """What was asked, after redaction."""
    session: str = ""
    """A keyed hash of the session's id, unless the log keeps ids; empty if it has none."""
    user: str = ""
    """The same of the user's id."""
    intent: str = ""
    mode: str = ""
    tool: str = ""
    """What asked, such as ``memory_search``."""
    hits: tuple[LoggedHit, ...] = ()
    """Best first."""
    channels: dict[str, tuple[str, ...]] = {}
    """The ids that each channel returned before fusion, best first."""
    stages: dict[str, float] = {}
    """Milliseconds by stage."""
    weights: dict[str, float] = {}
    """The weights that channels were fused with."""
    answer: str | None = None
    """The text that was generated from the hits, after redaction; None if there is none."""
    citations: tuple[str, ...] = ()
    """The ids that the answer cites, in its order."""
    error: str = ""
    """Why it failed; empty if it did not."""
    latency: float | None = None
    """Milliseconds in all; None if that was not measured."""
    system: str = ""
    """The version or fingerprint of the system that answered."""
    weight: float = 1.0
    """How many queries it stands for: 1 / the rate of sampling."""
    trace: str = ""
    """The id of the trace in a tracing tool."""
    quality: float | None = None
    """What the system itself says of the quality of its hits."""
    attributes: dict[str, Any] = {}
    """What else was recorded, as JSON values."""
    count: int | None = None
    """How many hits came back. 0 is nothing found; None is not known, because nobody recorded what came back."""
    build: str = ""
    """The build or release of the code that answered."""
    index: str = ""
    """A hash or version of the index that was searched; at a constant build it should not change."""
    normaliser: str = ""
    """A fingerprint of how texts are normalised before they are cut: offsets under different ones do not compare."""
    flags: dict[str, str] = {}
    """The variants that were served, by the keys of their flags."""

    @property
    def documents(self) -> tuple[str, ...]:
        """The documents of the hits, best first; one that was returned in several parts is there several times."""
        return tuple([hit.document for hit in self.hits])

    def rank_of(self, document: str) -> int | None:
        """Return the best rank of a document, or None if it was not returned."""
        return next((hit.rank for hit in self.hits if hit.document == document), None)


class LoggedEvent(Struct, frozen=True, array_like=True, tag="event"):
    """What somebody, or an agent, did after a query.

    >>> LoggedEvent("2", 1.7e9, READ_AFTER_SEARCH, session="s", query="1", document="wifi", rank=1).kind
    'read_after_search'
    """

    id: str
    time: float
    """When it happened, in seconds since 1970, UTC."""
    kind: str
    """One of :data:`EVENT_KINDS`, or a free action."""
    session: str = ""
    user: str = ""
    query: str = ""
    """The id of the query that it belongs to; empty if that is not known."""
    document: str = ""
    rank: int | None = None
    """The rank, from 1, at which the document was shown; None if it does not come from a search, or is not known."""
    value: float | None = None
    """A number that belongs to it, such as the outcome of a task or seconds of reading."""
    weight: float = 1.0
    """How many events it stands for: 1 / the rate of sampling."""
    attributes: dict[str, Any] = {}
    """What else was recorded, as JSON values."""


Record = LoggedQuery | LoggedEvent


class Reader(Protocol):
    """Anything that yields the records of a log, such as a store.

    Records come in the order of their time, and of their id where times are equal. ``since`` is included, ``until`` is
    not; without them all records come. ``session`` leaves only those of one session, as it stands in the records.
    """

    def queries(
        self, since: float | None = None, until: float | None = None, *, session: str | None = None
    ) -> Iterator[LoggedQuery]:
        """Yield the queries that were asked in a span of time."""
        ...

    def events(
        self, since: float | None = None, until: float | None = None, *, session: str | None = None
    ) -> Iterator[LoggedEvent]:
        """Yield the events of a span of time."""
        ...
