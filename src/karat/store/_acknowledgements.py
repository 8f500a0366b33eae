"""The tables of what somebody has seen of the records that hosts dropped."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

from karat.store import _sqlite_statements as sql

Row = tuple[Any, ...]


class AcknowledgementTables:
    """Who has acknowledged dropped records; what changes it belongs into a transaction of the store."""

    def __init__(self, connection: sqlite3.Connection, rows: Callable[..., Iterator[Row]]) -> None:
        self._connection, self._rows = connection, rows

    def add(self, time: float, author: str, reason: str) -> dict[str, int]:
        """Acknowledge all that was dropped and not acknowledged; return how many, by reason. Nothing adds nothing."""
        counts: dict[str, int] = dict(self._rows(sql.SELECT_NOT_ACKNOWLEDGED))
        if counts:
            self._connection.execute(sql.ACKNOWLEDGE_DROPS)
            self._connection.execute(sql.INSERT_ACKNOWLEDGEMENT, (time, author, reason, json.dumps(counts)))
        return counts

    def counts(self) -> dict[str, int]:
        """Return how many dropped records were acknowledged, by reason."""
        return dict(self._rows(sql.SELECT_ACKNOWLEDGED))

    def all(self) -> list[tuple[float, str, str, dict[str, int]]]:
        """Return each acknowledgement in its order: time, author, reason, and how many by reason."""
        return [
            (time, author, reason, json.loads(dropped))
            for time, author, reason, dropped in self._rows(sql.SELECT_ACKNOWLEDGEMENTS)
        ]
