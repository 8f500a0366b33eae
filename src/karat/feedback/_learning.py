"""What an index could learn from behaviour, as rows to look at: nothing here changes an index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from karat.feedback._pairs import QueryPairs, count_pairs
from karat.feedback._sessions import Session

INITIAL_CONFIDENCE, USEFUL_STEP, NOT_USEFUL_STEP = 0.5, 0.10, -0.05
PROMOTION_CONFIDENCE, PROMOTION_VALIDATIONS = 0.9, 5
LEAST_SESSIONS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerPhrase:
    """A phrase that led people to a document."""

    document: str
    phrase: str
    sessions: int
    """In how many sessions somebody asked so and read the document, or called it useful."""
    useful: int
    not_useful: int


def list_phrases(text: str, pairs: QueryPairs, *, least: int = LEAST_SESSIONS) -> list[TriggerPhrase]:
    """Return what the folded text of a query says of documents; see :func:`learn_trigger_phrases`."""
    return [
        TriggerPhrase(
            document=document, phrase=text, sessions=count, useful=pairs.useful.get(document, 0),
            not_useful=pairs.not_useful.get(document, 0),
        )
        for document, count in pairs.chosen.items()
        if count >= least and pairs.not_useful.get(document, 0) <= pairs.useful.get(document, 0)
    ]  # fmt: skip


def order_phrases(phrase: TriggerPhrase) -> tuple[int, str, str]:
    """Return what phrases are sorted by: those of most sessions first."""
    return -phrase.sessions, phrase.document, phrase.phrase


def learn_trigger_phrases(sessions: Iterable[Session], *, least: int = LEAST_SESSIONS) -> list[TriggerPhrase]:
    """Return the phrases by which people reached each document, those of most sessions first.

    A phrase needs ``least`` sessions, and at least as many that call the document useful as not.
    """
    counts = count_pairs(sessions)
    phrases = (list_phrases(text, pairs, least=least) for text, pairs in counts.queries.items())
    return sorted(chain.from_iterable(phrases), key=order_phrases)


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What somebody said about a document, with the query that led to it."""

    query: str
    """The id of the query."""
    text: str
    document: str
    useful: bool
    rank: int | None
    """The rank at which it was shown; None if the query did not return it."""


def list_validations(sessions: Iterable[Session]) -> Iterator[Validation]:
    """Yield every validation with its query. One that is not useful marks a retrieval that failed."""
    for session in sessions:
        for search in session.queries:
            for documents, useful in ((search.useful, True), (search.not_useful, False)):
                for document in documents:
                    rank = search.query.rank_of(document)
                    query = search.query
                    yield Validation(query=query.id, text=query.text, document=document, useful=useful, rank=rank)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentConfidence:
    """How far validations confirm a document, by the rule of "agent"."""

    document: str
    confidence: float
    validations: int
    useful: int
    promotable: bool
    """Whether it has reached a confidence of 0.9, with at least five validations."""


def track_confidence(
    validations: Iterable[Validation], *, initial: float = INITIAL_CONFIDENCE
) -> list[DocumentConfidence]:
    """Return the confidence in each document: +0.10 for useful, -0.05 for not useful, from 0 to 1, in their order.

    >>> said = [Validation(query="q", text="wifi", document="wifi", useful=u, rank=1) for u in (True,) * 5 + (False,)]
    >>> [track_confidence(said[:n])[0].promotable for n in (4, 5, 6)]
    [False, True, True]
    """
    votes: dict[str, list[bool]] = {}
    for said in validations:
        votes.setdefault(said.document, []).append(said.useful)
    confidences = (rate_document(document, own, initial=initial) for document, own in votes.items())
    return sorted(confidences, key=order_confidences)


def rate_document(document: str, votes: Sequence[bool], *, initial: float = INITIAL_CONFIDENCE) -> DocumentConfidence:
    """Return the confidence in a document, given whether people called it useful, in the order of time."""
    confidence = initial
    for useful in votes:
        step = USEFUL_STEP if useful else NOT_USEFUL_STEP
        # Rounded, so that nine steps of a tenth are 0.9 and not a little less.
        confidence = round(min(max(confidence + step, 0.0), 1.0), 10)
    return DocumentConfidence(
        document=document, confidence=confidence, validations=len(votes), useful=sum(votes),
        promotable=confidence >= PROMOTION_CONFIDENCE and len(votes) >= PROMOTION_VALIDATIONS,
    )  # fmt: skip


def order_confidences(own: DocumentConfidence) -> tuple[float, str]:
    """Return what documents are sorted by: those of most confidence first."""
    return -own.confidence, own.document
