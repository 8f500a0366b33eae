"""Reading some sessions instead of all, where all would take minutes and gigabytes; they are chosen by chance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from karat.core import UsageError, count_things
from karat.feedback._rebuild import rebuild_sessions
from karat.feedback._sessions import Session
from karat.online import LogReader
from karat.store import PARTS

NO_QUERIES = "there are no queries"
_NOT_THE_ONE = "the one query in the store is not in this span"
_NOT_THE_ONE_OF_FILES = "the one query in the files is not in this span"
MOST_QUERIES = 100_000
"""Of so many queries sessions are rebuilt; if there are more, some sessions stand for all."""


def choose_parts(queries: int, most: int | None) -> int | None:
    """Return how many of the parts of all sessions to read, so that they have about ``most`` queries; None for all.

    >>> choose_parts(100_000, 100_000), choose_parts(10_000_000, 100_000), choose_parts(200_000, 100_000)
    (None, 2, 128)
    """
    if most is None or queries <= most:
        return None
    return max(1, most * PARTS // queries)


def read_parts(
    log: LogReader, since: float | None, until: float | None, parts: int | None, **options: Any
) -> Iterator[Session]:
    """Yield the sessions of some parts of a log, or all; the options are those of :func:`rebuild_sessions`."""
    return rebuild_sessions(log.queries(since, until, parts=parts), log.events(since, until, parts=parts), **options)


def refuse_reversed(since: float | None, until: float | None) -> None:
    """Refuse a span of time that ends before it begins, or at once."""
    if since is not None and until is not None and since >= until:
        raise UsageError(
            "the span ends before it begins, so that no query can be in it: 'since' must be before 'until'"
        )


def describe_empty(log: LogReader) -> str:
    """Return what to say of a span of time without queries."""
    if not (queries := log.totals(None, None).queries):
        return NO_QUERIES
    return f"none of the {queries:,} queries in the store is in this span" if queries > 1 else _NOT_THE_ONE


def describe_empty_files(queries: int | None) -> str:
    """Return what to say of a span of time without queries in exported files, which have so many in all, if known."""
    if not queries:
        return "there are no queries in the files" + (" of this span" if queries is None else "")
    return f"none of the {queries:,} queries in the files is in this span" if queries > 1 else _NOT_THE_ONE_OF_FILES


def describe_parts(parts: int, queries: int) -> str:
    """Return what to say of numbers that come from some sessions only."""
    return (
        f"what became of queries is known from {100 * parts / PARTS:.3g} % of all sessions, chosen by chance, "
        f"with {count_things(queries, 'query', 'queries')}; "
        "--whole reads all"
    )
