"""What behaviour and the golden set say of logged queries, in the tables of the store."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from karat.core import GoldenSet, Query
from karat.feedback._judgments import BehaviourJudgment, judge_behaviour
from karat.feedback._pairs import count_pairs
from karat.feedback._rebuild import read_sessions
from karat.feedback._sessions import Session
from karat.online import read_log
from karat.store import Row, open_store
from karat.text import folded


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What was recorded in a store."""

    judgments: int
    """Grades that behaviour proposes, in the place of those of the last time."""
    known: int
    """Logged queries that the golden set has."""


def record_judgments(
    store: str | os.PathLike[str] = "karat.db",
    golden: GoldenSet | None = None,
    *,
    since: float | None = None,
    until: float | None = None,
) -> Recorded:
    """Record the grades of :func:`judge_behaviour` in the table ``judgments``, and mark the queries that a set has.

    A grade belongs to the query that was the last to ask it. What behaviour said before is replaced.
    """
    watching = _Watching(golden)
    with read_log(store) as log:
        judgments = judge_behaviour(count_pairs(watching.watch(read_sessions(log, since, until))))
    rows = [watching.make_row(own) for own in judgments if own.grade is not None]
    with open_store(store, write=True) as opened, opened.transaction():
        opened.replace_behaviour(rows)
        opened.mark_golden(watching.marks)
    return Recorded(judgments=len(rows), known=len(watching.marks))


@dataclass(slots=True)
class _Watching:
    """The logged queries: the latest of each text, and those that a golden set has."""

    golden: GoldenSet | None
    latest: dict[str, tuple[float, str]] = field(default_factory=dict)
    marks: list[tuple[str, str]] = field(default_factory=list)
    """The category and the id of each query that is in the set."""
    _known: dict[str, Query] = field(default_factory=dict)

    def __post_init__(self) -> None:
        queries = self.golden.queries if self.golden else ()
        self._known = {folded(form): query for query in queries for form in (query.text, *query.paraphrases)}

    def watch(self, sessions: Iterable[Session]) -> Iterator[Session]:
        for session in sessions:
            for query in (search.query for search in session.queries):
                key = folded(query.text)
                self.latest[key] = max(self.latest.get(key, (query.time, query.id)), (query.time, query.id))
                if key in self._known:
                    self.marks.append((self._known[key].category, query.id))
            yield session

    def make_row(self, own: BehaviourJudgment) -> Row:
        """Return a judgment as a row of the store; confidence is the lower end of its interval, as in a harvest."""
        source = "validated" if own.evidence == "validated" else "implicit"
        name, annotator = self.latest[folded(own.query)][1], f"behaviour {own.evidence}"
        interval = own.low, own.estimate, own.low, own.high
        return name, own.document, own.grade, source, annotator, *interval, own.n, time.time()
