"""Statements about traffic in SQLite: what is counted by the hour, and reading some sessions without the others."""
# ruff: noqa: S608 (the names are those of this module)

from __future__ import annotations

from karat.store._sqlite_statements import EVENT_COLUMNS, SELECT_QUERIES

PARTS = 256
"""Into how many parts sessions are divided."""
INDEXED_PARTS = 32
"""How many of these have an index of their own."""
_HOUR = "cast(time / 3600 as integer) - (time < 3600 * cast(time / 3600 as integer))"  # rounded down, exactly
_SPAN = "where time >= ?1 and time < ?2"
_OF_HOUR = "where time >= ?1 * 3600 and time < (?1 + 1) * 3600"

COUNT_QUERIES = f"""
    select {_HOUR} as hour, intent, count(*) as queries, sum(weight) as weight,
    sum(count is not null or hits != '[]' or error != '') as known,
    sum(coalesce(count, 1) = 0 and hits = '[]' and error = '') as nothing_found, sum(error != '') as errors from queries
"""
COUNT_EVENTS = f"select {_HOUR} as hour, count(*) as events from events"
LAST_KEY = {"queries": "select max(key) from queries", "events": "select max(key) from events"}
ADD = {
    "queries": f"""
        insert into query_traffic {COUNT_QUERIES} where key > ?1 group by 1, 2 on conflict (hour, intent) do update set
        queries = queries + excluded.queries, weight = weight + excluded.weight, known = known + excluded.known,
        nothing_found = nothing_found + excluded.nothing_found, errors = errors + excluded.errors
    """,
    "events": f"""
        insert into event_traffic {COUNT_EVENTS} where key > ?1 group by 1
        on conflict (hour) do update set events = events + excluded.events
    """,
}
"""Counts the rows after a key, which have just been added."""
HOURS_OF = {
    "queries": f"select distinct {_HOUR} from queries where {{column}} = ?1",
    "events": f"""
        select distinct {_HOUR} from events where {{column}} = ?1
        or (query != '' and query in (select id from queries where {{column}} = ?1))
    """,
}
"""The hours of what belongs to a session or a user, whose column is put in."""
HOURS_OF_QUERY = f"select distinct {_HOUR} from events where query = ?1 and query != ''"
RECOUNT = {
    "queries": (
        "delete from query_traffic where hour = ?1",
        f"insert into query_traffic {COUNT_QUERIES} {_OF_HOUR} group by 1, 2",
    ),
    "events": (
        "delete from event_traffic where hour = ?1",
        f"insert into event_traffic {COUNT_EVENTS} {_OF_HOUR} group by 1",
    ),
}
"""Counts an hour anew, after rows of it were removed."""
EXPIRE = {
    "queries": "delete from query_traffic where hour < ?1",
    "events": "delete from event_traffic where hour < ?1",
}
SUMMARIES = {
    table: f"select (select coalesce(sum({table}), 0) from {counts}), (select min(time) from {table}), "
    f"(select max(time) from {table})"
    for table, counts in {"queries": "query_traffic", "events": "event_traffic"}.items()
} | {"shadow_runs": "select count(*), min(time), max(time) from shadow_runs"}
SELECT = """
    select hour, intent, queries, weight, known, nothing_found, errors from query_traffic where hour >= ?1 and hour < ?2
"""
COUNT_SPAN = f"{COUNT_QUERIES} {_SPAN} group by 1, 2"
"""The same of a span that is not one of whole hours."""
FIRST_TIME = f"select min(time) from queries {_SPAN}"
LAST_TIME = f"select max(time) from queries {_SPAN}"
LATENCIES = f"select latency from queries {_SPAN} and latency is not null"
QUERIES_OF_PARTS = SELECT_QUERIES.replace(" order by", f" and part < {INDEXED_PARTS} and part < ? order by")
EVENTS_OF_PARTS = f"""
    select {", ".join(EVENT_COLUMNS)} from events {_SPAN} and part < {INDEXED_PARTS} and part < ?3 and session != ''
    union all
    select {", ".join(EVENT_COLUMNS)} from events {_SPAN} and session = '' and query != ''
    and exists (select 1 from queries where queries.id = events.query and queries.part < ?3)
    order by 2, 1
"""
"""Events without a session belong to the query that they name."""

STEP = f"""
create table query_traffic (
    hour integer not null, intent text not null, queries integer not null, weight real not null,
    known integer not null, nothing_found integer not null, errors integer not null, primary key (hour, intent)
) without rowid;
create table event_traffic (hour integer primary key, events integer not null);
alter table queries add column part integer not null default 0;
alter table events add column part integer not null default 0;
update queries set part = part_of(case session when '' then id else session end);
update events set part = part_of(session);
create index queries_by_part on queries (time, id, part) where part < {INDEXED_PARTS};
create index events_by_part on events (time, id, part) where part < {INDEXED_PARTS} and session != '';
insert into query_traffic {COUNT_QUERIES} group by 1, 2;
insert into event_traffic {COUNT_EVENTS} group by 1;
"""
"""The step that brings these tables; hours are in UTC, and counted in the transaction that adds or removes rows."""
