"""The heuristic grades of "agent", under their own name: simple, and too kind to whatever stands at the top."""

from __future__ import annotations

from collections.abc import Iterable

from karat.feedback._sessions import Session

READ, USEFUL, NOT_USEFUL, UNTOUCHED = 2, 3, 0, 1
DEPTH = 20


def grade_like_agent(sessions: Iterable[Session], *, depth: int = DEPTH) -> dict[str, dict[str, int]]:
    """Return grades by query text and document, as "agent" makes them from what was shown in the first ``depth`` ranks.

    Validated useful is 3, read 2, validated not useful 0, and shown but left alone 1. The best grade of a pair counts,
    unless somebody called it not useful and nobody useful. They ignore who looked at what, so that documents at the top
    collect grades and documents further down do not; ``docs/feedback.md`` shows by how much. Use
    :func:`karat.feedback.judge_behaviour` to decide anything.

    >>> from karat.feedback import rebuild_sessions
    >>> from karat.online import LoggedEvent, LoggedHit, LoggedQuery
    >>> asked = LoggedQuery("1", 1.0, "wifi", session="s", hits=(LoggedHit("pool", 1), LoggedHit("wifi", 2)))
    >>> grade_like_agent(rebuild_sessions([asked], [LoggedEvent("2", 2.0, "read_after_search", "s", document="wifi")]))
    {'wifi': {'pool': 1, 'wifi': 2}}
    """
    grades: dict[str, dict[str, int]] = {}
    refused: set[tuple[str, str]] = set()
    for session in sessions:
        for search in session.queries:
            own = grades.setdefault(search.query.text, {})
            signals = {
                **dict.fromkeys(search.query.documents[:depth], UNTOUCHED),
                **dict.fromkeys(search.read, READ),
                **dict.fromkeys(search.useful, USEFUL),
            }
            for document, grade in signals.items():
                own[document] = max(grade, own.get(document, 0))
            refused.update((search.query.text, document) for document in search.not_useful)
    for text, document in refused:
        if grades[text].get(document, 0) < USEFUL:
            grades[text][document] = NOT_USEFUL
    return grades
