"""What people do with golden queries that they ask, counted while sessions pass by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from karat.core import GoldenSet
from karat.feedback._report import format_moment
from karat.feedback._sessions import AskedQuery, Session
from karat.text import folded

if TYPE_CHECKING:
    from karat.schema.pages import QueryUse

_DOCUMENTS = 20


@dataclass(slots=True)
class _Uses:
    queries: int = 0
    sessions: int = 0
    latest: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    shown: Counter[str] = field(default_factory=Counter)
    read: Counter[str] = field(default_factory=Counter)
    useful: Counter[str] = field(default_factory=Counter)
    not_useful: Counter[str] = field(default_factory=Counter)

    def add(self, group: list[AskedQuery]) -> None:
        """Add the queries of one session; a document counts once for each session."""
        self.queries += len(group)
        self.sessions += 1
        self.latest = max(self.latest, *(search.query.time for search in group))
        self.outcomes.update(search.outcome for search in group)
        self.shown.update({name for search in group for name in search.query.documents})
        self.read.update({name for search in group for name in search.read})
        self.useful.update({name for search in group for name in search.useful})
        self.not_useful.update({name for search in group for name in search.not_useful})


class UseCounter:
    """Counts what became of the queries of a golden set, in any of their wordings.

    >>> from karat.core import Query
    >>> from karat.online import LoggedHit, LoggedQuery
    >>> counter = UseCounter(GoldenSet(queries=(Query(id="q1", text="Wi-Fi password?"),)))
    >>> query = LoggedQuery("1", 10.0, "wi-fi password", session="s", hits=(LoggedHit("wifi", 1),), count=1)
    >>> counter.add(Session(id="s", queries=(AskedQuery(query=query, read={"wifi": 1}),)))
    >>> [(use.query, use.sessions, use.documents[0].read) for use in counter.finish()]
    [('q1', 1, 1)]
    """

    def __init__(self, golden: GoldenSet | None) -> None:
        queries = golden.queries if golden else ()
        forms = ((form, query.id) for query in queries for form in (query.text, *query.paraphrases))
        self._known = {folded(form): name for form, name in forms}
        self._uses: dict[str, _Uses] = {}

    def add(self, session: Session) -> None:
        """Count the golden queries of a session."""
        groups: dict[str, list[AskedQuery]] = {}
        for search in session.queries if self._known else ():
            name = self._known.get(folded(search.query.text))
            if name is not None:
                groups.setdefault(name, []).append(search)
        for name, group in groups.items():
            self._uses.setdefault(name, _Uses()).add(group)

    def finish(self) -> Iterator[QueryUse]:
        """Yield the golden queries that were asked."""
        from karat.schema.pages import DocumentUse, QueryUse

        for name, uses in self._uses.items():
            order = sorted(
                uses.shown.keys() | uses.read.keys(), key=lambda id_: (-uses.read[id_], -uses.shown[id_], id_)
            )
            yield QueryUse(
                query=name,
                asked=uses.queries,
                sessions=uses.sessions,
                outcomes=dict(uses.outcomes),
                documents=tuple(
                    DocumentUse(
                        document=id_,
                        shown=uses.shown[id_],
                        read=uses.read[id_],
                        useful=uses.useful[id_],
                        not_useful=uses.not_useful[id_],
                    )
                    for id_ in order[:_DOCUMENTS]
                ),
                latest=format_moment(uses.latest),
            )
