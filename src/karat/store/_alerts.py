"""The tables of alerts: which are open, what was sent about them, and what is counted to find them."""

from __future__ import annotations

from karat.store import _alert_statements as sql
from karat.store._database import Database, Row

LEASE = 600.0
"""Seconds after which a notice that somebody began to send, and did not finish, is sent by another."""


class AlertTables:
    """The tables of alerts in a store; what changes them belongs into a transaction of the store."""

    def __init__(self, database: Database) -> None:
        self._database, self._rows = database, database.rows

    def count_cells(self, since: float, until: float, seconds: float) -> dict[int, int]:
        """Return how many queries each cell of so many seconds since 1970 has, where there are any."""
        return dict(self._rows(sql.COUNT_CELLS, since, until, float(seconds)))

    def origins(self, since: float, until: float) -> list[Row]:
        """Return what answered in a span of time: build, index, normaliser, first and last time, and queries."""
        return list(self._rows(sql.SELECT_ORIGINS.format(hint=self._database.hint), since, until))

    def has_citations(self, since: float) -> bool:
        """Return whether any answer since a time cites anything."""
        return next(self._rows(sql.FIND_CITATION, since), None) is not None

    def list_open(self) -> list[Row]:
        """Return the alerts that are open: key, name, opened, closed, start of the window, and evidence."""
        return list(self._rows(sql.SELECT_OPEN))

    def list_all(self) -> list[Row]:
        """Return all alerts, the oldest first."""
        return list(self._rows(sql.SELECT_ALERTS))

    def add(self, name: str, time: float, start: float, evidence: str, body: str) -> None:
        """Open an alert, with a notice to send. There is at most one open alert of a name."""
        self._database.execute(sql.OPEN_ALERT, (name, time, start, evidence))
        self._database.execute(sql.ADD_OPEN_NOTICE, (name, time, body))

    def close(self, key: int, time: float, body: str) -> None:
        """Close an alert, with a notice to send."""
        self._database.execute(sql.CLOSE_ALERT, (key, time))
        self._database.execute(sql.ADD_CLOSED_NOTICE, (key, time, body))

    def unsent(self, since: float, now: float) -> list[Row]:
        """Return the notices since a time that were not sent, and that nobody sends now: key, body and attempts."""
        return list(self._rows(sql.UNSENT, since, now - LEASE, now + LEASE))

    def claim(self, notice: int, now: float) -> bool:
        """Take a notice to send it; return False if somebody else has."""
        return bool(self._database.execute(sql.CLAIM, (notice, now - LEASE, now + LEASE, now)))

    def mark_sent(self, notice: int, time: float) -> None:
        """Record that a notice was sent."""
        self._database.execute(sql.MARK_SENT, (notice, time))

    def mark_failed(self, notice: int, error: str) -> None:
        """Record that a notice could not be sent; anybody may try again."""
        self._database.execute(sql.MARK_FAILED, (notice, error))

    def watched(self, name: str) -> Row | None:
        """Return the newest window that was looked at, when, and how many records had been dropped then."""
        return next(self._rows(sql.SELECT_WATCHED, name), None)

    def set_watched(self, name: str, start: float, time: float, dropped: int) -> None:
        """Record the newest window that was looked at."""
        self._database.execute(sql.SET_WATCHED, (name, start, time, dropped))
