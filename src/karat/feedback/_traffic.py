"""Sums over live traffic, taken while sessions pass by; those of parts of the sessions add up to those of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache

from msgspec import Struct
from msgspec import field as default

from karat.core import ExactSum, GoldenSet
from karat.feedback._counting import Counts, add_counts, count
from karat.feedback._sessions import AskedQuery, Oddities, Session
from karat.stats import ValueCounts
from karat.stats.clicks import ShareSums
from karat.text import folded

BY_ANSWER, VALIDATED = "used, by the answer alone", "useful, of those validated"
RATES = ("nothing found", "error", "asked again", "not useful", "failed", "used", BY_ANSWER, "unknown", VALIDATED)
"""Each query has one outcome: the first four are those that failed; failed, used and unknown are all queries."""

_DAY = 86_400


@lru_cache(1024)
def name_day(number: int) -> str:
    """Return the date of a day, by its number since 1970."""
    return datetime.fromtimestamp(number * _DAY, UTC).strftime("%Y-%m-%d")


COVERED, CITED = "queries that the set has", "their answers that cite a relevant document"


def _make_shares() -> dict[str, ShareSums]:
    return {name: ShareSums() for name in (*RATES, COVERED, CITED)}


class Traffic(Struct):
    """What is added up over sessions, however many there are, in whole numbers or exactly."""

    queries: int = 0
    weight: ExactSum = default(default_factory=ExactSum)
    events: int = 0
    first: float = float("inf")
    last: float = float("-inf")
    sessions: int = 0
    """Those with a query."""
    seconds: ValueCounts = default(default_factory=ValueCounts)
    """Of each session."""
    latencies: ValueCounts = default(default_factory=ValueCounts)
    ranks: ValueCounts = default(default_factory=ValueCounts)
    outcomes: int = 0
    """Sessions of which is known how well their task ended."""
    outcome: ExactSum = default(default_factory=ExactSum)
    """How well, added up."""
    rates: dict[str, ShareSums] = default(default_factory=_make_shares)
    days: Counts = default(default_factory=dict)
    failures: Counts = default(default_factory=dict)
    """By day."""
    intents: dict[str, Counts] = default(default_factory=dict)
    """Outcomes, by intent."""
    met: set[str] = default(default_factory=set)
    """The ids of golden queries that somebody asked."""
    total: int = 0
    wordless: int = 0
    oddities: Oddities = default(default_factory=Oddities)

    def merge(self, other: Traffic) -> None:
        """Add the sums of other sessions."""
        for name in ("queries", "events", "sessions", "outcomes", "total", "wordless"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("weight", "seconds", "latencies", "ranks", "outcome"):
            getattr(self, name).merge(getattr(other, name))
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        for rate, own in self.rates.items():
            own.merge(other.rates[rate])
        add_counts(self.days, other.days)
        add_counts(self.failures, other.failures)
        for intent, outcomes in other.intents.items():
            add_counts(self.intents.setdefault(intent, {}), outcomes)
        self.met |= other.met
        self.oddities.merge(other.oddities)


@dataclass(slots=True)
class TrafficCounter:
    """Adds sessions to the sums of traffic."""

    golden: GoldenSet | None = None
    sums: Traffic = field(default_factory=Traffic)
    known: Mapping[str, str] = field(default_factory=dict)
    """The ids of golden queries, by their folded texts."""

    def __post_init__(self) -> None:
        self.known = index_golden(self.golden)

    def add(self, session: Session) -> None:
        """Add a session; one without queries only has its events."""
        sums = self.sums
        sums.events += session.events
        if (value := session.task_outcome) is not None:
            sums.outcomes += 1
            sums.outcome.add(value)
        if not session.queries:
            return
        sums.sessions += 1
        sums.seconds.add(session.seconds)
        counts, totals = Counter[str](), Counter[str]()
        for search in session.queries:
            self._add_query(search)
            self._count(search, counts, totals)
        for name, own in sums.rates.items():
            own.add(counts[name], totals[name])

    def _add_query(self, search: AskedQuery) -> None:
        sums, query = self.sums, search.query
        day = [name_day(int(query.time // _DAY))]
        sums.queries += 1
        sums.weight.add(query.weight)
        sums.first, sums.last = min(sums.first, query.time), max(sums.last, query.time)
        count(sums.days, day)
        if search.is_failure:
            count(sums.failures, day)
        count(sums.intents.setdefault(query.intent, {}), [search.outcome])
        if query.latency is not None and query.latency >= 0:
            sums.latencies.add(query.latency)
        elif query.latency is not None:
            sums.oddities.negative_latencies += 1
        sums.ranks.extend(rank for rank in search.read.values() if rank is not None)

    def _count(self, search: AskedQuery, counts: Counter[str], totals: Counter[str]) -> None:
        """Add a query to the counts of its session. What is not known of it is in no total, and never in a count."""
        query, outcome = search.query, search.outcome
        is_known = query.count is not None or bool(query.hits) or bool(query.error)
        validated = search.is_useful or search.is_useless
        facts = {
            "nothing found": (search.is_empty, is_known),
            "error": (bool(query.error), True),
            "asked again": (outcome == "asked again", True),
            "not useful": (outcome == "not useful", True),
            "failed": (search.is_failure, True),
            "used": (outcome == "used", True),
            BY_ANSWER: (search.is_used_by_answer, True),
            "unknown": (outcome == "unknown", True),
            VALIDATED: (search.is_useful, validated),
        }
        if self.golden is not None:
            name = self.known.get(folded(query.text))
            facts[COVERED] = (name is not None, True)
            if name is not None:
                self.sums.met.add(name)
                facts[CITED] = (self._cites_relevant(search, name), query.answer is not None)
        for key, (fact, known) in facts.items():
            counts[key] += fact and known
            totals[key] += known

    def _cites_relevant(self, search: AskedQuery, name: str) -> bool:
        """Return whether an answer to a golden query cites a relevant document, or one whose section answers it."""
        assert self.golden is not None
        by_id = {hit.id: hit.document for hit in search.query.hits}
        cited = {by_id.get(citation, citation) for citation in search.query.citations}
        right = {
            target.document
            for target, grade in self.golden.grades_by_query.pairs(name)
            if grade >= self.golden.relevant
        }
        return bool(cited & (right | {target.document for target in self.golden.query_by_id[name].anchors}))


def index_golden(golden: GoldenSet | None) -> dict[str, str]:
    """Return the ids of golden queries, by their folded texts and paraphrases."""
    queries = golden.queries if golden else ()
    return {folded(form): query.id for query in queries for form in (query.text, *query.paraphrases)}
