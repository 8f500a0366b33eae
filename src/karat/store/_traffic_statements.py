"""Statements about traffic: what is counted by the hour, and reading some sessions without the others.

In SQL that SQLite and PostgreSQL understand alike.
"""
# ruff: noqa: S608 (the names are those of this module)

from __future__ import annotations

from karat.store._statements import EVENT_COLUMNS, ODD_OUTCOME, SELECT_QUERIES

PARTS = 256
"""Into how many parts sessions are divided."""
INDEXED_PARTS = 32
"""How many of these have an index of their own: more are read by going through all rows of a span."""
_HOUR = "cast(time / 3600 as bigint) - case when time < 3600.0 * cast(time / 3600 as bigint) then 1 else 0 end"
"""Rounded down exactly, whichever way a cast rounds."""
_SPAN = "where time >= ?1 and time < ?2"
_OF_HOUR = "where time >= ?1 * 3600.0 and time < (?1 + 1) * 3600.0"

COUNT_QUERIES = f"""
    select {_HOUR} as hour, intent, count(*) as queries, sum(weight) as weight,
    count(*) filter (where count is not null or hits != '[]' or error != '') as known,
    count(*) filter (where coalesce(count, 1) = 0 and hits = '[]' and error = '') as nothing_found,
    count(*) filter (where error != '') as errors from queries
"""
COUNT_EVENTS = f"select {_HOUR} as hour, count(*) as events from events"
ADD_QUERIES = ", ".join(
    f"{name} = query_traffic.{name} + excluded.{name}"
    for name in ("queries", "weight", "known", "nothing_found", "errors")
)
ADD_EVENTS = "events = event_traffic.events + excluded.events"
"""What is done where an hour has been counted before."""
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
    table: f"select (select cast(coalesce(sum({table}), 0) as bigint) from {counts}), (select min(time) from {table}), "
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
LATENCIES = f"select latency from queries {_SPAN} and latency >= 0"
"""One below 0 is that of a clock that was set back meanwhile, or of a mistake."""
COUNT_ODD_OUTCOMES = f"select count(*) from events {_SPAN} and {ODD_OUTCOME}"
COUNT_NEGATIVE_LATENCIES = f"select count(*) from queries {_SPAN} and latency < 0"
COUNT_WITHOUT_SESSION = f"""
    select count(*) from events {_SPAN} and session = '' and (query = '' or not exists
    (select 1 from queries where queries.id = events.query))
"""
QUERIES_OF_PARTS = SELECT_QUERIES.replace(" order by", " and part < ? order by")
QUERIES_OF_INDEXED_PARTS = SELECT_QUERIES.replace(" order by", f" and part < {INDEXED_PARTS} and part < ? order by")
EVENTS_OF_PARTS = f"""
    select {", ".join(EVENT_COLUMNS)} from events {_SPAN} and part < ?3 and session != ''
    union all
    select {", ".join(EVENT_COLUMNS)} from events {_SPAN} and session = '' and query != ''
    and exists (select 1 from queries where queries.id = events.query and queries.part < ?3)
    order by 2, 1
"""
"""Events without a session belong to the query that they name."""
EVENTS_OF_INDEXED_PARTS = EVENTS_OF_PARTS.replace("and part <", f"and part < {INDEXED_PARTS} and part <", 1)
EVENTS_WITH_HOMES = f"""
    select {", ".join(EVENT_COLUMNS)}, case when query = '' then null else (
        select asked.session from queries as asked where asked.id = events.query and asked.time <= events.time
        and asked.time >= events.time - ?3 and asked.time >= ?1 order by asked.time desc limit 1
    ) end from events {_SPAN} order by time, id
"""
"""With the session of the query that an event names, if that was asked in the span and not long before it."""
