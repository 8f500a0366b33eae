"""A shadow run as a record: what the control returned, what the treatment did, and how the two lists differ."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from karat.online._hit_rows import split_id, to_count, to_float, to_text

ANSWERED: Final = "answered"
FAILED: Final = "failed"
TIMEOUT: Final = "timeout"
QUEUE_FULL: Final = "queue full"
BREAKER_OPEN: Final = "breaker open"
NO_WORKER: Final = "no worker"
UNFINISHED: Final = "unfinished"
CONTROL_FAILED: Final = "control failed"
CONTROL_UNREADABLE: Final = "control unreadable"
STATUSES = (
    ANSWERED,
    FAILED,
    TIMEOUT,
    QUEUE_FULL,
    BREAKER_OPEN,
    NO_WORKER,
    UNFINISHED,
    CONTROL_FAILED,
    CONTROL_UNREADABLE,
)
"""What may become of a sampled call.

The treatment answered, raised or returned no list of hits, or took too long. Or it was not asked: the queue was full,
the breaker open, all workers hung, or the process ended. Or there is nothing to compare it with: the control raised, or
returned something that cannot be read without changing it.
"""

IDENTICAL: Final = "identical"
REORDERED: Final = "reordered"
PARTLY_DIFFERENT: Final = "partly different"
DIFFERENT: Final = "different"
TREATMENT_FAILED: Final = "treatment failed"
NOT_COMPARED: Final = "not compared"
CLASSES = (IDENTICAL, REORDERED, PARTLY_DIFFERENT, DIFFERENT, TREATMENT_FAILED, NOT_COMPARED)
"""How two lists may differ; :func:`classify` has the bounds."""
LEAST_OVERLAP = 1 / 3
"""The least Jaccard overlap of lists that are only partly different: two lists of ten share five."""

_HALVES = (FAILED, TIMEOUT)


class MirroredPart(Struct, frozen=True, array_like=True):
    """A hit or a citation of an answer: its id, and the part of a document that it is."""

    id: str
    document: str
    section: str = ""
    block: str = ""
    span: tuple[int, int] | None = None
    """Its position in the document's canonical text, in bytes."""


class MirroredAnswer(Struct, frozen=True, array_like=True):
    """What one of the systems answered, if it answers and does not only search."""

    text: str
    """After redaction."""
    refused: bool = False
    citations: tuple[MirroredPart, ...] = ()
    hits: tuple[MirroredPart, ...] = ()
    """Best first, down to rank k: parts of documents, where lists have documents."""


Answers = tuple[MirroredAnswer | None, MirroredAnswer | None]
"""Those of the control and of the treatment; None for one that only searches, and where lists are not kept."""


class ShadowDraft(Struct, array_like=True, tag="shadow"):
    """A shadow run in the journal. A new field goes to the end and has a default."""

    id: str
    time: float
    feature: str
    text: Any
    session: Any = ""
    user: Any = ""
    query: Any = ""
    control: tuple[str, ...] = ()
    """Ids of documents or chunks, best first."""
    treatment: tuple[str, ...] = ()
    control_latency: float | None = None
    treatment_latency: float | None = None
    status: str = ANSWERED
    error: Any = ""
    k: int = 10
    weight: float = 1.0
    source: str = "live"
    lists: bool = True
    systems: tuple[str, str] = ("", "")
    attributes: dict[str, Any] | None = None
    answers: Answers = (None, None)


