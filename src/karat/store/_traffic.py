"""The tables of traffic, which is counted by the hour in the transaction that adds or removes what is counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from zlib import crc32

from karat.store import _traffic_statements as sql
from karat.store._database import Database

_LAST_HOUR = 2**53


def find_part(session: str) -> int:
    """Return the part of all sessions that a session belongs to: always the same one, and all are equally likely."""
    return crc32(session.encode("utf-8", "surrogatepass")) % sql.PARTS


class TrafficTables:
    """How many queries and events there were; the caller has a transaction."""

    def __init__(self, database: Database) -> None:
        self._database, self._rows = database, database.rows

    @contextmanager
    def forgetting(self, column: str, value: str) -> Iterator[None]:
        """Count anew what is left when all of a session, of a user, or what names a query is removed in a block."""
        statements = {"events": sql.HOURS_OF_QUERY} if column == "query" else sql.HOURS_OF
        hours = {
            table: [hour for (hour,) in self._rows(statement.format(column=f'"{column}"'), value)]
            for table, statement in statements.items()
        }
        yield
        self._recount(hours)

    def expire(self, table: str, before: float) -> None:
        """Count anew what is left of a table after all before a time was removed."""
        if table in sql.EXPIRE:
            hour = _find_hour(math.floor, before)
            self._database.execute(sql.EXPIRE[table], (hour,))
            self._recount({table: [hour]})

    def _recount(self, hours: Mapping[str, Iterable[int]]) -> None:
        for table, own in hours.items():
            for statement in sql.RECOUNT[table]:
                self._database.execute_many(statement, [(hour,) for hour in own])

    def read(self, since: float, until: float) -> list[tuple[Any, ...]]:
        """Return the queries of a span of time by hour since 1970 and intent, in one row or several each.

        A row has the hour, the intent, how many queries there are, how many those stand for, of how many it is known
        what came back, how many found nothing, and how many failed. Only parts of hours are counted now.
        """
        first, last = _find_hour(math.ceil, since), _find_hour(math.floor, until)
        if first >= last:
            return list(self._rows(sql.COUNT_SPAN, since, until))
        return [
            *(self._rows(sql.COUNT_SPAN, since, 3600.0 * first) if since < 3600.0 * first else ()),
            *self._rows(sql.SELECT, first, last),
            *(self._rows(sql.COUNT_SPAN, 3600.0 * last, until) if 3600.0 * last < until else ()),
        ]


def _find_hour(rounding: Callable[[float], int], time: float) -> int:
    """Return an hour since 1970, as far as hours can be counted."""
    return rounding(min(max(time / 3600, -_LAST_HOUR), _LAST_HOUR))
