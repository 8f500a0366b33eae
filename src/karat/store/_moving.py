"""Looking a store over, and copying it into another one, of whichever database."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import islice

from karat.core import InputError, SystemFailed
from karat.store import _traffic_statements as traffic
from karat.store._database import Database, Row
from karat.store._store import Store

_PIECE = 2000  # rows that are copied at once
TABLES = {
    "stores": "id",
    "queries": "key",
    "events": "key",
    "shadow_runs": "key",
    "query_traffic": "hour, intent",
    "event_traffic": "hour",
    "judgments": "key",
    "runs": "number",
    "run_values": "run, measure, segment",
    "trials": "key",
    "trial_batches": "trial, batch",
    "trial_counts": "trial, series, hour, value",
    "trial_logs": "trial, log",
    "trial_sessions": "trial, session",
    "transitions": "number",
    "flags": "key",
    "flag_changes": "number",
    "segments": "name",
    "drops": "segment, reason",
    "damages": "key",
    "acknowledgements": "number",
    "alerts": "key",
    "notices": "key",
    "watched": "name",
}
"""All tables, those first that others refer to, and the order in which the rows of both databases are the same."""
_OWN = {"stores"}  # a new store has a row in it


def check_store(store: Store) -> tuple[dict[str, int], list[str]]:
    """Return how many rows each table of a store has, and what is wrong with it."""
    database = store._database
    problems = [f"the database says: {text}" for text in database.find_damage()]
    problems += _check_traffic(database)
    for table in ("queries", "events"):
        ((count,),) = database.rows(f"select count(*) - count(distinct id) from {table}")  # noqa: S608 (ours)
        if count:
            problems.append(f"{count:,} rows of {table} have the id of another one")
    return {table: _count(database, table) for table in TABLES}, problems


def _check_traffic(database: Database) -> Iterator[str]:
    counted = {
        "queries": (f"{traffic.COUNT_QUERIES} group by 1, 2 order by 1, 2", "query_traffic order by hour, intent"),
        "events": (f"{traffic.COUNT_EVENTS} group by 1 order by 1", "event_traffic order by hour"),
    }
    for table, (now, stored) in counted.items():
        rows = {row[:-6] or row[:1]: row for row in database.rows(now)}
        kept = {row[:-6] or row[:1]: row for row in database.rows(f"select * from {stored}")}  # noqa: S608 (ours)
        wrong = sum(not _are_close(rows.get(key), kept.get(key)) for key in rows.keys() | kept.keys())
        if wrong:
            yield f"{wrong:,} hours of {table} are counted wrongly"


def _are_close(row: Row | None, other: Row | None) -> bool:
    """Return whether two rows of counts say the same; weights are summed in another order."""
    if row is None or other is None:
        return False
    return all(
        abs(a - b) <= 1e-6 * max(abs(a), abs(b)) if isinstance(a, float) else a == b
        for a, b in zip(row, other, strict=True)
    )


def copy_store(old: Store, new: Store) -> dict[str, int]:
    """Copy all tables of a store into one that has no rows yet; return how many rows each has.

    The copy is read again and compared, and there is no copy at all if it differs.
    """
    if old.place == new.place:
        raise InputError("is the store that is copied", source=new.place)
    with new.transaction():
        return _copy(old._database, new._database)


def _copy(old: Database, new: Database) -> dict[str, int]:
    full = [table for table in TABLES if table not in _OWN and _count(new, table)]
    if full:
        hint = "name a file, or a schema, that is not there yet"
        raise InputError(f"has rows in {full[0]}; a copy needs an empty store", source=new.place, hint=hint)
    for table in _OWN:
        new.execute(f"delete from {table}")  # noqa: S608 (ours)
    counts = {}
    for table in TABLES:
        columns = old.columns(table)
        if set(columns) != set(new.columns(table)):
            raise SystemFailed(f"{new.place}: the columns of {table} are others")
        rows = _read(old, table, columns)
        counts[table] = 0
        while piece := list(islice(rows, _PIECE)):
            new.fill(table, columns, piece)
            counts[table] += len(piece)
        if _digest(old, table, columns) != _digest(new, table, columns):
            raise SystemFailed(f"{new.place}: what was copied into {table} is not what was read; nothing was kept")
    return counts


def _read(database: Database, table: str, columns: list[str]) -> Iterator[Row]:
    names = ", ".join(f'"{column}"' for column in columns)
    return database.stream(f"select {names} from {table} order by {TABLES[table]}")  # noqa: S608 (ours)


def _digest(database: Database, table: str, columns: list[str]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for row in _read(database, table, columns):
        digest.update(repr(row).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _count(database: Database, table: str) -> int:
    ((count,),) = database.rows(f"select count(*) from {table}")  # noqa: S608 (ours)
    return int(count)
