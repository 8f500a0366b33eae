"""Statements about alerts, in SQL that both databases understand."""

from __future__ import annotations

COUNT_CELLS = (
    "select cast(time / ?3 as bigint) - case when time < ?3 * cast(time / ?3 as bigint) then 1 else 0 end, count(*) "
    "from queries where time >= ?1 and time < ?2 group by 1 order by 1"
)
SELECT_ORIGINS = (
    "select build, index_hash, normaliser, min(time), max(time), count(*) from queries{hint} "
    "where time >= ?1 and time < ?2 and (index_hash != '' or normaliser != '') group by 1, 2, 3 order by 4, 1, 2, 3"
)
FIND_CITATION = "select 1 from queries where time >= ? and citations != '[]' limit 1"
_ALERT = "select key, name, opened, closed, start, evidence from alerts"
SELECT_OPEN = f"{_ALERT} where closed is null order by opened, name"
SELECT_ALERTS = f"{_ALERT} order by key"
OPEN_ALERT = "insert into alerts (name, opened, start, evidence) values (?, ?, ?, ?)"
ADD_OPEN_NOTICE = (
    "insert into notices (alert, state, time, body) "
    "select key, 'open', ?2, ?3 from alerts where name = ?1 and closed is null"
)
CLOSE_ALERT = "update alerts set closed = ?2 where key = ?1"
ADD_CLOSED_NOTICE = "insert into notices (alert, state, time, body) values (?, 'closed', ?, ?)"
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
    "start = case when watched.start > excluded.start then watched.start else excluded.start end, "
    "time = excluded.time, dropped = excluded.dropped"
)
