"""What a harvest takes from all live queries, in a bounded amount of memory; that of parts adds up to that of all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec import field as default

from karat.core import GoldenSet, UsageError
from karat.feedback._choosing import Choice
from karat.feedback._counting import pick_first, trim
from karat.feedback._gathering import Gathering, LiveQuery, Said
from karat.feedback._learning import (
    LEAST_SESSIONS,
    DocumentConfidence,
    TriggerPhrase,
    Validation,
    list_phrases,
    order_confidences,
    order_phrases,
    track_confidence,
)
from karat.feedback._pairs import count_cells
from karat.feedback._rewording import MOST_WORDINGS, Proposal, Rewordings, order_proposals
from karat.feedback._traffic import index_golden
from karat.stats.clicks import ClickTotals
from karat.text import folded

PEOPLE = 50
"""For how many queries people are asked to judge the pool."""
SIZE = 200
DEPTH = 20
MOST_LEARNT = 100_000
"""So many phrases, validations and documents are listed."""
_COUNTED = 1_000
"""Live queries whose clicks are added up at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestPlan:
    """What to take; see :func:`harvest`."""

    size: int = SIZE
    people: int = PEOPLE
    depth: int = DEPTH
    least_sessions: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.size, self.depth, self.least_sessions) < 1 or self.people < 0:
            raise UsageError("size, depth and least_sessions are at least 1, and people at least 0")


@dataclass(frozen=True, slots=True)
class Learnt:
    """What an index could learn, and what is not listed of it."""

    phrases: tuple[TriggerPhrase, ...]
    validations: tuple[Validation, ...]
    confidence: tuple[DocumentConfidence, ...]
    notes: tuple[str, ...]


class HarvestSums(Struct):
    """What live queries and validations add up to."""

    choice: Choice
    most: int = MOST_LEARNT
    distinct: int = 0
    known: int = 0
    """Those that the golden set has."""
    rare: int = 0
    """Those of too few sessions."""
    proposals: dict[str, list[Proposal]] = default(default_factory=dict)
    """By the id of the golden query."""
    totals: ClickTotals = default(default_factory=ClickTotals)
    phrases: list[TriggerPhrase] = default(default_factory=list)
    phrase_count: int = 0
    said: list[Said] = default(default_factory=list)
    said_count: int = 0
    confidence: list[DocumentConfidence] = default(default_factory=list)
    document_count: int = 0

    def merge(self, other: HarvestSums) -> None:
        """Add other queries and documents, none of which is among these."""
        for name in ("distinct", "known", "rare", "phrase_count", "said_count", "document_count"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.choice.merge(other.choice)
        self.totals.merge(other.totals)
        for name, proposals in other.proposals.items():
            both = self.proposals.get(name, []) + proposals
            self.proposals[name] = pick_first(both, MOST_WORDINGS, order_proposals)
        self.phrases = pick_first(self.phrases + other.phrases, self.most, order_phrases)
        self.confidence = pick_first(self.confidence + other.confidence, self.most, order_confidences)
        self.said = pick_first(self.said + other.said, self.most, _order_newest)

    def list_learnt(self) -> Learnt:
        """Return what an index could learn, in its order: phrases by sessions, validations by time."""
        said = sorted(pick_first(self.said, self.most, _order_newest))
        phrases = pick_first(self.phrases, self.most, order_phrases)
        confidence = pick_first(self.confidence, self.most, order_confidences)
        listed = (
            ("phrases", len(phrases), self.phrase_count, "those of most sessions"),
            ("validations", len(said), self.said_count, "the newest"),
            ("documents with a confidence", len(confidence), self.document_count, "those with the highest"),
        )
        return Learnt(
            tuple(phrases),
            tuple(to_validation(own) for own in said),
            tuple(confidence),
            tuple(f"only {n:,} of {of:,} {what} are listed: {which}" for what, n, of, which in listed if n < of),
        )


def to_validation(said: Said) -> Validation:
    """Return what somebody said, as it is listed."""
    return Validation(query=said.query, text=said.text, document=said.document, useful=said.useful, rank=said.rank)


def _order_newest(said: Said) -> tuple[float, str, int]:
    return -said.time, said.query, said.place


@dataclass(slots=True)
class HarvestPicker:
    """Adds live queries to the sums of a harvest: each once, with all that is known of it."""

    golden: GoldenSet | None
    plan: HarvestPlan
    most: int = MOST_LEARNT
    sums: HarvestSums = field(init=False)
    _known: dict[str, str] = field(init=False)
    _rewordings: Rewordings = field(init=False)
    _waiting: list[LiveQuery] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sums = HarvestSums(Choice(self.plan.size, self.plan.seed), self.most)
        self._known = index_golden(self.golden)
        self._rewordings = Rewordings(self.golden or GoldenSet())

    def add_gathered(self, gathering: Gathering) -> None:
        """Add all that was gathered."""
        texts, documents = dict[str, list[Said]](), dict[str, list[Said]]()
        for said in gathering.said:
            texts.setdefault(folded(said.text), []).append(said)
            documents.setdefault(said.document, []).append(said)
        for key in {**gathering.queries, **texts}:
            self.add_query(gathering.queries.get(key), texts.get(key, []))
        for own in documents.values():
            self.add_document(own)
        self.finish()

    def add_query(self, live: LiveQuery | None, said: Iterable[Said]) -> None:
        """Add a query, with what was said after it; None stands for texts without a word."""
        is_rare = live is not None and live.sessions < self.plan.least_sessions
        if not is_rare:
            for own in said:
                self.sums.said_count += 1
                self.sums.said.append(own)
                trim(self.sums.said, self.most, _order_newest)
        if live is None:
            return
        self.sums.distinct += 1
        self._learn(live)
        self._waiting.append(live)
        if len(self._waiting) >= _COUNTED:
            self._add_totals()
        if live.key in self._known:
            self.sums.known += 1
        elif is_rare:
            self.sums.rare += 1
        else:
            self.sums.choice.add(live)
            self.propose(live)

    def add_document(self, said: Iterable[Said]) -> None:
        """Add all that was said of a document."""
        self.sums.document_count += 1
        self.sums.confidence += track_confidence(to_validation(own) for own in sorted(said))
        trim(self.sums.confidence, self.most, order_confidences)

    def finish(self) -> None:
        """Add what was put off."""
        self._add_totals()

    def _learn(self, live: LiveQuery) -> None:
        phrases = list_phrases(live.key, live.pairs, least=max(LEAST_SESSIONS, self.plan.least_sessions))
        self.sums.phrase_count += len(phrases)
        self.sums.phrases += phrases
        trim(self.sums.phrases, self.most, order_phrases)

    def propose(self, live: LiveQuery) -> None:
        """Look whether a query asks the same as a golden one."""
        if (proposal := self._rewordings.propose(live)) is not None:
            own = self.sums.proposals.setdefault(proposal.rewording.query, [])
            own.append(proposal)
            trim(own, MOST_WORDINGS, order_proposals)

    def _add_totals(self) -> None:
        self.sums.totals.merge(ClickTotals.of(count_cells({live.key: live.pairs for live in self._waiting})))
        self._waiting.clear()
