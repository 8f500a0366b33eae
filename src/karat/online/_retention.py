"""Retention: what is too old leaves the store; queries go to the archive."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from karat.core import UsageError, is_number
from karat.online._archive import archive_day
from karat.online._ingest import lock_ingester
from karat.online._paths import find_paths
from karat.online._records import LoggedQuery
from karat.online._stored import LogReader
from karat.online._times import DAY, format_day, start_of_day
from karat.schema import OnlineRetention
from karat.store import Store, open_store


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How many days each table keeps. Judgments, runs and trials are kept for ever."""

    queries: float = 90
    events: float = 90
    shadow_runs: float = 30

    def __post_init__(self) -> None:
        for days in (self.queries, self.events, self.shadow_runs):
            if not is_number(days) or not days >= 0:
                raise UsageError(f"{days!r} is not a number of days; use 0 or more")


def expire(
    path: str | os.PathLike[str] = "karat.db",
    retention: Retention | None = None,
    *,
    archive: bool = True,
    now: float | None = None,
) -> OnlineRetention:
    """Remove what is older than its table keeps, by whole days in UTC; write queries to the archive before."""
    paths, keep = find_paths(path), retention or Retention()
    moment = time.time() if now is None else now
    before = {
        "queries": start_of_day(moment - keep.queries * DAY),
        "events": start_of_day(moment - keep.events * DAY),
        "shadow_runs": start_of_day(moment - keep.shadow_runs * DAY),
    }
    if not paths.has_store():
        open_store(paths.store)  # raises: there is no such store
    paths.make_journal()
    # The lock is that of ingesting and forgetting: who is forgotten meanwhile must not come back in the archive.
    # What is written between reading and removing would be removed unread, hence one transaction.
    with lock_ingester(paths), open_store(paths.store, write=True) as store, store.transaction():
        archived = 0
        if archive:
            for day, queries in _by_day(store, before["queries"]):
                archived += archive_day(paths.archive, day, queries)
        removed = {table: store.expire(table, limit) for table, limit in before.items()}
    return OnlineRetention(
        before={table: format_day(limit) for table, limit in before.items()}, removed=removed, archived=archived
    )


def _by_day(store: Store, until: float) -> Iterator[tuple[str, list[LoggedQuery]]]:
    """Yield the queries of each day before a time; one day is in memory at once."""
    day, queries = "", list[LoggedQuery]()
    for query in LogReader(store).queries(until=until):
        this = format_day(query.time)
        if this != day and queries:
            yield day, queries
            queries = []
        day = this
        queries.append(query)
    if queries:
        yield day, queries
