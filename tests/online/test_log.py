"""The log that a host writes to: what it is told is in the store, and nothing it is told breaks the host."""

from __future__ import annotations

import asyncio
import errno
import math
import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import text

from each import each
from karat import online
from karat.core import Answer, Hit, Span, SystemFailed, UsageError, document_of
from karat.online import LoggedEvent, LoggedHit, LoggedQuery, ingest, read_log
from karat.online._drafts import EventDraft, QueryDraft
from karat.online._hit_rows import to_hits
from karat.online._ingest import lock_ingester
from karat.online._paths import find_paths


def read(path: Path) -> tuple[list[LoggedQuery], list[LoggedEvent]]:
    """Return all that a log holds, after ingesting it."""
    ingest(path)
    with read_log(path) as reader:
        return list(reader.queries()), list(reader.events())


def test_drafts_have_the_fields_of_records() -> None:
    """A position of an array means the same in the journal and in a record."""
    assert QueryDraft.__struct_fields__ == LoggedQuery.__struct_fields__
    assert EventDraft.__struct_fields__ == LoggedEvent.__struct_fields__


def test_a_query_with_all_that_can_be_said(tmp_path: Path) -> None:
    """Everything that the host tells comes back from the store."""
    path = tmp_path / "karat.db"
    log = online.open(path, keep_ids=True, system="v1")
    with log.query(
        "wifi?", session="s", user="u", intent="fix", mode="deep", tool="search", trace="t", page=2
    ) as search:
        search.results(
            [Hit("wifi:chunk:3", 0.8, span=Span(1, 5), section="2", channels={}), ("pool", 0.5)],
            channels={"dense": ["wifi:chunk:3"], "bm25": [("pool", 3.0)]},
            stages={"dense": 1.5},
            weights={"dense": np.float64(0.5)},
            quality=0.25,
            count=40,
        )
        search.answer("Free.", [Hit("wifi:chunk:3", 0.8), "pool"])
        search.note(more=[1, None])
    log.close()
    ((query,), _) = read(path)
    assert query.latency is not None
    assert query.latency >= 0
    assert query == LoggedQuery(
        search.id,
        query.time,
        "wifi?",
        "s",
        "u",
        "fix",
        "deep",
        "search",
        (LoggedHit("wifi", 1, 0.8, (), (1, 5), "2", "wifi:chunk:3"), LoggedHit("pool", 2, 0.5)),
        {"dense": ("wifi:chunk:3",), "bm25": ("pool",)},
        {"dense": 1.5},
        {"dense": 0.5},
        "Free.",
        ("wifi:chunk:3", "pool"),
        "",
        query.latency,
        "v1",
        1.0,
        "t",
        0.25,
        {"page": 2, "more": [1, None]},
        40,
    )


def test_feedback(tmp_path: Path) -> None:
    """An event has its session, query, document, rank and value; what is not given is empty."""
    path = tmp_path / "karat.db"
    log = online.open(path, keep_ids=True)
    first = log.feedback("read_after_search", "s", "wifi", query="q1", rank=np.int64(2), time=1.7e9 + 5, seconds=3)
    second = log.feedback("task_outcome", session="s", value=1, time=1.7e9 + 4)
    log.close()
    assert read(path)[1] == [
        LoggedEvent(second, 1.7e9 + 4, "task_outcome", "s", value=1.0),
        LoggedEvent(first, 1.7e9 + 5, "read_after_search", "s", "", "q1", "wifi", 2, None, 1.0, {"seconds": 3}),
    ]


@pytest.mark.parametrize(
    ("hits", "expected"),
    [
        ([], []),
        (["wifi", 7], [("wifi", None), ("7", None)]),
        ({"a": 0.1, "b": 0.9}, [("b", 0.9), ("a", 0.1)]),
        ([("a", math.nan), ("b", math.inf)], [("a", None), ("b", None)]),
        ([{"id": "x:chunk:1", "score": 1}, {"document": "y"}], [("x", 1.0), ("y", None)]),
        ([("a", np.float32(0.5))], [("a", 0.5)]),
        ((hit for hit in ["a"]), None),
        (None, None),
    ],
)
def test_what_hits_may_be(tmp_path: Path, hits: Any, expected: list[tuple[str, float | None]] | None) -> None:
    """Lists of many kinds are understood; an iterator is left to the host, and then nothing is known."""
    log = online.open(tmp_path / "karat.db")
    with log.query("q") as search:
        search.results(hits)
    log.close()
    ((query,), _) = read(tmp_path / "karat.db")
    if expected is None:
        assert (query.hits, query.count) == ((), None)
    else:
        assert [(hit.document, hit.score) for hit in query.hits] == expected
        assert [hit.rank for hit in query.hits] == list(range(1, len(expected) + 1))
        assert query.count == len(expected)


