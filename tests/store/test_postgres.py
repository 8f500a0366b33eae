"""A store in PostgreSQL: address, partitions, roles, and copies from one database to the other."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from store_rows import EVENT, QUERY, SHADOW

from each import each
from karat.core import InputError, SystemFailed, UsageError
from karat.online import check_store, copy_store
from karat.store import Store, open_store, parse_address
from karat.store._moving import TABLES
from karat.store._postgres_schema import FIRST, MIGRATIONS
from karat.store._sqlite_schema import MIGRATIONS as SQLITE_MIGRATIONS
from postgres import make_address, start_server

DAY = 86400.0


@pytest.fixture
def address() -> str:
    """A store that is not there yet."""
    return make_address()


def fill(store: Store) -> None:
    """Write something into every kind of table."""
    with store.transaction():
        store.add_queries([QUERY, ("q\0\ufdd0", *QUERY[1:]), ("late", time.time(), *QUERY[2:])])
        store.add_events([EVENT, ("e2", time.time() - DAY, *EVENT[2:])])
        store.add_shadow_runs([SHADOW])
        store.set_position("a.seg", 77)
        store.set_drops("a.seg", {"full": 2})
        store.add_damage("a.seg", "x.torn", 5, "broken", 6.0)
        store.add_run(("r", "full", "f", 5.0, "g", "s", 3, 1.5, "", "pass", "{}"), [
            ("r", "RR@10", "", 0.5, 0.25, 0.75, 3, "", 0.5, 0.0, 1.0, False),
        ])  # fmt: skip
        store.trials.add(("f", 3.0, -3.0, 100, 0.03, "{}", 5.0))
        trial = store.trials.latest("f")
        assert trial is not None
        store.trials.add_batch(trial[0], "monday", 5.0, "file", [("a", 1, 0.5, 7)])
        store.trials.add_sessions(trial[0], [(b"s", b"\0\xff")])
        store.change_flag(("k", 1, 5.0, "ana", "why", None, "{}"))
        store.alerts.add("slow", 5.0, 4.0, "{}", "body")
        store.alerts.set_watched("w", 1.0, 2.0, 0)
        store.acknowledgements.add(5.0, "ana", "why")
        store.replace_behaviour([("q1", "d" * 9000, 2, "implicit", "behaviour x", 1.0, 0.5, 0.25, 0.75, 3, 5.0)])


def read_all(place: str | Path) -> dict[str, list[object]]:
    """Return every row of a store."""
    with open_store(place) as store:
        names = {table: ", ".join(f'"{name}"' for name in sorted(store._database.columns(table))) for table in TABLES}
        return {
            table: list(store._rows(f"select {names[table]} from {table} order by {order}"))
            for table, order in TABLES.items()
        }


def test_both_databases_are_at_the_same_version_with_the_same_columns(address: str, tmp_path: Path) -> None:
    """A number means the same tables, with the same columns, whichever the database."""
    assert FIRST + len(MIGRATIONS) - 1 == len(SQLITE_MIGRATIONS)
    with open_store(address, write=True) as postgres, open_store(tmp_path / "karat.db", write=True) as sqlite:
        for table in TABLES:
            assert sorted(postgres._database.columns(table)) == sorted(sqlite._database.columns(table)), table
        views = "select viewname from pg_views where schemaname = current_schema()"
        named = {name for (name,) in postgres._rows(views)}
        assert named == {name for (name,) in sqlite._rows("select name from sqlite_schema where type = 'view'")}
        for view in named:
            assert postgres._database.columns(view) == sqlite._database.columns(view)
        tables = "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'"
        assert {name for (name,) in sqlite._rows(tables)} == set(TABLES)


def test_a_copy_there_and_back_is_the_same(address: str, tmp_path: Path) -> None:
    """Every row of every table, numbers of rows included; and the next number is none that was copied."""
    first, last = tmp_path / "first.db", tmp_path / "last.db"
    with open_store(first, write=True) as store:
        fill(store)
    counts = dict(copy_store(first, address).rows)
    assert copy_store(address, last).rows == counts
    before = read_all(first)
    assert {table: len(rows) for table, rows in before.items()} == counts
    assert all(counts[table] for table in TABLES if table not in ("trial_logs", "transitions"))
    assert read_all(address) == before == read_all(last)
    for place in (address, last):
        done = check_store(place)
        assert (done.rows, done.problems) == (counts, ())
    with open_store(address, write=True) as store, store.transaction():
        new: set[str] = set()
        assert store.add_queries([QUERY, ("new", *QUERY[1:]), ("new", *QUERY[1:])], None, new) == 1
        assert new == {"new"}
        assert store.sessions_by_arrival.last_keys()[0] > 3
        assert store.trials.add(("other", 3.0, -3.0, 100, 0.03, "{}", 5.0))


def test_a_copy_needs_an_empty_store(address: str, tmp_path: Path) -> None:
    """What is there is never mixed with something else; one that fails leaves nothing."""
    path = tmp_path / "karat.db"
    with open_store(path, write=True) as store:
        fill(store)
    copy_store(path, address)
    with pytest.raises(InputError, match="has rows in queries"):
        copy_store(path, address)
    with pytest.raises(InputError, match="is the store that is copied"):
        copy_store(path, path)


def test_what_is_counted_wrongly_is_told(address: str) -> None:
    """Checking counts again."""
    with open_store(address, write=True) as store:
        fill(store)
        store._database.execute("update query_traffic set errors = 7")
    assert check_store(address).problems == ("2 hours of queries are counted wrongly",)


def list_partitions(store: Store) -> set[str]:
    """Return the tables of days."""
    own = "relkind = 'r' and relnamespace = current_schema()::regnamespace"
    return {name for (name,) in store._rows(f"select relname from pg_class where relname ~ '_[0-9]{{8}}$' and {own}")}


def test_a_day_has_a_table_which_retention_drops(address: str) -> None:
    """Those that lie before are dropped whole, and the rest by rows; a time that is far away makes no table."""
    now = time.time()
    times = [5.0, now - 3 * DAY, now - 3 * DAY, now - DAY, now, now + 400 * DAY, 1e300]
    with open_store(address, write=True) as store:
        with store.transaction():
            refused: dict[int, str] = {}
            rows = [(f"q{index}", moment, *QUERY[2:]) for index, moment in enumerate(times)]
            assert store.add_queries(rows, refused) == 6
            assert list(refused) == [6], "the hour of a time that no clock has cannot be counted"
            store.add_events([("e", now, *EVENT[2:])])
        assert len(list_partitions(store)) == 4
        assert len({name for name in list_partitions(store) if name.startswith("queries_")}) == 3
        start = (now // DAY) * DAY - DAY
        with store.transaction():
            assert store.expire("queries", start) == 3
        assert len(list_partitions(store)) == 3
        assert [row[0] for row in store.queries(None, None)] == ["q3", "q4", "q5"]
        assert store.summary("queries")[0] == 3
        with store.transaction():
            assert store.expire("queries", start) == 0


def test_a_day_whose_rows_came_too_early_stays_where_they_are(address: str) -> None:
    """A row of a future day is in the rest; when the day comes, its table would contradict it."""
    day = (time.time() // DAY) * DAY
    with open_store(address, write=True) as store:
        with store.transaction():
            store.add_queries([("early", 5.0, *QUERY[2:])])
            store._database.execute("update queries_rest set time = ?", (day + 5,))
        with store.transaction():
            assert store.add_queries([("q", day + 6, *QUERY[2:])]) == 1
        assert [row[0] for row in store.queries(None, None)] == ["early", "q"]


@each(
    ("text", "problem"),
    [
        ("postgresql://ana:secret@db/logs", "may not have a password"),
        ("postgresql://db/logs?password=secret", "may not have a password"),
        ("postgresql://db/logs?options=-csearch_path=x", "has the setting 'options'"),
        ("postgresql://db:port/logs", "cannot be read"),
        ("postgresql://db/logs?schema=x;drop", "is not the name of a schema"),
        ("postgresql://db/logs?schema", "cannot be read"),
        ("postgresql://ana:secret/7@db/logs", "cannot be read"),
        ("postgresql://ana:secret#7@db/logs", "cannot be read"),
        ("postgresql://ana:12/secret@db/logs", "has an @ after its host"),
        ("postgresql://ana:12?secret=@db/logs", "has an @ after its host"),
        ("postgresql://db/logs?schema=information_schema", "is not the name of a schema"),
        ("postgresql://db/logs?schema=pg_temp", "is not the name of a schema"),
    ],
)
def test_an_address_without_sense(text: str, problem: str) -> None:
    """One message, which does not repeat a secret."""
    with pytest.raises(UsageError, match=problem) as error:
        parse_address(text)
    assert "secret" not in str(error.value)


def test_a_schema_may_have_the_name_of_a_word_of_sql(address: str) -> None:
    """Such as user."""
    named = f"{address.partition('&schema=')[0]}&schema=user"
    with open_store(named, write=True) as store, store.transaction():
        assert store.add_queries([("q", 1.0, *QUERY[2:])]) == 1
    with open_store(named) as store:
        assert [row[0] for row in store.queries(None, None)] == ["q"]


def test_what_is_no_store(address: str) -> None:
    """A server that is not there, a schema that is not there, and a newer one."""
    with pytest.raises(SystemFailed, match="cannot be used"):
        open_store("postgresql:///logs?host=/nowhere")
    with pytest.raises(InputError, match="no such store"):
        open_store(address)
    with pytest.raises(InputError, match="no such store"):
        open_store(address, write=True, make=False)
    with open_store(address, write=True) as store:
        store._database.execute("update version set number = 999")
    for write in (False, True):
        with pytest.raises(InputError, match="is a store of version 999"):
            open_store(address, write=write)


def test_a_reader_sees_one_moment(address: str) -> None:
    """Also between two statements; the next reader sees what came meanwhile."""
    with open_store(address, write=True) as writer:
        with writer.transaction():
            writer.add_queries([QUERY])
        with open_store(address) as reader:
            assert reader.summary("queries")[0] == 1
            with writer.transaction():
                writer.add_queries([("q2", *QUERY[1:])])
            assert reader.summary("queries")[0] == 1
            assert len(list(reader.queries(None, None))) == 1
        with open_store(address) as reader:
            assert reader.summary("queries")[0] == 2


def test_rows_come_in_pieces(address: str) -> None:
    """A reader that has read one row of many holds a piece, and may ask for something else meanwhile."""
    with open_store(address, write=True) as writer, writer.transaction():
        writer.add_queries([(f"q{index:05}", *QUERY[1:]) for index in range(5000)])
    with open_store(address) as reader:
        rows = reader.queries(None, None)
        assert next(rows)[0] == "q00000"
        assert reader.summary("queries")[0] == 5000
        assert sum(1 for _ in rows) == 4999


@pytest.mark.parametrize("write", [False, True])
def test_streams_end_in_any_order(address: str, write: bool) -> None:
    """A report reads queries and events side by side, and the last event may come after the last query."""
    with open_store(address, write=True) as store, store.transaction():
        store.add_queries([(f"q{number}", *QUERY[1:]) for number in range(2500)])
        store.add_events([(f"e{number}", *EVENT[1:]) for number in range(2500)])
    with open_store(address, write=write) as store:
        queries, events = store.queries(None, None), store.events(None, None)
        first = next(events)
        assert len(list(queries)) == 2500
        assert len({first[0], *(row[0] for row in events)}) == 2500
        queries, events = store.queries(None, None), store.events(None, None)
        assert next(queries)
        assert next(events)
        del queries  # one that is not read to its end
        assert len(list(events)) == 2499
        with pytest.raises(SystemFailed, match="division by zero"):
            list(store._database.stream("select 1 / (5 - number) from generate_series(1, 9) as number"))


@pytest.mark.parametrize("seed", range(3))
def test_texts_of_any_kind_come_back(address: str, seed: int) -> None:
    """NUL, which PostgreSQL has not, the mark that stands for it, quotes, tabs, backslashes and ends of lines."""
    draw = random.Random(seed)
    texts = ["".join(draw.choices("\0\ufdd0\t\n\r\\'\"01N.é\U0001f600", k=draw.randrange(9))) for _ in range(200)]
    with open_store(address, write=True) as store, store.transaction():
        assert store.add_queries([(f"q{index:03}", 5.0, text, *QUERY[3:]) for index, text in enumerate(texts)]) == 200
        assert [row[2] for row in store.queries(None, None)] == texts
        assert [row[0] for row in store.queries(None, None, texts[0])] == []


@pytest.fixture
def roles(address: str) -> tuple[str, str]:
    """Addresses of a writer and of a reader, with the rights that docs/store.md lists."""
    open_store(address, write=True).close()
    schema = parse_address(address).schema
    page = Path(__file__).parents[2] / "docs" / "store.md"
    sql = page.read_text().split("```sql\n")[1].split("```")[0]
    names = {"karat_writer": f"writer_{schema}", "karat_reader": f"reader_{schema}"}
    for name, own in names.items():
        sql = sql.replace(name, own)
    with psycopg.connect(start_server(), autocommit=True) as connection:
        connection.execute(sql.replace("schema karat", f"schema {schema}").replace("karat.", f"{schema}."))
    writer, reader = (address.replace("postgres@", f"{name}@") for name in names.values())
    return writer, reader


def test_a_writer_cannot_read_and_a_reader_cannot_write(address: str, roles: tuple[str, str]) -> None:
    """The writer of a host ingests and sees no text; the reader of a report changes nothing."""
    writer, reader = roles
    with open_store(writer, write=True) as store:
        with store.transaction():
            assert store.add_queries([QUERY, ("now", time.time(), *QUERY[2:])]) == 2
            assert store.add_queries([QUERY]) == 0
            assert store.add_events([EVENT]) == 1
            assert store.add_shadow_runs([SHADOW]) == 1
            store.set_position("a.seg", 5)
            store.set_drops("a.seg", {"full": 1})
            store.add_damage("a.seg", "x", 1, "why", 1.0)
            store.remove_position("a.seg")
        for columns in (
            "text from queries",
            "* from events",
            "hits from queries_rest",
            "* from flags",
            "* from judgments",
        ):
            statement = f"select {columns}"
            with pytest.raises(InputError, match="may not do this"):
                list(store._rows(statement))
        for statement in ("delete from queries", "update queries set text = ''", "drop table queries",
                          "insert into flags values ('k', 1, 1, '{}')"):  # fmt: skip
            with pytest.raises(InputError, match="may not do this"), store.transaction():
                store._database.execute(statement)
    with open_store(reader) as store:
        assert [row[0] for row in store.queries(None, None)] == ["q1", "now"]
        assert store.summary("events")[0] == 1
    refused = pytest.raises(InputError, match="may not do this")
    with open_store(reader, write=True) as store, refused, store.transaction():
        store.add_queries([("q3", *QUERY[1:])])


def wait_until_refused(address: str) -> None:
    """Wait until a server has read its rules anew."""
    with pytest.raises(SystemFailed, match="no password supplied"):  # noqa: PT012
        while True:
            open_store(address, write=True).close()


@pytest.fixture
def guarded(address: str) -> Iterator[str]:
    """The address of a store whose role has to give a password, which is "right"."""
    role = f"guarded_{parse_address(address).schema}"
    with psycopg.connect(start_server(), autocommit=True) as connection:
        connection.execute(f"create role {role} login superuser password 'right'")
        row = connection.execute("show hba_file").fetchone()
        assert row is not None
        rules = Path(row[0])
        others = rules.read_text()
        rules.write_text(f"local all {role} scram-sha-256\n{others}")
        connection.execute("select pg_reload_conf()")
        guarded = address.replace("postgres@", f"{role}@")
        wait_until_refused(guarded)
        yield guarded
        rules.write_text(others)
        connection.execute("select pg_reload_conf()")


def test_a_password_comes_from_the_environment(guarded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The right one gets in. With another, as without any, one message says so, and does not repeat it."""
    monkeypatch.setenv("PGPASSWORD", "not it")
    with pytest.raises(SystemFailed, match="password authentication failed") as refused:
        open_store(guarded, write=True)
    assert "not it" not in str(refused.value)
    monkeypatch.setenv("PGPASSWORD", "right")
    with open_store(guarded, write=True) as store, store.transaction():
        assert store.add_queries([QUERY]) == 1
