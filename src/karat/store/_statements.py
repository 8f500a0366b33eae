"""The statements of a store, in SQL that SQLite and PostgreSQL understand alike.

Parameters are written as SQLite does, ``?`` or ``?1``. What the databases do not share stands in ``_sqlite`` and
``_postgres``, with their tables.
"""

from __future__ import annotations

QUERY_COLUMNS = (
    "id", "time", "text", "session", '"user"', "intent", "mode", "tool", "hits", "channels", "stages", "weights",
    "answer", "citations", "error", "latency", "system", "weight", "trace", "quality", "attributes", "count",
    "build", "index_hash", "normaliser", "flags",
)  # fmt: skip
EVENT_COLUMNS = (
    "id", "time", "kind", "session", '"user"', "query", "document", "rank", "value", "weight", "attributes",
)  # fmt: skip
SHADOW_COLUMNS = (
    "id", "time", "feature", "text", "session", '"user"', "query", "control", "treatment", "control_latency",
    "treatment_latency", "status", "error", "k", "weight", "source", "lists", "systems", "attributes", "difference",
    "rbo", "overlap", "rank_correlation", "top_changed", "order_differences",
    "answers",
)  # fmt: skip


def _select(table: str, columns: tuple[str, ...], condition: str = "") -> str:
    span = f"time >= ? and time < ?{condition}"
    return f"select {', '.join(columns)} from {table} where {span} order by time, id"  # noqa: S608 (the same)


SELECT_SHADOW_RUNS = _select("shadow_runs", SHADOW_COLUMNS, " and feature = ? and id is not null")
SELECT_FEATURES = (
    "select feature, count(*), max(time) from shadow_runs where id is not null group by feature order by 3"
)
SELECT_SHADOW_IDS = "select id from shadow_runs where feature = ? and id is not null"
SELECT_QUERIES = _select("queries", QUERY_COLUMNS)
SELECT_EVENTS = _select("events", EVENT_COLUMNS)
SELECT_QUERIES_OF_SESSION = _select("queries", QUERY_COLUMNS, " and session = ?")
SELECT_EVENTS_OF_SESSION = _select("events", EVENT_COLUMNS, " and session = ?")
SELECT_QUERY = f"select {', '.join(QUERY_COLUMNS)} from queries where id = ?"  # noqa: S608 (the same)
SELECT_EVENTS_OF_QUERY = (
    f"select {', '.join(EVENT_COLUMNS)} from events where query = ? and query != '' order by time, id"  # noqa: S608
)
SELECT_POSITIONS = "select name, position from segments"
SET_POSITION = "insert into segments values (?, ?) on conflict (name) do update set position = excluded.position"
DELETE_POSITION = "delete from segments where name = ?"
SET_DROPS = (
    "insert into drops (segment, reason, count) values (?, ?, ?) "
    "on conflict (segment, reason) do update set count = excluded.count"
)
ADD_DROPS = (
    "insert into drops (segment, reason, count) values (?, ?, ?) "
    "on conflict (segment, reason) do update set count = drops.count + excluded.count"
)
SELECT_DROPS = "select segment, reason, count from drops"
SELECT_ACKNOWLEDGED = (
    "select reason, cast(sum(acknowledged) as bigint) from drops group by reason having sum(acknowledged) > 0"
)
SELECT_NOT_ACKNOWLEDGED = (
    "select reason, cast(sum(count - acknowledged) as bigint) from drops where count > acknowledged "
    "group by reason order by reason"
)
ACKNOWLEDGE_DROPS = "update drops set acknowledged = count where count > acknowledged"
INSERT_ACKNOWLEDGEMENT = "insert into acknowledgements (time, author, reason, dropped) values (?, ?, ?, ?)"
SELECT_ACKNOWLEDGEMENTS = "select time, author, reason, dropped from acknowledgements order by number"
ODD_OUTCOME = "kind = 'task_outcome' and (value < 0 or value > 1)"
COUNT_ODD_OUTCOMES = f"select count(*) from events where {ODD_OUTCOME}"  # noqa: S608 (the condition is the one above)
COUNT_WITHOUT_SESSION = "select count(*) from queries where session = ''"
INSERT_DAMAGE = "insert into damages (segment, file, bytes, reason, time) values (?, ?, ?, ?, ?)"
SELECT_DAMAGES = "select segment, file, bytes, reason, time from damages order by key"
DELETE_DAMAGES = "delete from damages"