def test_hostile_values_never_reach_the_host(tmp_path: Path) -> None:
    """Half a surrogate pair, values of any type, and errors while they are turned into text: written, or counted."""

    class Evil:
        def __str__(self) -> str:
            raise RuntimeError

    path = tmp_path / "karat.db"
    log = online.open(path)
    log.record("half \ud800", ["a\udfff"], session="\ud800", note={"\ud800": object})
    log.record(None, [None, b"x", 2**70], intent=5, stages={"a": "x"})  # type: ignore[arg-type]
    log.feedback("seen", document=3, rank="x", value="y")  # type: ignore[arg-type]
    log.feedback(None)  # type: ignore[arg-type]
    log.record("evil", session=Evil())
    log.record("evil", evil=Evil())
    with log.query("q") as search:
        search.results(Evil())
        search.answer(Evil(), Evil())  # type: ignore[arg-type]
        search.fail(Evil())
    assert log.dropped == {"hits": 2, "stages": 1, "value": 1, "event": 1, "encode": 3, "citations": 1}
    log.close()
    done = ingest(path)
    assert (done.records, done.damaged) == (2, 0)
    ((query, none), _) = read(path)
    assert (query.text, query.hits[0].document) == ("half ?", "a?")
    assert (none.text, none.hits, none.stages) == ("", (), {})


def test_hostile_values_in_a_sample(tmp_path: Path) -> None:
    """What decides whether a record is in the sample, or whether it failed, may raise, too."""

    class Evil:
        def __str__(self) -> str:
            raise RuntimeError

        def __bool__(self) -> bool:
            raise RuntimeError

    with online.open(tmp_path / "karat.db", sample=0.5) as log:
        ids = [
            log.record("q", session=Evil()),
            log.record("q", error=Evil()),
            log.feedback("impression", session="s", query=Evil()),
        ]
    assert len(set(ids)) == 3, "the host gets its ids, whatever becomes of the records"


def test_a_log_is_closed_though_another_ingester_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host waits a little for the other one, and what is left is safe in the journal."""
    monkeypatch.setattr("karat.online._follow._PATIENCE", 0.05)
    path = tmp_path / "karat.db"
    log = online.open(path)
    log.record("q")
    with lock_ingester(find_paths(path)):
        log.start_ingester()
        log.close()
    assert ingest(path).records == 1


def test_an_exception_of_the_host_is_recorded_and_raised(tmp_path: Path) -> None:
    """A failed query is in the log with its error, and nothing is known of what came back."""
    log = online.open(tmp_path / "karat.db")
    with pytest.raises(ZeroDivisionError), log.query("q"):
        _ = 1 / 0
    log.close()
    ((query,), _) = read(tmp_path / "karat.db")
    assert (query.error, query.count) == ("ZeroDivisionError: division by zero", None)


def test_decorators_and_coroutines(tmp_path: Path) -> None:
    """A function that returns hits or an answer is logged as it is called; a task has its own session."""
    log = online.open(tmp_path / "karat.db", keep_ids=True)

    @log.logged(tool="search")
    def search(query: str) -> list[str]:
        return [query]

    @log.logged
    def bare(query: str) -> list[str]:
        return [query]

    assert bare("bare") == ["bare"]

    @log.logged(tool="answer")
    async def answer(query: str) -> Answer:
        with log.session(query):
            async with log.query("inner", tool="inner"):
                await asyncio.sleep(0)
        return Answer("Yes.", citations=["b"], hits=["a", "b"])

    async def both() -> None:
        await asyncio.gather(answer(query="one"), answer(query="two"))

    with log.session("outer", "ann"):
        assert search("wifi") == ["wifi"]
        asyncio.run(both())
    log.close()
    queries, _ = read(tmp_path / "karat.db")
    rows = sorted((query.tool, query.text, query.session, query.user, query.count) for query in queries)
    assert rows == [
        ("", "bare", "", "", 1),
        ("answer", "one", "outer", "ann", 2),
        ("answer", "two", "outer", "ann", 2),
        ("inner", "inner", "one", "", None),
        ("inner", "inner", "two", "", None),
        ("search", "wifi", "outer", "ann", 1),
    ]


def test_a_sample_has_whole_sessions(tmp_path: Path) -> None:
    """Queries and feedback of a session are all logged or none, and each stands for 1 / rate."""
    log = online.open(tmp_path / "karat.db", sample=0.5, keep_ids=True)
    for number in range(60):
        for _ in range(2):
            query = log.record("q", ["a"], session=f"s{number}")
            log.feedback("impression", f"s{number}", "a")
            log.feedback("read_after_search", document="a", query=query)
    log.close()
    queries, events = read(tmp_path / "karat.db")
    sessions = {query.session for query in queries}
    assert 15 < len(sessions) < 45
    assert len(queries) == 2 * len(sessions)
    assert len(events) == 4 * len(sessions)
    assert {event.query for event in events} - {""} == {query.id for query in queries}
    assert {record.weight for record in [*queries, *events]} == {2.0}


def test_ids_are_in_order_when_the_clock_goes_backwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An id is later than all before it in its process; the time is what the clock says."""
    moments = iter([1.7e9 + 30, 1.7e9 + 20, 1.7e9 + 10.5, 1.7e9 + 40])
    log = online.open(tmp_path / "karat.db")
    monkeypatch.setattr("karat.online._log.time", lambda: next(moments))
    ids = [log.record("q", []) for _ in range(4)]
    assert ids == sorted(ids)
    assert len(set(ids)) == 4
    assert list(moments) == [], "it was asked"
    log.close()
    queries, _ = read(tmp_path / "karat.db")
    assert [(query.id, query.time) for query in queries] == [
        (ids[2], 1.7e9 + 10.5), (ids[1], 1.7e9 + 20), (ids[0], 1.7e9 + 30), (ids[3], 1.7e9 + 40),
    ]  # fmt: skip


