"""A session: the queries that somebody asked one after the other, and what they did with what came back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from karat.feedback._matching import find_task_value
from karat.online import LoggedEvent, LoggedQuery, is_outcome

Outcome = Literal["error", "nothing found", "not useful", "asked again", "unknown", "used"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
"""The worst first."""
MOST_PER_SESSION = 20
"""So many queries of a session count where each counts by itself: a robot asks thousands, and is one session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuery:
    """A query of a session, and what became of it."""

    query: LoggedQuery
    read: Mapping[str, int | None] = field(default_factory=dict)
    """The documents that were read after it, with the rank, from 1, at which each was shown, in their order."""
    useful: tuple[str, ...] = ()
    """Documents that were called useful."""
    not_useful: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    """Documents that stood above one that was read, and were not: somebody saw them and went on."""
    reused: tuple[str, ...] = ()
    """Documents that were cited, or whose words were used, in what was written next."""
    repeats: str = ""
    """The id of the earlier query that it asks again, in the same or similar words; empty if it does not."""
    repeated: bool = False
    """Whether a later query asks it again, or an event says so: it had not been enough."""
    told: tuple[float, ...] = ()
    """When events said that it was asked again."""
    verdict: bool | None = None
    """Whether somebody called all that it found useful, or not; None if nobody said so, or only of documents."""
    task_failed: bool = False
    """Whether the task of its session ended with an outcome of 0."""

    @property
    def helpful(self) -> tuple[str, ...]:
        """The documents whose reuse speaks for them: none if the task failed, as a system may cite what is no help."""
        return () if self.task_failed else self.reused

    @property
    def is_empty(self) -> bool:
        """Whether it is known that nothing was found."""
        return not self.query.hits and self.query.count == 0 and not self.query.error

    @property
    def is_failure(self) -> bool:
        """Whether it failed: an error, nothing found, or asked again or not useful, with nothing that was useful."""
        return self.outcome not in ("used", "unknown")

    @property
    def outcome(self) -> Outcome:
        """What became of it; unknown if nobody read, used or validated anything."""
        if self.query.error:
            return "error"
        if self.is_empty:
            return "nothing found"
        if not self.is_useful and (self.is_useless or self.repeated):
            return "not useful" if self.is_useless else "asked again"
        return "used" if self.read or self.helpful or self.is_useful else "unknown"

    @property
    def is_useful(self) -> bool:
        """Whether somebody called a document useful, or all that was found."""
        return bool(self.useful) or self.verdict is True

    @property
    def is_useless(self) -> bool:
        """Whether somebody said that a document, or all that was found, is not useful."""
        return bool(self.not_useful) or self.verdict is False

    @property
    def is_used_by_answer(self) -> bool:
        """Whether it counts as used by what the answer cites or quotes alone: nobody read or validated anything."""
        return self.outcome == "used" and not self.read and not self.is_useful


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Queries that belong together, in the order of time."""

    id: str
    """As it stands in the log; empty for a query without a session."""
    queries: tuple[AskedQuery, ...]
    unmatched: tuple[LoggedEvent, ...] = ()
    """Events that belong to none of the queries, such as a document that was read and that no search had shown."""
    outcomes: tuple[LoggedEvent, ...] = ()
    """What is known of how the task ended."""
    actions: int = 0
    """Free actions, which are only counted."""
    events: int = 0
    """How many events it has, whatever they say."""
    span: tuple[float, float] | None = None
    """When the first of them happened, and the last; None if it has none."""

    @property
    def task_value(self) -> float | None:
        """What was said of how its task ended, at last; None if nobody said."""
        return find_task_value(self.outcomes)

    @property
    def task_outcome(self) -> float | None:
        """How well its task ended, from 0 to 1; None if nobody said, or not in such a number."""
        value = self.task_value
        return value if value is not None and is_outcome(value) else None

    @property
    def start(self) -> float:
        """When it began, in seconds since 1970."""
        return min(self._times())

    @property
    def seconds(self) -> float:
        """How long it took, from the first query or event to the last."""
        times = self._times()
        return max(times) - min(times)

    @property
    def accessed(self) -> tuple[str, ...]:
        """All documents that were read in it, each once."""
        read = (document for search in self.queries for document in search.read)
        others = (event.document for event in self.unmatched if event.document)
        return tuple(dict.fromkeys((*read, *others)))

    @property
    def unvalidated(self) -> tuple[str, ...]:
        """The documents to ask about when the task ends: those that were read, and that nobody called useful or not."""
        validated = {document for search in self.queries for document in (*search.useful, *search.not_useful)}
        return tuple(document for document in self.accessed if document not in validated)

    @property
    def repeat_rate(self) -> float:
        """The share of its queries that ask an earlier one again; 0 without queries."""
        return sum(bool(search.repeats) for search in self.queries) / max(len(self.queries), 1)

    def _times(self) -> list[float]:
        return [*(search.query.time for search in self.queries), *(self.span or ())]


@dataclass(slots=True)
class Oddities:
    """What was odd about the records, counted while sessions are rebuilt."""

    duplicates: int = 0
    """Records whose id came before; they are left out."""
    backwards: int = 0
    """Records that are older than one that came before them in their session: a clock that was set back."""
    without_session: int = 0
    """Events that name neither a session nor a query that is known; they are left out."""
    before_any_query: int = 0
    """Events of a session in which nothing had been asked yet."""
    not_shown: int = 0
    """Events about a document that no query before them had shown."""
    unknown_query: int = 0
    """Events that name a query that is not in the log; they are matched by session and document instead."""
    says_nothing: int = 0
    """Events that say nothing of any query: a read without a document, or a rank at which nothing is known to stand."""
    odd_outcomes: int = 0
    """Task outcomes whose value is not from 0 to 1; they count for nothing."""
    negative_latencies: int = 0
    """Queries that took less than no time, such as by a clock that was set back; their latency counts for nothing."""

    def describe(self) -> dict[str, int]:
        """Return the counts that are not 0, by name."""
        return {name: count for name in self.__slots__ if (count := getattr(self, name))}

    def merge(self, other: Oddities) -> None:
        """Add what was odd about other records."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
