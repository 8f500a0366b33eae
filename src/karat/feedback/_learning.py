"""What an index could learn from behaviour, as rows to look at: nothing here changes an index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from karat.feedback._sessions import Session
from karat.text import folded

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


@dataclass(slots=True)
class PhraseCounts:
    """In how many sessions each phrase led to each document, counted while sessions pass by."""

    chosen: Counter[tuple[str, str]] = field(default_factory=Counter)
    useful: Counter[tuple[str, str]] = field(default_factory=Counter)
    not_useful: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, session: Session) -> None:
        """Count a session, in which a phrase counts once for a document."""
        asked = [(folded(own.query.text), own) for own in session.queries]
        self.chosen.update({(name, text) for text, own in asked if text for name in (*own.read, *own.useful)})
        self.useful.update({(name, text) for text, own in asked for name in own.useful})
        self.not_useful.update({(name, text) for text, own in asked for name in own.not_useful})

    def list_phrases(self, *, least: int = LEAST_SESSIONS) -> list[TriggerPhrase]:
        """Return the phrases of at least so many sessions; see :func:`learn_trigger_phrases`."""
        phrases = [
            TriggerPhrase(
                document=pair[0], phrase=pair[1], sessions=count, useful=self.useful[pair],
                not_useful=self.not_useful[pair],
            )
            for pair, count in self.chosen.items()
            if count >= least and self.not_useful[pair] <= self.useful[pair]
        ]  # fmt: skip
        return sorted(phrases, key=lambda phrase: (-phrase.sessions, phrase.document, phrase.phrase))


def learn_trigger_phrases(sessions: Iterable[Session], *, least: int = LEAST_SESSIONS) -> list[TriggerPhrase]:
    """Return the phrases by which people reached each document, those of most sessions first.

    A phrase needs ``least`` sessions, and at least as many that call the document useful as not.
    """
    counts = PhraseCounts()
    for session in sessions:
        counts.add(session)
    return counts.list_phrases(least=least)


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What somebody said of a document, with the query that had led to it."""

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
        for asked in session.queries:
            for documents, useful in ((asked.useful, True), (asked.not_useful, False)):
                for document in documents:
                    rank = asked.query.rank_of(document)
                    query = asked.query
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
    state: dict[str, tuple[float, int, int]] = {}
    for said in validations:
        confidence, count, useful = state.get(said.document, (initial, 0, 0))
        step = USEFUL_STEP if said.useful else NOT_USEFUL_STEP
        # Rounded, so that nine steps of a tenth are 0.9 and not a little less.
        state[said.document] = (round(min(max(confidence + step, 0.0), 1.0), 10), count + 1, useful + said.useful)
    return [
        DocumentConfidence(
            document=document, confidence=confidence, validations=count, useful=useful,
            promotable=confidence >= PROMOTION_CONFIDENCE and count >= PROMOTION_VALIDATIONS,
        )
        for document, (confidence, count, useful) in sorted(state.items(), key=lambda item: (-item[1][0], item[0]))
    ]  # fmt: skip
