"""The tables of trials: what was planned, what was measured, and every decision."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from karat.store import _statements as sql
from karat.store._database import Database, Row

Count = tuple[str, int, float, int]
"""Series, hour since 1970, value and count."""


class TrialTables:
    """The tables of trials in a store; what changes them belongs into a transaction of the store."""

    def __init__(self, database: Database) -> None:
        self._database, self._rows = database, database.rows

    def add(self, row: Row) -> bool:
        """Add a trial that runs; return False if the feature has one that is not over.

        A row has feature, upper and lower bound, least number of samples, threshold, settings and time.
        """
        return bool(self._database.execute(sql.INSERT_TRIAL, row))

    def all(self) -> list[Row]:
        """Return all trials in the order in which they began."""
        return list(self._rows(sql.SELECT_TRIALS))

    def latest(self, feature: str) -> Row | None:
        """Return the latest trial of a feature.

        A row has key, feature, number, status, settings, version, looks, samples, started, updated and ended.
        """
        return next(self._rows(sql.SELECT_TRIAL, feature), None)

    def add_batch(self, trial: int, batch: str, time: float, origin: str, counts: Iterable[Count]) -> bool:
        """Add what was measured: series, hour, value and count; return False if the batch is there already."""
        if not self._database.execute(sql.INSERT_BATCH, (trial, batch, time, origin)):
            return False
        self._database.execute_many(sql.ADD_TRIAL_COUNT, [(trial, *count) for count in counts])
        return True

    def values(self, trial: int) -> dict[str, dict[float, int]]:
        """Return how often each value was measured, by series."""
        series: dict[str, dict[float, int]] = {}
        for name, value, count in self._rows(sql.SELECT_TRIAL_COUNTS, trial):
            series.setdefault(name, {})[value] = count
        return series

    def hourly(self, trial: int, series: str) -> list[Row]:
        """Return how often each value of a series was measured, by the hour since 1970."""
        return list(self._rows(sql.SELECT_HOURLY_COUNTS, trial, series))

    def logs(self, trial: int) -> dict[str, Row]:
        """Return how far each log was read, by its id: version, state and time."""
        return {log: tuple(row) for log, *row in self._rows(sql.SELECT_TRIAL_LOGS, trial)}

    def set_log(self, trial: int, log: str, version: int, state: str, time: float) -> bool:
        """Record how far a log was read; return False if its version is not the given one (0: it is new)."""
        return bool(self._database.execute(sql.SET_TRIAL_LOG, (trial, log, version, state, time)))

    def add_sessions(self, trial: int, marks: Sequence[tuple[bytes, bytes]]) -> bool:
        """Record which sessions were measured, by digests; return False if one of them was measured before."""
        rows = [(trial, *mark) for mark in marks]
        return self._database.execute_many(sql.INSERT_TRIAL_SESSION, rows) == len(rows) if rows else True

    def find_session(self, trial: int, session: bytes) -> bytes | None:
        """Return the digest of the records of a session that was measured; None if it was not."""
        row = next(self._rows(sql.SELECT_TRIAL_SESSION, trial, session), None)
        return None if row is None else row[0]

    def forget_session(self, trial: int, session: bytes) -> None:
        """Delete the digest of a session."""
        self._database.execute(sql.DELETE_TRIAL_SESSION, (trial, session))

    def forget_earlier_sessions(self, feature: str) -> None:
        """Delete the digests of the trials of a feature that are over: another one begins, and they stay so."""
        self._database.execute(sql.DELETE_EARLIER_SESSIONS, (feature,))

    def count_look(self, trial: int) -> None:
        """Count a look at a trial."""
        self._database.execute(sql.COUNT_LOOK, (trial,))

    def set_samples(self, trial: int, samples: int, log_evidence: float, time: float) -> None:
        """Record the number of samples and the evidence, for those who read the view of trials."""
        self._database.execute(sql.SET_SAMPLES, (trial, samples, log_evidence, time))

    def move(self, trial: int, transition: Row, *, ended: float | None) -> bool:
        """Move a trial to another status and record why; return False if its version is not the one before.

        A transition has version, time, author, reason, status before and after, and evidence.
        """
        version, time, *_, after, _ = transition
        if not self._database.execute(sql.SET_STATUS, (trial, version - 1, after, time, ended)):
            return False
        self._database.execute(sql.INSERT_TRANSITION, (trial, *transition))
        return True

    def transitions(self, trial: int) -> list[Row]:
        """Return the transitions of a trial, the oldest first."""
        return list(self._rows(sql.SELECT_TRANSITIONS, trial))

    def latest_run_of(self, feature: str, measure: str) -> Row | None:
        """Return the run that was recorded last for a feature.

        A row has id, outcome, difference in a measure, and name and day of the baseline that it was compared with.
        """
        row = next(self._rows(sql.LATEST_OF_FEATURE, feature, measure), None)
        if row is None:
            return None
        *values, control, document = row
        baseline = (json.loads(document) or {}).get("baseline") or {}
        return (*values, baseline.get("title") or baseline.get("name") or control, baseline.get("recorded") or "")