@each(
    "options",
    [{"sample": 0}, {"sample": 1.5}, {"sync": 0}, {"segment_bytes": 10}, {"key": "short"}, {"redact": {"x": "("}},
     {"sample": "0.5"}, {"sample": None}, {"sync": "1"}, {"segment_bytes": "big"}, {"key": b"0" * 32}, {"key": 5},
     {"redact": ["ORD-[0-9]+"]}, {"redact": "ORD-[0-9]+"}, {"redact": None}],
)  # fmt: skip
def test_settings_without_sense_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    """What would log too much, or not what was meant, is refused where a developer sees it."""
    with pytest.raises(UsageError):
        online.open(tmp_path / "karat.db", **options)


def test_a_key_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk every start of a host would leave a file; an import says which file it needs."""

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "queries.jsonl").write_text('{"query_id":"1","user_query":"wifi","timestamp":"2026-11-01T00:00:00Z"}')
    monkeypatch.setattr("karat.online._privacy.os.link", fail)
    for _ in range(3):
        online.open(tmp_path / "karat.db").close()
    assert list(tmp_path.glob(".*")) == []
    with pytest.raises(SystemFailed, match=r"new\.db\.key: cannot be written: No space left on device"):
        online.import_ubi(tmp_path / "new.db", [tmp_path / "queries.jsonl"])
    assert list(tmp_path.glob(".*")) == []


def test_a_key_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that is too short is refused; a damaged file does not stop the host, and ids are hashed."""
    path = tmp_path / "karat.db"
    monkeypatch.setenv("KARAT_ONLINE_KEY", "short")
    with pytest.raises(UsageError, match="needs 16"):
        online.open(path)
    monkeypatch.delenv("KARAT_ONLINE_KEY")
    (tmp_path / "karat.db.key").write_text("short")
    with online.open(path) as log:
        log.record("q", session="ann")
    ((query,), _) = read(path)
    assert len(query.session) == 32


def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    """A log in it can be opened and used; records are counted as dropped."""
    folder = Path("/proc/self") if os.getuid() == 0 else tmp_path / "folder"  # nobody may write to the first
    folder.mkdir(mode=0o500, exist_ok=True)
    log = online.open(folder / "karat.db")
    log.record("q", ["a"])
    assert log.dropped == {"disk": 1}


def test_a_record_is_small(tmp_path: Path) -> None:
    """A query with ten hits takes less than half a kilobyte of the journal."""
    draft = QueryDraft("0" * 40, 1.7e9, "how do I reset it", "0" * 32, hits=tuple((f"doc-{n}", 0.5) for n in range(10)))
    assert len(msgspec.msgpack.encode(draft)) < 500


@given(text(alphabet=":chunk0123456789\u0663ab", max_size=20))
def test_documents_are_those_of_the_rest_of_karat(id: str) -> None:
    """A hit's document is the one that ``document_of`` finds."""
    (hit,) = to_hits([id])
    assert (hit.document, hit.id) == (document_of(id), id)
    (hit,) = to_hits([f"{id}:chunk:7"])
    assert hit.document == document_of(f"{id}:chunk:7")
