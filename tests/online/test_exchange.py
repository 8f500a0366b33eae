"""UBI and Parquet: what is written can be read again, and says the same."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from each import each
from in_process import run_karat
from karat import online
from karat.core import InputError, UsageError
from karat.online import (
    EVENT_KINDS,
    LoggedEvent,
    LoggedHit,
    LoggedQuery,
    export_log,
    import_ubi,
    ingest,
    read_log,
)
from karat.online._ubi import event_to_ubi, find_violations, query_to_ubi, ubi_to_event, ubi_to_query
from public_data import DATA, skip_without

SCHEMAS = DATA / "ubi" / "schema-1.3.0"
words = st.text(alphabet="ab \u00e9\U0001f600", max_size=6)
names = st.text(alphabet="abc", min_size=1, max_size=4)
numbers = st.floats(0, 1e9, allow_nan=False)
times = st.floats(0, 4e9, allow_nan=False).map(lambda value: float(value))
values: Any = st.none() | st.booleans() | st.integers(-5, 5) | words
attributes = st.dictionaries(names | st.sampled_from(["position", "object", "ubi_", "karat"]), values, max_size=3)
hits = st.lists(
    st.builds(
        LoggedHit,
        names,
        st.integers(1, 9),
        st.none() | numbers,
        st.lists(names, max_size=2).map(tuple),
        st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)),
        words,
        st.sampled_from(["", "x:chunk:1"]),
    ),
    max_size=3,
).map(tuple)
queries = st.builds(
    LoggedQuery,
    names, times, words, words, words, words, words, words, hits,
    st.dictionaries(names, st.lists(names, max_size=2).map(tuple), max_size=2),
    st.dictionaries(names, numbers, max_size=2),
    st.dictionaries(names, numbers, max_size=2),
    st.none() | words, st.lists(names, max_size=2).map(tuple), words, st.none() | numbers, words, numbers, words,
    st.none() | numbers, attributes, st.none() | st.integers(0, 9),
)  # fmt: skip
events = st.builds(
    LoggedEvent,
    names, times, st.sampled_from([*EVENT_KINDS, "click", "purchase"]), words, words, words, words,
    st.none() | st.integers(1, 9), st.none() | numbers, numbers, attributes,
)  # fmt: skip
moments = st.sampled_from(
    ["2018-11-13T20:20:39+00:00", "2018-11-13T20:20:39Z", "2018-11-13T20:20:39", "2024-05-16T12:34:56.789Z"]
)
_TEXTS = ("application", "query_id", "session_id", "client_id", "user_id", "message", "anything")
optional = dict.fromkeys(_TEXTS, words)
query_rows = st.fixed_dictionaries(
    {"user_query": words, "timestamp": moments},
    optional={**optional, "query_attributes": attributes, "query_response_hit_ids": st.lists(names, max_size=3)},
)
positions = st.fixed_dictionaries({}, optional={"ordinal": st.integers(-1, 3), "xy": attributes})
things = st.fixed_dictionaries({}, optional={"object_id": names | st.integers(0, 5), "object_id_type": words})
event_rows = st.fixed_dictionaries(
    {"action_name": st.sampled_from(["click", "view", "purchase"]), "timestamp": moments},
    optional={
        **optional,
        "event_attributes": st.fixed_dictionaries({}, optional={"position": positions, "object": things, "a": values}),
    },
)


@pytest.mark.slow
@given(queries)
def test_a_query_survives_ubi(query: LoggedQuery) -> None:
    """Everything of a record comes back, through JSON."""
    row = json.loads(json.dumps(query_to_ubi(query)))
    assert ubi_to_query(row) == query
    assert query.count is None or row["query_response_hit_ids"] == [hit.id for hit in query.hits]


@pytest.mark.slow
@given(events)
def test_an_event_survives_ubi(event: LoggedEvent) -> None:
    """Everything of a record comes back, through JSON; a read is a click for others."""
    row = json.loads(json.dumps(event_to_ubi(event)))
    assert ubi_to_event(row) == event
    if event.kind == "read_after_search":
        assert row["action_name"] == "click"


@pytest.mark.slow
@given(query_rows, event_rows)
def test_rows_of_others_survive_karat(query: dict[str, Any], event: dict[str, Any]) -> None:
    """A row that another tool wrote comes back as it was, but for the id that a query without one was given."""
    back = query_to_ubi(ubi_to_query(query))
    assert {name: value for name, value in back.items() if name in query} == query
    assert back.keys() - query.keys() <= {"query_id"}
    assert event_to_ubi(ubi_to_event(event)) == event


def test_an_event_by_hand() -> None:
    """Position and object are where UBI has them; a click is a read after a search; ranks begin with 1."""
    row = {
        "action_name": "click",
        "timestamp": "1970-01-01T00:00:05Z",
        "query_id": "q1",
        "session_id": "s",
        "event_attributes": {"object": {"object_id": "wifi"}, "position": {"ordinal": 3}},
    }
    event = ubi_to_event(row)
    assert (event.kind, event.document, event.rank, event.time) == ("read_after_search", "wifi", 3, 5.0)
    assert (event.query, event.session) == ("q1", "s")
    zero = {**row, "event_attributes": {"object": {"object_id": "wifi"}, "position": {"ordinal": 0}}}
    assert ubi_to_event(zero).rank is None


@pytest.mark.public_data
@skip_without("ubi")
def test_what_is_written_is_valid_by_the_schemas_of_ubi() -> None:
    """Queries are valid requests, and events are valid events, with and without a rank."""
    full = LoggedQuery("q", 1.5, "wifi", "s", "u", "fix", hits=(LoggedHit("a", 1, 0.5),), answer="x", count=1)
    click = LoggedEvent("e", 1.5, "read_after_search", "s", "u", "q", "a", 1, 2.0, 1.0, {"x": [1]})
    shown = {
        "query.request": [full, LoggedQuery("q", 1.5, "")],
        "event": [click, LoggedEvent("e", 1.5, "task_outcome", document="a", attributes={"x": 1})],
    }
    for name, records in shown.items():
        schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
        action = schema["properties"].get("action_name", {"oneOf": []})
        action["anyOf"] = action.pop("oneOf")  # UBI's own mistake: "click" fits both of its branches, so that none may
        action["anyOf"] = action["anyOf"] or [True]
        validator = jsonschema.Draft202012Validator(schema)
        for record in records:
            row = query_to_ubi(record) if isinstance(record, LoggedQuery) else event_to_ubi(record)
            validator.validate(json.loads(json.dumps(row)))
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({"action_name": "click"})


FIRST = 1_700_006_400.0
"""The beginning of 15 November 2023."""


def write(path: Path) -> None:
    """Write two queries and an event, on two days."""
    with online.open(path) as log:
        query = log.record(
            "wifi", [("a", 0.5), ("b:chunk:1", 0.25)], session="s", stages={"x": 1.5}, time=FIRST + 5, latency=2
        )
        log.record("pool", [], time=FIRST + 86400 + 5, note=["x"])
        log.feedback("read_after_search", "s", "a", query=query, rank=1, time=FIRST + 6)
    ingest(path)


def test_a_store_as_ubi_and_back(tmp_path: Path) -> None:
    """The records of the new store are those of the old one; the second time nothing is new."""
    write(tmp_path / "karat.db")
    done = export_log(tmp_path / "karat.db", tmp_path / "ubi")
    assert (done.queries, done.events, done.files, done.invalid) == (2, 1, ("events.jsonl", "queries.jsonl"), 0)
    files = [tmp_path / "ubi" / name for name in done.files]
    assert import_ubi(tmp_path / "new.db", files, keep_ids=True).queries == 2
    assert import_ubi(tmp_path / "new.db", files, keep_ids=True).repeated == 3
    with read_log(tmp_path / "karat.db") as old, read_log(tmp_path / "new.db") as new:
        assert list(old.queries()) == list(new.queries())
        assert list(old.events()) == list(new.events())
    with pytest.raises(InputError, match="not empty"):
        export_log(tmp_path / "karat.db", tmp_path / "ubi")
    with pytest.raises(UsageError, match="known: ubi, parquet"):
        export_log(tmp_path / "karat.db", tmp_path / "other", format="csv")


def test_the_same_event_twice_is_two_events(tmp_path: Path) -> None:
    """UBI has no ids of events: two equal rows are two events, and the file a second time adds none."""
    row = json.dumps({"action_name": "view", "timestamp": "2018-11-13T20:20:39Z"}) + "\n"
    (tmp_path / "events.jsonl").write_text(row * 2)
    assert import_ubi(tmp_path / "karat.db", [tmp_path / "events.jsonl"]).events == 2
    assert import_ubi(tmp_path / "karat.db", [tmp_path / "events.jsonl"]).repeated == 2


def test_parquet_by_day(tmp_path: Path) -> None:
    """A folder for each day, with a column for each field, which polars reads as one table."""
    write(tmp_path / "karat.db")
    done = export_log(tmp_path / "karat.db", tmp_path / "out", format="parquet")
    assert done.files == (
        "events/date=2023-11-15/0000.parquet",
        "queries/date=2023-11-15/0000.parquet",
        "queries/date=2023-11-16/0000.parquet",
    )
    frame = pl.read_parquet(tmp_path / "out" / "queries" / "**" / "*.parquet", hive_partitioning=True)
    assert frame.select("text", "count", "latency").rows() == [("wifi", 2, 2.0), ("pool", 0, None)]
    assert frame["date"].cast(pl.String).to_list() == ["2023-11-15", "2023-11-16"]
    assert [hit["document"] for hit in frame["hits"][0]] == ["a", "b"]
    assert str(frame["at"][0]) == "2023-11-15 00:00:05+00:00"
    assert json.loads(frame["stages"][0]) == {"x": 1.5}
    later = export_log(tmp_path / "karat.db", tmp_path / "later", format="parquet", since=FIRST + 86400)
    assert (later.queries, later.events) == (1, 0)


@each(
    ("line", "problem"),
    [
        ("[]", "is not an object"),
        ("{}", "user_query is missing"),
        ('{"user_query": "q"}', "timestamp is missing"),
        ('{"user_query": "q", "timestamp": "yesterday"}', "'yesterday' is not a time"),
        ('{"action_name": "view", "timestamp": 5}', "timestamp is missing, or not a text"),
        ('{"user_query": "q", "timestamp": "2018-11-13", "session_id": 5}', "session_id 5 is not a text"),
        ('{"user_query": "q", "timestamp": "2018-11-13", "query_response_hit_ids": {}}', "is not a list"),
        ('{"user_query": "q", "timestamp": "2018-11-13", "karat": []}', "karat is not an object"),
        (
            f'{{"user_query": "q", "timestamp": "2018-11-13", "client_id": "{"x" * 101}"}}',
            "client_id has more than 100",
        ),
        (f'{{"action_name": "{"x" * 101}", "timestamp": "2018-11-13"}}', "action_name has more than 100 characters"),
        (
            '{"action_name": "a", "timestamp": "2018-11-13", "event_attributes": {"object": {"object_id": "%s"}}}'
            % ("x" * 257),
            "object_id has more than 256 characters",
        ),
        ('{"user_query": "q", "timestamp": "2018-11-13", "karat": {"hits": 5}}', "karat"),
    ],
)
def test_what_is_no_ubi(tmp_path: Path, line: str, problem: str) -> None:
    """One message with file and line, and nothing is stored."""
    file = tmp_path / "rows.jsonl"
    file.write_text('{"user_query": "q", "timestamp": "2018-11-13"}\n' + line + "\n")
    with pytest.raises(InputError, match=r"rows\.jsonl, line 2: .*" + problem.replace("(", r"\(")):
        import_ubi(tmp_path / "karat.db", [file])
    assert list(tmp_path.iterdir()) == [file]


def test_an_import_hides_what_a_log_hides(tmp_path: Path) -> None:
    """Texts are redacted and people hashed, wherever they stand in a row, so that somebody can be forgotten by id."""
    private = "ann@example.org"
    about = {"user_query": f"mail {private}", "session_id": "session-of-ann", "user_id": private, "client_id": private}
    rows = [
        about | {"timestamp": "2018-11-13", "query_attributes": {private: [private]}, "other": {"deep": private}},
        about | {"timestamp": "2018-11-13", "karat": {"answer": private, "intent": private, "trace": f"for {private}"}},
        about
        | {
            "action_name": f"write to {private}",
            "timestamp": "2018-11-13T00:00:01",
            "message": private,
            "event_attributes": {"object": {"object_id": "wifi", "name": private}, "position": {"ordinal": 1}},
        },
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    done = import_ubi(tmp_path / "live.db", [file])
    assert (done.queries, done.events) == (2, 1)
    assert import_ubi(tmp_path / "live.db", [file]).repeated == 3
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("live.db*") if path.is_file())
    assert not any(text.encode() in stored for text in (private, "session-of-ann"))
    with read_log(tmp_path / "live.db") as reader:
        (event,) = reader.events()
        assert {query.session for query in reader.queries()} == {event.session}
    assert (event.document, event.kind) == ("wifi", "write to [e-mail]")
    assert online.forget(tmp_path / "live.db", session="session-of-ann").rows == 3
    done = import_ubi(tmp_path / "live.db", [file], redact=False, keep_ids=True)
    with read_log(tmp_path / "live.db") as reader:
        assert [query.user for query in reader.queries()] == [private, private]


def test_what_is_written_is_for_its_owner(tmp_path: Path) -> None:
    """Exports and the page of a report have what people asked."""
    path = tmp_path / "karat.db"
    with online.open(path) as log:
        log.record("wifi", ["a"], session="s")
    ingest(path)
    export_log(path, tmp_path / "ubi")
    export_log(path, tmp_path / "columns", format="parquet")
    assert run_karat("online", "report", path, "--html", tmp_path / "page.html").returncode == 0
    files = [file for file in tmp_path.rglob("*") if file.suffix in (".jsonl", ".parquet", ".html")]
    assert [oct(file.stat().st_mode & 0o777) for file in files] == ["0o600"] * 4


def test_texts_that_ubi_has_no_room_for(tmp_path: Path) -> None:
    """The fields of UBI hold a digest, the same for all records, and what was long comes back."""
    long = "x" * 300
    query = LoggedQuery(long, 1.5, "wifi", session=long, user=long)
    event = LoggedEvent("e", 1.5, "a" + long, long, long, long, document=long, rank=1)
    rows = [query_to_ubi(query), event_to_ubi(event)]
    assert [problem for row in rows for problem in find_violations(row)] == []
    assert rows[0]["session_id"] == rows[1]["session_id"]
    assert rows[0]["query_id"] == rows[1]["query_id"]
    assert (ubi_to_query(rows[0]), ubi_to_event(rows[1])) == (query, event)


def test_the_command_line(tmp_path: Path) -> None:
    """Both verbs, and what UBI does not allow, which earlier versions imported, is told."""
    with online.open(tmp_path / "karat.db", keep_ids=True) as log:
        row = {"user_query": "q", "timestamp": "2018-11-13", "session_id": "x" * 200}
        log.record("q", session="x" * 200, ubi=row)
    ingest(tmp_path / "karat.db")
    done = run_karat("online", "export", tmp_path / "karat.db", tmp_path / "out", "--since", "2020-01-01")
    assert b"1 have what ubi does not allow: session_id has more than 100 characters" in done.stdout
    (tmp_path / "rows.jsonl").write_text(json.dumps(row | {"session_id": "x", "user_query": "ann@example.org"}))
    done = run_karat("online", "import", tmp_path / "new.db", tmp_path / "rows.jsonl", "--keep-ids", "--no-redact")
    assert done.stdout.startswith(b"1 query and 0 events are new")
    with read_log(tmp_path / "new.db") as reader:
        assert [(query.session, query.text) for query in reader.queries()] == [("x", "ann@example.org")]


def test_half_of_a_surrogate_pair_is_imported_as_a_question_mark(tmp_path: Path) -> None:
    """In a text, and in the name of a field that karat does not know: no store can hold it."""
    (tmp_path / "odd.jsonl").write_text(
        '{"query_id": "q", "user_query": "where\\ud800", "timestamp": "2026-11-18T00:00:00Z", "\\uD800": ["\\udfff"]}\n'
    )
    import_ubi(tmp_path / "log.db", [tmp_path / "odd.jsonl"])
    with read_log(tmp_path / "log.db") as log:
        assert [query.text for query in log.queries()] == ["where?"]


@pytest.mark.parametrize("format", ["ubi", "parquet"])
def test_nothing_stays_of_an_export_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    """On a full disk it names the folder, and can be written there once there is room."""
    write(tmp_path / "karat.db")
    folder = tmp_path / "out"

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("karat.online._exchange.write_contents", fail)
        with pytest.raises(InputError, match="out: cannot be written: No space left on device"):
            export_log(tmp_path / "karat.db", folder, format=format)
        assert list(folder.iterdir()) == []
    assert export_log(tmp_path / "karat.db", folder, format=format).queries == 2
