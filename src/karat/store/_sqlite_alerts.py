"""The tables of alerts in SQLite, and the statements that use them."""

from __future__ import annotations

STEP = """
create index queries_by_origin on queries (time, build, index_hash, normaliser)
    where index_hash != '' or normaliser != '';
create table alerts (
    key integer primary key, name text not null, opened real not null, closed real, start real not null,
    evidence text not null
);
create unique index one_open_alert on alerts (name) where closed is null;
create table notices (
    key integer primary key, alert integer not null references alerts (key),
    state text not null check (state in ('open', 'closed')), time real not null, body text not null, claimed real,
    sent real, attempts integer not null default 0, error text not null default '', unique (alert, state)
);
create index notices_to_send on notices (key) where sent is null;
create table watched (name text primary key, start real not null, time real not null, dropped integer not null)
    without rowid;
"""
"""``start`` is when the window begins that an alert was opened by, or that was looked at last."""

COUNT_CELLS = (
    "select cast(time / ?3 as integer), count(*) from queries where time >= ?1 and time < ?2 group by 1 order by 1"
)
SELECT_ORIGINS = (
    "select build, index_hash, normaliser, min(time), max(time), count(*) from queries indexed by queries_by_origin "
    "where time >= ?1 and time < ?2 and (index_hash != '' or normaliser != '') group by 1, 2, 3 order by 4, 1, 2, 3"
)
_ALERT = "select key, name, opened, closed, start, evidence from alerts"
SELECT_OPEN = f"{_ALERT} where closed is null order by opened, name"
SELECT_ALERTS = f"{_ALERT} order by key"
OPEN_ALERT = "insert into alerts (name, opened, start, evidence) values (?, ?, ?, ?)"
CLOSE_ALERT = "update alerts set closed = ?2 where key = ?1"
ADD_NOTICE = "insert into notices (alert, state, time, body) values (?, ?, ?, ?)"
UNSENT = (
    "select key, body, attempts from notices where sent is null and time >= ?1 and "
    "(claimed is null or claimed < ?2 or claimed > ?3) order by key"
)
CLAIM = (
    "update notices set claimed = ?4 where key = ?1 and sent is null and "
    "(claimed is null or claimed < ?2 or claimed > ?3)"
)
MARK_SENT = "update notices set sent = ?2, attempts = attempts + 1, error = '' where key = ?1"
MARK_FAILED = "update notices set claimed = null, attempts = attempts + 1, error = ?2 where key = ?1"
SELECT_WATCHED = "select start, time, dropped from watched where name = ?"
SET_WATCHED = (
    "insert into watched values (?, ?, ?, ?) on conflict (name) do update set "
    "start = max(start, excluded.start), time = excluded.time, dropped = excluded.dropped"
)
