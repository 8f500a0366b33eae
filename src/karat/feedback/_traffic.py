"""Sums over live traffic, taken while sessions pass by."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache

from karat.core import GoldenSet
from karat.feedback._sessions import AskedQuery, Outcome, Session
from karat.text import folded

VALIDATED = "useful, of those validated"
RATES = ("nothing found", "error", "asked again", "not useful", "failed", "used", "unknown", VALIDATED)
"""Each query has one outcome: the first four are those that failed; failed, used and unknown are all queries."""

_DAY = 86_400


@lru_cache(1024)
def _name_day(number: int) -> str:
    return datetime.fromtimestamp(number * _DAY, UTC).strftime("%Y-%m-%d")


COVERED, CITED = "queries that the set has", "their answers that cite a relevant document"


def _make_shares() -> dict[str, tuple[array[int], array[int]]]:
    return {name: (array("q"), array("q")) for name in (*RATES, COVERED, CITED)}


@dataclass(slots=True)
class Traffic:
    """What is added up over sessions. A rate has a count and a total for each session."""

    golden: GoldenSet | None = None
    queries: int = 0
    weight: float = 0.0
    events: int = 0
    first: float = float("inf")
    last: float = float("-inf")
    searches: array[int] = field(default_factory=lambda: array("q"))
    seconds: array[float] = field(default_factory=lambda: array("d"))
    latencies: array[float] = field(default_factory=lambda: array("d"))
    ranks: array[int] = field(default_factory=lambda: array("q"))
    outcomes: list[float] = field(default_factory=list)
    rates: dict[str, tuple[array[int], array[int]]] = field(default_factory=_make_shares)
    days: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    """By day."""
    intents: dict[str, Counter[Outcome]] = field(default_factory=dict)
    known: Mapping[str, str] = field(default_factory=dict)
    """The ids of golden queries, by their folded texts."""
    met: set[str] = field(default_factory=set)
    """The ids of golden queries that somebody asked."""

    def __post_init__(self) -> None:
        if self.golden is not None:
            queries = self.golden.queries
            self.known = {folded(form): query.id for query in queries for form in (query.text, *query.paraphrases)}

    def add(self, session: Session) -> None:
        """Add a session; one without queries only has its events."""
        self.events += session.events
        self.outcomes += [event.value for event in session.outcomes if event.value is not None]
        if not session.queries:
            return
        self.searches.append(len(session.queries))
        self.seconds.append(session.seconds)
        counts, totals = Counter[str](), Counter[str]()
        for asked in session.queries:
            self._add_query(asked)
            self._count(asked, counts, totals)
        for name, (count, total) in self.rates.items():
            count.append(counts[name])
            total.append(totals[name])

    def _add_query(self, asked: AskedQuery) -> None:
        query, outcome = asked.query, asked.outcome
        day = _name_day(int(query.time // _DAY))
        self.queries += 1
        self.weight += query.weight
        self.first, self.last = min(self.first, query.time), max(self.last, query.time)
        self.days[day] += 1
        self.failures[day] += asked.is_failure
        self.intents.setdefault(query.intent, Counter())[outcome] += 1
        if query.latency is not None:
            self.latencies.append(query.latency)
        self.ranks.extend(rank for rank in asked.read.values() if rank is not None)

    def _count(self, asked: AskedQuery, counts: Counter[str], totals: Counter[str]) -> None:
        """Add a query to the counts of its session. What is not known of it is in no total, and never in a count."""
        query, outcome = asked.query, asked.outcome
        is_known = query.count is not None or bool(query.hits) or bool(query.error)
        validated = bool(asked.useful or asked.not_useful)
        facts = {
            "nothing found": (asked.is_empty, is_known),
            "error": (bool(query.error), True),
            "asked again": (outcome == "asked again", True),
            "not useful": (outcome == "not useful", True),
            "failed": (asked.is_failure, True),
            "used": (outcome == "used", True),
            "unknown": (outcome == "unknown", True),
            VALIDATED: (bool(asked.useful), validated),
        }
        if self.golden is not None:
            name = self.known.get(folded(query.text))
            facts[COVERED] = (name is not None, True)
            if name is not None:
                self.met.add(name)
                facts[CITED] = (self._cites_relevant(asked, name), query.answer is not None)
        for key, (fact, known) in facts.items():
            counts[key] += fact and known
            totals[key] += known

    def _cites_relevant(self, asked: AskedQuery, name: str) -> bool:
        """Return whether an answer to a golden query cites a relevant document, or one whose section answers it."""
        assert self.golden is not None
        by_id = {hit.id: hit.document for hit in asked.query.hits}
        cited = {by_id.get(citation, citation) for citation in asked.query.citations}
        right = {
            target.document
            for target, grade in self.golden.grades_by_query.pairs(name)
            if grade >= self.golden.relevant
        }
        return bool(cited & (right | {target.document for target in self.golden.query_by_id[name].anchors}))