FORGET = (
    "delete from judgments where query in (select id from queries where {column} = ?1)",
    "delete from events where {column} = ?1 or (query != '' and query in (select id from queries where {column} = ?1))",
    "delete from shadow_runs where {column} = ?1 or query in (select id from queries where {column} = ?1)",
    "delete from queries where {column} = ?1",
)
"""Deletes what belongs to a session or a user, whose column is put in; queries last, because the others name them.

The column is quoted, because ``user`` is a word of SQL.
"""
FORGET_QUERY = (
    "delete from judgments where query = ?1",
    "delete from events where query = ?1 and query != ''",
    "delete from shadow_runs where query = ?1",
)
QUERY_IDS = "select id from queries where {column} = ?1"
SESSIONS = (
    "select distinct session from queries where \"user\" = ?1 and session != '' "
    "union select distinct session from events where \"user\" = ?1 and session != '' "
    "union select distinct session from shadow_runs where \"user\" = ?1 and session != ''"
)
INSERT_RUN = (
    "insert into runs (id, kind, feature, time, golden, system, queries, latency, control, outcome, "
    "document) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing"
)
INSERT_RUN_VALUE = "insert into run_values values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing"
RUN_DOCUMENT = "select document, feature from runs where id = ?"
LATEST_RUN = "select id, kind, time, golden, system, queries, latency, outcome from runs order by number desc limit 1"
RUN_VALUES = (
    "select measure, value, low, high, n, missing from run_values where run = ? and segment = '' order by measure"
)
SELECT_FLAGS = "select key, version, time, document from flags order by key"
SELECT_FLAG = "select key, version, time, document from flags where key = ?"
SET_FLAG = (
    "insert into flags values (?, ?, ?, ?) on conflict (key) do update set version = excluded.version, "
    "time = excluded.time, document = excluded.document where flags.version = excluded.version - 1"
)
INSERT_FLAG_CHANGE = (
    "insert into flag_changes (flag, version, time, author, reason, before, after) values (?, ?, ?, ?, ?, ?, ?)"
)
SELECT_FLAG_CHANGES = "select flag, version, time, author, reason, before, after from flag_changes order by number"
SELECT_CHANGES_OF_FLAG = (
    "select flag, version, time, author, reason, before, after from flag_changes where flag = ? order by number"
)
_TRIAL = "select key, feature, number, status, settings, version, looks, samples, started, updated, ended from trials"
SELECT_TRIALS = f"{_TRIAL} order by key"
SELECT_TRIAL = f"{_TRIAL} where feature = ? order by number desc limit 1"
INSERT_TRIAL = (
    "insert into trials (feature, number, status, upper_bound, lower_bound, least_samples, threshold, settings, "
    "started, updated) values (?1, 1 + (select coalesce(max(number), 0) from trials where feature = ?1), 'running', "
    "?2, ?3, ?4, ?5, ?6, ?7, ?7) on conflict do nothing"
)
COUNT_LOOK = "update trials set looks = looks + 1 where key = ?"
SET_SAMPLES = "update trials set samples = ?2, log_likelihood_ratio = ?3, updated = ?4 where key = ?1"
SET_STATUS = (
    "update trials set status = ?3, version = version + 1, updated = ?4, ended = ?5 where key = ?1 and version = ?2"
)
INSERT_BATCH = "insert into trial_batches (trial, batch, time, origin) values (?, ?, ?, ?) on conflict do nothing"
ADD_TRIAL_COUNT = (
    "insert into trial_counts values (?, ?, ?, ?, ?) on conflict (trial, series, hour, value) "
    "do update set count = trial_counts.count + excluded.count"
)
SELECT_TRIAL_COUNTS = (
    "select series, value, cast(sum(count) as bigint) from trial_counts where trial = ? "
    "group by series, value order by series, value"
)
SELECT_HOURLY_COUNTS = "select hour, value, count from trial_counts where trial = ? and series = ? order by hour, value"
SELECT_TRIAL_LOGS = "select log, version, state, time from trial_logs where trial = ? order by log"
SET_TRIAL_LOG = (
    "insert into trial_logs values (?1, ?2, ?3 + 1, ?4, ?5) on conflict (trial, log) do update set "
    "version = excluded.version, state = excluded.state, time = excluded.time where trial_logs.version = ?3"
)
INSERT_TRIAL_SESSION = "insert into trial_sessions values (?, ?, ?) on conflict do nothing"
SELECT_TRIAL_SESSION = "select records from trial_sessions where trial = ? and session = ?"
DELETE_TRIAL_SESSION = "delete from trial_sessions where trial = ? and session = ?"
DELETE_EARLIER_SESSIONS = (
    "delete from trial_sessions where trial in (select key from trials where feature = ? and status in "
    "('graduated', 'rejected'))"
)
SELECT_STORE_ID = "select id from stores"
INSERT_TRANSITION = (
    "insert into transitions (trial, version, time, author, reason, before, after, evidence) "
    "values (?, ?, ?, ?, ?, ?, ?, ?)"
)
SELECT_TRANSITIONS = (
    "select version, time, author, reason, before, after, evidence from transitions where trial = ? order by version"
)
LATEST_OF_FEATURE = (
    "select runs.id, runs.outcome, run_values.delta, runs.control, runs.document "
    "from runs left join run_values on run_values.run = runs.id and measure = ?2 and segment = '' "
    "where feature = ?1 order by runs.number desc limit 1"
)
DELETE_BEHAVIOUR = "delete from judgments where annotator like 'behaviour %'"
INSERT_JUDGMENT = (
    "insert into judgments (query, document, grade, source, annotator, confidence, estimate, low, high, n, time) "
    "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
MARK_GOLDEN = "update queries set in_golden_set = 1, category = ?1 where id = ?2"
