"""The tables of what somebody has seen of the records that hosts dropped."""

from __future__ import annotations

import json

from karat.store import _statements as sql
from karat.store._database import Database


class AcknowledgementTables:
    """Who has acknowledged dropped records; what changes it belongs into a transaction of the store."""

    def __init__(self, database: Database) -> None:
        self._database, self._rows = database, database.rows

    def add(self, time: float, author: str, reason: str) -> dict[str, int]:
        """Acknowledge all that was dropped and not acknowledged; return how many, by reason. Nothing adds nothing."""
        counts: dict[str, int] = dict(self._rows(sql.SELECT_NOT_ACKNOWLEDGED))
        if counts:
            self._database.execute(sql.ACKNOWLEDGE_DROPS)
            self._database.execute(sql.INSERT_ACKNOWLEDGEMENT, (time, author, reason, json.dumps(counts)))
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
