"""The statements of a store in SQLite; those of another database stand in a module with the same names."""

from __future__ import annotations

QUERY_COLUMNS = (
    "id", "time", "text", "session", "user", "intent", "mode", "tool", "hits", "channels", "stages", "weights",
    "answer", "citations", "error", "latency", "system", "weight", "trace", "quality", "attributes", "count",
)  # fmt: skip
EVENT_COLUMNS = (
    "id", "time", "kind", "session", "user", "query", "document", "rank", "value", "weight", "attributes",
)  # fmt: skip


def _insert(table: str, columns: tuple[str, ...]) -> str:
    marks = ", ".join("?" * len(columns))
    names = ", ".join(columns)  # not "or ignore", which would also pass over what breaks a rule of the table
    return f"insert into {table} ({names}) values ({marks}) on conflict (id) do nothing"  # noqa: S608 (names of this module)


def _select(table: str, columns: tuple[str, ...], condition: str = "") -> str:
    span = f"time >= ? and time < ?{condition}"
    return f"select {', '.join(columns)} from {table} where {span} order by time, id"  # noqa: S608 (the same)


INSERT_QUERY = _insert("queries", QUERY_COLUMNS)
INSERT_EVENT = _insert("events", EVENT_COLUMNS)
SELECT_QUERIES = _select("queries", QUERY_COLUMNS)
SELECT_EVENTS = _select("events", EVENT_COLUMNS)
SELECT_QUERIES_OF_SESSION = _select("queries", QUERY_COLUMNS, " and session = ?")
SELECT_EVENTS_OF_SESSION = _select("events", EVENT_COLUMNS, " and session = ?")
SELECT_POSITIONS = "select name, position from segments"
SET_POSITION = "insert into segments values (?, ?) on conflict (name) do update set position = excluded.position"
DELETE_POSITION = "delete from segments where name = ?"
SET_DROPS = "insert into drops values (?, ?, ?) on conflict (segment, reason) do update set count = excluded.count"
SELECT_DROPS = "select segment, reason, count from drops"
INSERT_DAMAGE = "insert into damages (segment, file, bytes, reason, time) values (?, ?, ?, ?, ?)"
SELECT_DAMAGES = "select segment, file, bytes, reason, time from damages order by key"
DELETE_DAMAGES = "delete from damages"
SUMMARY = "select count(*), min(time), max(time) from {table}"
"""Of queries, events and the other tables with a time."""

FORGET = (
    "delete from judgments where query in (select id from queries where {column} = ?1)",
    "delete from events where {column} = ?1 or (query != '' and query in (select id from queries where {column} = ?1))",
    "delete from shadow_runs where {column} = ?1 or query in (select id from queries where {column} = ?1)",
    "delete from queries where {column} = ?1",
)
"""Deletes what belongs to a session or a user, whose column is put in; queries last, because the others name them."""
FORGET_QUERY = (
    "delete from judgments where query = ?1",
    "delete from events where query = ?1 and query != ''",
    "delete from shadow_runs where query = ?1",
)
QUERY_IDS = "select id from queries where {column} = ?1"
SESSIONS = (
    "select distinct session from queries where user = ?1 and session != '' "
    "union select distinct session from events where user = ?1 and session != ''"
)
EXPIRE = "delete from {table} where time < ?1"
INSERT_RUN = (
    "insert or ignore into runs (id, kind, feature, time, golden, system, queries, latency, control, outcome, "
    "document) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
INSERT_RUN_VALUE = "insert or ignore into run_values values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
LATEST_RUN = "select id, kind, time, golden, system, queries, latency, outcome from runs order by number desc limit 1"
RUN_VALUES = (
    "select measure, value, low, high, n, missing from run_values where run = ? and segment = '' order by measure"
)
