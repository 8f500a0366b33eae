"""What a session came to, by what people did: numbers from 0 to 1, of which 1 is best."""

from __future__ import annotations

import math
from collections.abc import Iterable

from karat.feedback._sessions import AskedQuery, Session
from karat.online.trials import ASKED_ONCE, CLICK_RR, FOUND, SUCCESS, find_limit


def measure_behaviour(session: Session, measures: Iterable[str]) -> dict[str, float]:
    """Return the values of measures of behaviour; one that was not recorded is left out.

    >>> from karat.online import LoggedHit, LoggedQuery
    >>> query = LoggedQuery("1", 1.0, "wifi?", hits=(LoggedHit("pool", 1), LoggedHit("wifi", 2)), count=2)
    >>> session = Session(id="s", queries=(AskedQuery(query=query, read={"wifi": 2}),))
    >>> measure_behaviour(session, ["ClickRR", "Success", "Found", "InTime@500"])
    {'ClickRR': 0.5, 'Success': 1.0, 'Found': 1.0}
    """
    values = ((name, _measure(session, name)) for name in measures)
    return {name: value for name, value in values if value is not None}


def _measure(session: Session, name: str) -> float | None:
    queries = session.queries
    if name == SUCCESS:
        return _find_success(session)
    if name == CLICK_RR:
        return _mean(map(_find_click_rr, queries))
    if name == FOUND:
        known = [
            search for search in queries if search.query.error or search.query.hits or search.query.count is not None
        ]
        return _mean(float(not search.query.error and not search.is_empty) for search in known)
    if name == ASKED_ONCE:
        return _mean(float(not search.repeated) for search in queries)
    limit = find_limit(name)
    times = [math.inf if own.query.error else own.query.latency for own in queries]
    return _mean(float(time <= (limit or 0.0)) for time in times if time is not None and time >= 0)


def _find_success(session: Session) -> float | None:
    """Return how the task ended, as was said, or else whether the last query was of use."""
    if session.task_value is not None:
        return session.task_outcome
    if not session.queries:
        return None
    return float(session.queries[-1].outcome == "used")


def _find_click_rr(search: AskedQuery) -> float:
    ranks = [rank for rank in search.read.values() if rank is not None]
    return 1 / min(ranks) if ranks else 0.0


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return sum(listed) / len(listed) if listed else None
