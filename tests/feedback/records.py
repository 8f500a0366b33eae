"""Records of small logs, by hand."""

from __future__ import annotations

from typing import Any

from karat.online import LoggedEvent, LoggedHit, LoggedQuery


def ask(name: str, time: float, text: str, *documents: str, session: str = "s", **fields: Any) -> LoggedQuery:
    """Return a query that returned documents, in their order."""
    hits = tuple(LoggedHit(document, rank) for rank, document in enumerate(documents, 1))
    return LoggedQuery(name, time, text, session=session, hits=hits, **{"count": len(hits), **fields})


def tell(name: str, time: float, kind: str, document: str = "", *, session: str = "s", **fields: Any) -> LoggedEvent:
    """Return an event."""
    return LoggedEvent(name, time, kind, session=session, document=document, **fields)
