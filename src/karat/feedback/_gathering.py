"""Live queries, each once: how people write them, how they ended, and what systems returned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b

from msgspec import Struct
from msgspec import field as default

from karat.feedback._counting import Counts, count
from karat.feedback._pairs import QueryPairs, group_queries
from karat.feedback._sessions import OUTCOMES, AskedQuery, Outcome, Session
from karat.text import folded


class LatestList(Struct, frozen=True, order=True):
    """The documents that a system returned, and for which query."""

    time: float
    query: str
    documents: tuple[str, ...]


class LiveQuery(Struct):
    """A query that people ask, over all sessions. Those of parts of the sessions add up to that of all."""

    key: str
    """Its text without case, punctuation and articles: queries with the same key are one."""
    forms: Counts = default(default_factory=dict)
    intents: Counts = default(default_factory=dict)
    outcomes: dict[Outcome, int] = default(default_factory=dict)
    sessions: int = 0
    latest: float = 0.0
    lists: dict[str, LatestList] = default(default_factory=dict)
    """The latest list of documents that each system returned."""
    pairs: QueryPairs = default(default_factory=QueryPairs)
    links: set[str] = default(default_factory=set)
    """Golden queries that were asked before or after it, in other words."""
    used: Counts = default(default_factory=dict)
    """In how many sessions each document was used."""

    @property
    def id(self) -> str:
        """An id that is the same whenever the query is harvested."""
        return f"live-{blake2b(self.key.encode(), digest_size=6).hexdigest()}"

    @property
    def text(self) -> str:
        """The form that most people write."""
        return _pick(self.forms)

    @property
    def intent(self) -> str:
        """The intent that it has most often."""
        return _pick(self.intents)

    @property
    def failures(self) -> int:
        """How often it failed."""
        return sum(count for outcome, count in self.outcomes.items() if outcome not in ("used", "unknown"))

    @property
    def outcome(self) -> Outcome:
        """How it ends most often; the worst of equals."""
        return max(OUTCOMES, key=lambda outcome: self.outcomes.get(outcome, 0))

    @property
    def is_failure(self) -> bool:
        """Whether it fails at least as often as it is used; what is unknown says nothing."""
        return self.failures > 0 and self.failures >= self.outcomes.get("used", 0)

    @property
    def day(self) -> str:
        """The day on which it was asked last, in UTC."""
        return datetime.fromtimestamp(self.latest, UTC).strftime("%Y-%m-%d")


def _pick(counter: Counts) -> str:
    """Return the most frequent text, the first in the alphabet of equals."""
    return max(sorted(counter), key=counter.__getitem__, default="")


class Said(Struct, frozen=True, order=True):
    """What somebody said of a document, in the order of time."""

    time: float
    query: str
    place: int
    """Among what was said after the query."""
    text: str
    document: str
    useful: bool
    rank: int | None


@dataclass(slots=True)
class Gathering:
    """All live queries, gathered while sessions pass by."""

    queries: dict[str, LiveQuery] = field(default_factory=dict)
    said: list[Said] = field(default_factory=list)
    total: int = 0
    wordless: int = 0
    """Queries without a word, which nobody can judge."""
    lists: bool = True
    """Whether to take note of what came back, and of what people did with it."""
    known: Mapping[str, str] = field(default_factory=dict)
    """The ids of golden queries, by their folded texts."""
    size: int = 0
    """How many counts are held, about."""

    def add(self, session: Session) -> None:
        """Take note of the queries of a session."""
        self.total += len(session.queries)
        groups = group_queries(session.queries)
        self.wordless += len(session.queries) - sum(map(len, groups.values()))
        for key, group in groups.items():
            if key not in self.queries:
                self.queries[key] = LiveQuery(key)
                self.size += 8
            self._add_query(self.queries[key], group)
        if self.lists:
            self._add_used(session, groups)
            for search in session.queries:
                said = list(_list_said(search))
                self.said += said
                self.size += len(said)

    def _add_query(self, live: LiveQuery, group: list[AskedQuery]) -> None:
        live.sessions += 1
        live.latest = max(live.latest, *(search.query.time for search in group))
        count(live.forms, [search.query.text.strip() for search in group])
        count(live.intents, [search.query.intent for search in group if search.query.intent])
        for search in group:
            live.outcomes[search.outcome] = live.outcomes.get(search.outcome, 0) + 1
        if not self.lists:
            return
        for query in (search.query for search in group if search.query.hits):
            shown = LatestList(query.time, query.id, tuple(dict.fromkeys(query.documents)))
            live.lists[query.system] = max(live.lists.get(query.system, shown), shown)
        self.size += live.pairs.add(group)

    def _add_used(self, session: Session, groups: Mapping[str, list[AskedQuery]]) -> None:
        """Take note of what says that a wording means the same as a golden query."""
        if not self.known:
            return
        keys = {search.query.id: folded(search.query.text) for search in session.queries}
        for search in session.queries:
            key, before = keys[search.query.id], keys.get(search.repeats, "")
            for wording, other in ((key, before), (before, key)):
                if other in self.known and wording not in self.known and wording in self.queries:
                    self.queries[wording].links.add(self.known[other])
        for key, group in groups.items():
            if key not in self.known:
                used = {
                    name
                    for search in group
                    for name in {*search.read, *search.useful, *search.helpful}.difference(search.not_useful)
                }
                count(self.queries[key].used, used)


def _list_said(search: AskedQuery) -> list[Said]:
    query = search.query
    return [
        Said(query.time, query.id, place, query.text, document, place < len(search.useful), query.rank_of(document))
        for place, document in enumerate((*search.useful, *search.not_useful))
    ]