class LoggedShadow(Struct, frozen=True, array_like=True, tag="shadow"):
    """A call of the control that the treatment was asked, too, and how their lists differ."""

    id: str
    time: float
    """When the control was called, in seconds since 1970, UTC."""
    feature: str
    text: str
    """What was asked, after redaction."""
    session: str = ""
    user: str = ""
    query: str = ""
    """The id of the logged query that it belongs to; empty if that is not known."""
    control: tuple[str, ...] = ()
    """The documents of the control, best first, each once; empty also where lists are not kept."""
    treatment: tuple[str, ...] = ()
    control_latency: float | None = None
    """Milliseconds."""
    treatment_latency: float | None = None
    status: str = ANSWERED
    """One of :data:`STATUSES`."""
    error: str = ""
    k: int = 10
    """The lists are compared down to this rank."""
    weight: float = 1.0
    """How many calls it stands for: 100 / the percentage that is sampled."""
    source: str = "live"
    """``live`` or ``replay``."""
    lists: bool = True
    """Whether the lists are kept, and not only how they differ."""
    systems: tuple[str, str] = ("", "")
    """The names or fingerprints of the control and the treatment."""
    attributes: dict[str, Any] = {}
    difference: str = NOT_COMPARED
    """One of :data:`CLASSES`."""
    rbo: float | None = None
    """Extrapolated rank-biased overlap, p = 0.9; null, like all that follow, unless the treatment answered."""
    overlap: float | None = None
    """Jaccard at k."""
    tau: float | None = None
    """Kendall's tau-b over the union, absent documents tied behind the last."""
    top_changed: bool | None = None
    order_differences: int | None = None
    """The documents whose rank differs."""
    answers: Answers = (None, None)

    @property
    def is_comparable(self) -> bool:
        """Whether both lists are known: the treatment answered, or could not, which is a list of nothing.

        It could not if it was left alone because it failed, or all its calls hung.
        """
        left_alone = self.status in (BREAKER_OPEN, NO_WORKER) and bool(self.control)
        return self.lists and (left_alone or self.status in (ANSWERED, FAILED, TIMEOUT))


def classify(control: tuple[str, ...], treatment: tuple[str, ...], overlap: float) -> str:
    """Return how two lists differ that were cut at k, from them and their Jaccard overlap.

    - ``identical``: the same documents in the same order;
    - ``reordered``: the same documents in another order;
    - ``partly different``: an overlap of at least 1/3, so that two lists of ten share at least five;
    - ``different``: less.

    >>> classify(("a", "b"), ("b", "a"), 1.0), classify(("a", "b"), ("a", "c"), 1 / 3), classify((), ("a",), 0.0)
    ('reordered', 'partly different', 'different')
    """
    if control == treatment:
        return IDENTICAL
    if overlap == 1:
        return REORDERED
    return PARTLY_DIFFERENT if overlap >= LEAST_OVERLAP else DIFFERENT


def finish_shadow(draft: ShadowDraft) -> LoggedShadow:
    """Return the record that a draft stands for, with how its lists differ. What cannot be understood raises."""
    k = to_count(draft.k) or 10
    control, treatment = _list_documents(draft.control), _list_documents(draft.treatment)
    if draft.status not in STATUSES:
        raise ValueError(f"no status is called {draft.status!r}")
    kept = draft.lists
    return LoggedShadow(
        draft.id,
        draft.time,
        draft.feature,
        to_text(draft.text),
        to_text(draft.session),
        to_text(draft.user),
        to_text(draft.query),
        control if kept else (),
        treatment if kept else (),
        to_float(draft.control_latency),
        to_float(draft.treatment_latency),
        draft.status,
        to_text(draft.error),
        k,
        draft.weight,
        draft.source,
        kept,
        draft.systems,
        draft.attributes or {},
        **_compare(draft.status, control[:k], treatment[:k]),
        answers=draft.answers if kept else (None, None),
    )


def _list_documents(ids: tuple[str, ...]) -> tuple[str, ...]:
    """Return the documents of ids, each once, where it is ranked best."""
    return tuple(dict.fromkeys([split_id(name)[0] for name in ids]))


def _compare(status: str, control: tuple[str, ...], treatment: tuple[str, ...]) -> dict[str, Any]:
    if status != ANSWERED:
        return {"difference": TREATMENT_FAILED if status in _HALVES else NOT_COMPARED}
    from karat.stats.ranks import rank_similarity  # here, because a host that only writes needs no NumPy

    similarity = rank_similarity(control, treatment)
    return {
        "difference": classify(control, treatment, similarity.jaccard),
        "rbo": similarity.rbo,
        "overlap": similarity.jaccard,
        "tau": similarity.kendall_tau,
        "top_changed": similarity.top1_changed,
        "order_differences": similarity.order_differences,
    }
