"""Live queries, each once: how people write them, how they ended, and what systems returned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b

from karat.feedback._sessions import OUTCOMES, Outcome, Session
from karat.text import folded


@dataclass(slots=True)
class LiveQuery:
    """A query that people ask, over all sessions."""

    key: str
    """Its text without case, punctuation and articles: queries with the same key are one."""
    forms: Counter[str] = field(default_factory=Counter)
    intents: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    sessions: int = 0
    latest: float = 0.0
    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The latest list of documents that each system returned."""

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
        return max(OUTCOMES, key=lambda outcome: self.outcomes[outcome])

    @property
    def is_failure(self) -> bool:
        """Whether it fails at least as often as it is used; what is unknown says nothing."""
        return self.failures > 0 and self.failures >= self.outcomes["used"]

    @property
    def day(self) -> str:
        """The day on which it was asked last, in UTC."""
        return datetime.fromtimestamp(self.latest, UTC).strftime("%Y-%m-%d")


def _pick(counter: Counter[str]) -> str:
    """Return the most frequent text, the first in the alphabet of equals."""
    return max(sorted(counter), key=counter.__getitem__, default="")


@dataclass(slots=True)
class Gathering:
    """All live queries, gathered while sessions pass by."""

    queries: dict[str, LiveQuery] = field(default_factory=dict)
    asked: int = 0
    wordless: int = 0
    """Queries without a word, which nobody can judge."""
    lists: bool = True
    """Whether to take note of what came back."""

    def watch(self, sessions: Iterable[Session]) -> Iterator[Session]:
        """Yield sessions, and take note of their queries."""
        for session in sessions:
            self.add(session)
            yield session

    def add(self, session: Session) -> None:
        """Take note of the queries of a session."""
        keys = set()
        for asked in session.queries:
            self.asked += 1
            query, key = asked.query, folded(asked.query.text)
            if not key:
                self.wordless += 1
                continue
            live = self.queries.setdefault(key, LiveQuery(key))
            live.forms[query.text.strip()] += 1
            live.outcomes[asked.outcome] += 1
            if query.intent:
                live.intents[query.intent] += 1
            if query.hits and self.lists:
                live.lists[query.system] = tuple(dict.fromkeys(query.documents))
            live.latest = max(live.latest, query.time)
            keys.add(key)
        for key in keys:
            self.queries[key].sessions += 1
