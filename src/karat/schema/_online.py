"""What the verbs of ``karat online`` print that keep a log in order."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from karat.schema.watch import OnlineAlert, OnlineFlag, OnlineTrial


class OnlineIngest(Struct, frozen=True, kw_only=True):
    """What an ingester brought from the journal into the store."""

    records: int
    """The records that are new in the store."""
    repeated: int
    """Those that were in the store already."""
    damaged: int
    """The parts of segments that could not be read; they are kept in the folder ``torn`` of the journal."""
    segments: int
    """The segments that were read to their end and removed."""
    busy: bool
    """Whether another ingester is at work, so that this one did nothing."""
    corrected: int = 0
    """Records whose time could not be right: they have that of the writer's clock, and the other as an attribute."""


class OnlineTable(Struct, frozen=True, kw_only=True):
    """How much a table of the store holds."""

    rows: int
    first: str | None
    """The time of the first, in UTC; null if there is none."""
    last: str | None


class OnlineSegmentDamage(Struct, frozen=True, kw_only=True):
    """A part of a segment of the journal that cannot be read."""

    segment: str
    """The name of the segment in the journal."""
    position: int
    """Where the damage begins, in bytes."""
    bytes: int
    reason: str


class OnlineJournal(Struct, frozen=True, kw_only=True):
    """What is in the journal."""

    segments: int
    writers: int
    """How many segments have a writer that is alive."""
    bytes: int
    waiting: int
    """The records that are not in the store yet."""
    lag: float | None = None
    """For how many seconds the oldest of them has waited; null if there is none."""
    late: bool = False
    """Whether that is longer than fifteen minutes: nobody brings records into the store."""
    damages: tuple[OnlineSegmentDamage, ...] = ()
    """What cannot be read, and was not ingested yet; afterwards it is kept in the folder ``torn``."""


class OnlineDamage(Struct, frozen=True, kw_only=True):
    """A part of the journal that could not be read."""

    file: str
    """Its name in the folder ``torn`` of the journal."""
    bytes: int
    reason: str
    time: str
    """When the last of it was kept."""
    parts: int = 1
    """How many records, or pieces of them, could not be read for this reason."""


class OnlineRun(Struct, frozen=True, kw_only=True):
    """The run that was recorded last."""

    run: str
    kind: str
    time: str
    system: str
    queries: int
    outcome: str
    measures: Mapping[str, float | None]


class OnlineAcknowledgement(Struct, frozen=True, kw_only=True):
    """Who acknowledged dropped records, and how many there are."""

    time: str
    author: str
    reason: str
    dropped: Mapping[str, int]
    """How many that were, by reason; also fields and segments. Empty if there was nothing to acknowledge."""


class OnlineReceived(Struct, frozen=True, kw_only=True):
    """What a receiver of spans has done so far, all restarts together."""

    spans: int
    """Spans and log records that were accepted."""
    queries: int
    """Records of queries that they became."""
    events: int
    """Records of feedback, of evaluations and of what was done to a memory."""
    waiting: int
    """Spans that wait for the rest of their traces."""
    repeated: int
    """Spans that had come before, and were not stored again."""
    late: int
    """Spans that came when the record of their query was written; an event says what they say."""
    early: int
    """Traces that were written before they were complete, because too many waited."""
    unlinked: int
    """Feedback whose query is not known."""
    documents_by_text: int
    """Documents without an id: a hash of their text stands for it."""
    documents_without_id: int
    """Documents with neither an id nor a text: only their number is known."""
    ignored: Mapping[str, int]
    """What has nothing to do with retrieval, by kind."""
    refused: Mapping[str, int]
    """Requests that were refused, by reason; ``span`` counts single spans."""


class OnlineHealth(Struct, frozen=True, kw_only=True):
    """Whether a log works: what it holds, what waits, what was lost."""

    store: str
    healthy: bool
    """False if records or fields were dropped or may be lost and nobody acknowledged it, or could not be read."""
    bytes: int
    """Of the store; 0 if there is none yet."""
    queries: OnlineTable
    events: OnlineTable
    journal: OnlineJournal
    dropped: Mapping[str, int]
    """Records that hosts could not write, by reason: encode, too_large, outcome, disk, closed or other.

    The reason may also be the field that could not be recorded: time, latency, quality, count, flags, value, rank,
    document or query.
    """
    removed: int
    """Segments that somebody removed under a running host, which wrote them again; those before may be lost."""
    damages: tuple[OnlineDamage, ...]
    """What could not be read, as long as its file is in the folder ``torn``: whoever removes the file has seen it."""
    run: OnlineRun | None
    """Null if no run was recorded."""
    without_session: int = 0
    """Stored queries that have no session: what became of them is not known, and they are in no sample of sessions."""
    acknowledged: Mapping[str, int] = {}
    """How many of ``dropped`` and ``left_out``, and of ``removed`` under that name, somebody has acknowledged."""
    acknowledgements: tuple[OnlineAcknowledgement, ...] = ()
    """Who did, when and why, the oldest first."""
    free: int | None = None
    """Bytes that are free on the disk of the store; null if that cannot be found out."""
    trials: tuple[OnlineTrial, ...] = ()
    flags: tuple[OnlineFlag, ...] = ()
    """Those between nobody and everybody."""
    alerts: tuple[OnlineAlert, ...] = ()
    received: OnlineReceived | None = None
    """Null if nothing was ever received over HTTP."""
    odd_outcomes: int = 0
    """Stored events of the kind task_outcome, such as imported ones, whose value is not from 0 to 1: none counts."""
    left_out: Mapping[str, int] = {}
    """Records that were written without a field that could not be recorded, by field, such as hits that are objects."""


class OnlineForgetting(Struct, frozen=True, kw_only=True):
    """What was removed for a session or a user."""

    rows: int
    """Of the store."""
    frames: int
    """Of segments of the journal that are still written to: their records were overwritten."""
    archived: int
    """Of the archive."""
    damages: int
    """Files that could not be read and were removed, because nobody knows whose records they hold."""
    complete: bool
    """False if somebody still reads the store, or the disk is full, so that old pages are left: forget again later."""
    unread: tuple[str, ...] = ()
    """Files that could not be looked through, such as a damaged one of the archive: they may still have records."""
    other_keys: int = 0
    """How many other keys ids of this log were hashed with: records under those are still there."""


class OnlineRetention(Struct, frozen=True, kw_only=True):
    """What was removed because it was too old."""

    before: Mapping[str, str]
    """The first day that is kept, by table."""
    removed: Mapping[str, int]
    """Rows by table."""
    archived: int
    """Queries that were written to the archive."""


class OnlineRecorded(Struct, frozen=True, kw_only=True):
    """A run that was recorded in the store."""

    run: str
    """Its id: the name of the run, and a digest of the decision."""
    new: bool
    """False if it was there already."""


class OnlineImport(Struct, frozen=True, kw_only=True):
    """What was imported into a store."""

    queries: int
    """The queries that are new in the store."""
    events: int
    repeated: int
    """The records that were there already."""
    ignored: Mapping[str, int] = {}
    """Spans that have nothing to do with retrieval, by kind."""


class OnlineExport(Struct, frozen=True, kw_only=True):
    """What was exported from a store."""

    queries: int
    events: int
    files: tuple[str, ...]
    """In the folder that was named."""
    invalid: int
    """The records with something that the format does not allow; they were written all the same."""
    reason: str
    """What that is in the first of them; empty if there is none."""
