"""Traffic that is counted as it is stored: always what the rows say, whoever adds, forgets or expires them."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from karat.online import LoggedEvent, LoggedHit, LoggedQuery, read_log
from karat.online._stored import event_row, query_row
from karat.store import INDEXED_PARTS, PARTS, Store, _statements, open_store
from karat.store._sqlite_schema import MIGRATIONS
from karat.store._traffic import find_part

pytestmark = pytest.mark.usefixtures("steps_are_taken")
HOUR = 3600.0


def make_queries(rng: random.Random, count: int) -> list[LoggedQuery]:
    """Return queries over two days and a half, and one before 1970."""
    return [
        LoggedQuery(
            f"q{number}",
            rng.choice([rng.uniform(0, 60 * HOUR), HOUR * rng.randrange(60), -HOUR]),
            "wifi",
            session=rng.choice(["", *map(str, range(300))]),
            user=rng.choice(["", "ann", "bob"]),
            intent=rng.choice(["", "fix", "find"]),
            hits=(LoggedHit("a", 1),) if rng.random() < 0.5 else (),
            count=rng.choice([None, 0, 1]),
            error=rng.choice(["", "", "timeout"]),
            latency=rng.choice([None, rng.random()]),
            weight=rng.choice([1.0, 4.0]),
        )
        for number in range(count)
    ]


def make_events(rng: random.Random, queries: list[LoggedQuery], count: int) -> list[LoggedEvent]:
    return [
        LoggedEvent(
            f"e{number}",
            rng.uniform(0, 60 * HOUR),
            "read_after_search",
            session=rng.choice(["", *map(str, range(300))]),
            query=rng.choice(["", rng.choice(queries).id]),
        )
        for number in range(count)
    ]


def check(path: Path, since: float | None = None, until: float | None = None) -> None:
    """Compare what was counted with the rows."""
    with read_log(path) as log:
        queries, totals = list(log.queries(since, until)), log.totals(since, until)
        assert sorted(log.latencies(since, until)) == sorted(q.latency for q in queries if q.latency is not None)
    empty = [q for q in queries if not q.hits and q.count == 0 and not q.error]
    assert (totals.queries, totals.nothing_found, totals.errors, totals.known) == (
        len(queries), len(empty), sum(bool(q.error) for q in queries),
        sum(q.count is not None or bool(q.hits or q.error) for q in queries),
    )  # fmt: skip
    assert totals.weight == sum(q.weight for q in queries)
    assert totals.intents == Counter(q.intent for q in queries)
    assert sum(totals.days.values()) == len(queries)
    times = [q.time for q in queries]
    assert (totals.first, totals.last) == ((min(times), max(times)) if times else (None, None))


def check_summaries(path: Path) -> None:
    with open_store(path) as store:
        for table, rows in (("queries", store.queries), ("events", store.events)):
            times = [row[1] for row in rows(None, None)]
            assert store.summary(table) == (len(times), min(times, default=None), max(times, default=None))


def add(store: Store, queries: list[LoggedQuery], events: list[LoggedEvent]) -> None:
    with store.transaction():
        store.add_queries([query_row(query) for query in queries])
        store.add_events([event_row(event) for event in events])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store to which most records were added twice."""
    rng = random.Random(5)
    queries = make_queries(rng, 400)
    events = make_events(rng, queries, 300)
    with open_store(tmp_path / "karat.db", write=True) as store:
        for start in (0, 50, 100):
            add(store, queries[start:], events[start:])
    return tmp_path / "karat.db"


@pytest.mark.parametrize("span", [(None, None), (HOUR, 24 * HOUR), (1800.0, 7 * HOUR + 1), (10.0, 20.0), (2e9, None)])
def test_counts_are_those_of_the_rows(path: Path, span: tuple[float | None, float | None]) -> None:
    """Whatever the span: whole hours, parts of them, or nothing."""
    check(path, *span)
    check_summaries(path)


def test_what_is_removed_is_not_counted_any_more(path: Path) -> None:
    """Forgetting a session or a user, what named their queries, and what is too old."""
    with open_store(path, write=True) as store:
        removals: list[Any] = [
            lambda: store.forget("session", "7"),
            lambda: store.forget("user", "ann"),
            lambda: store.forget_query("q1"),
            lambda: store.expire("queries", 24 * HOUR) + store.expire("events", 30.5 * HOUR),
        ]
        for remove in removals:
            with store.transaction():
                remove()
            check(path)
            check_summaries(path)


def test_parts_are_whole_sessions(path: Path) -> None:
    """A session is read with all of its queries and events, or not at all; parts are of about the same size."""
    with read_log(path) as log:
        queries, events = list(log.queries()), list(log.events())
        some, own = list(log.queries(parts=INDEXED_PARTS)), list(log.events(parts=INDEXED_PARTS))
    chosen = {query.session or query.id for query in some}
    assert some == [query for query in queries if (query.session or query.id) in chosen]
    home = {query.id: query.session or query.id for query in queries}
    names = [event.session or home.get(event.query, "") for event in events]
    parts = [find_part(name) if name else PARTS for name in names]
    assert own == [event for event, part in zip(events, parts, strict=True) if part < INDEXED_PARTS]
    assert 0.05 < len(some) / len(queries) < 0.25


@pytest.mark.sqlite
def test_an_older_store_is_counted_when_it_is_brought_forward(tmp_path: Path) -> None:
    """A store of version 1 has neither counts nor parts."""
    rng = random.Random(6)
    queries = make_queries(rng, 200)
    connection = sqlite3.connect(tmp_path / "old.db")
    connection.executescript(MIGRATIONS[0] + "pragma user_version = 1;")
    first = len(_statements.QUERY_COLUMNS) - 4  # builds, indexes, normalisers and flags came later
    columns, marks = ", ".join(_statements.QUERY_COLUMNS[:first]), ", ".join("?" * first)
    connection.executemany(f"insert into queries ({columns}) values ({marks})", [query_row(q)[:first] for q in queries])
    connection.commit()
    connection.close()
    with open_store(tmp_path / "old.db", write=True) as store:
        parts = dict(store._rows("select id, part from queries"))
    assert parts == {query.id: find_part(query.session or query.id) for query in queries}
    check(tmp_path / "old.db")
    check_summaries(tmp_path / "old.db")
