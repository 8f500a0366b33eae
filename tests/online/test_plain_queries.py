"""Queries as nearly all are, which take the short way into the journal: few calls, and nothing slips through."""

from __future__ import annotations

import re
import sys
from hashlib import blake2b
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import online
from karat.online import LoggedQuery, ingest, read_log
from karat.online._drafts import take_channels
from karat.online._hit_rows import LONGEST_ID, are_plain
from karat.online._names import Names
from karat.online._privacy import Redaction, hash_id, make_hasher

HITS = [(f"document-{number}", 1 / (number + 1)) for number in range(10)]
CHANNELS = {"bm25": [document for document, _ in HITS], "dense": ["document-3"]}
LONG = "the wifi password is " * 20
MOST_CALLS = 15
"""Calls of Python functions that a query with hits, channels, stages and weights takes."""


def read_queries(path: Path) -> list[LoggedQuery]:
    ingest(path)
    with read_log(path) as reader:
        return list(reader.queries())


def log_plain(log: online.Log) -> None:
    with log.query("how do I reset the wifi", session="s1", intent="fix", mode="deep", tool="search") as search:
        search.results(HITS, channels=CHANNELS, stages={"bm25": 1.5}, weights={"bm25": 0.4})


def test_a_plain_query_takes_few_calls(tmp_path: Path) -> None:
    """A user waits for every call of a function, twice as long when other programs have used the core meanwhile."""
    calls: list[str] = []

    def count(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            calls.append(frame.f_code.co_qualname)

    with online.open(tmp_path / "karat.db", system="v1", build="b1") as log:
        for _ in range(3):
            log_plain(log)  # its labels and its session are known then
        before = sys.getprofile()
        sys.setprofile(count)
        try:
            log_plain(log)
        finally:
            sys.setprofile(before)
    assert len(calls) <= MOST_CALLS + 1, calls  # log_plain is one


@pytest.mark.parametrize("first", ["plain", "long"])
def test_what_came_back_may_be_told_twice(tmp_path: Path, first: str) -> None:
    """Channels of an earlier call stay, and a long id in them is hashed though the hits of the later one are short."""
    path = tmp_path / "karat.db"
    with online.open(path) as log, log.query("q") as search:
        search.results(["a"], channels={"dense": [LONG if first == "long" else "a"]})
        search.results(["b", ("c", 0.5)])
    (query,) = read_queries(path)
    assert query.documents == ("b", "c")
    (known,) = query.channels["dense"]
    assert known == "a" if first == "plain" else re.fullmatch("text-[0-9a-f]{32}", known)


@pytest.mark.parametrize(
    ("hits", "channels"),
    [
        ([*HITS, (LONG, 0.1)], None),
        (["a", LONG], None),
        (HITS, {"dense": ["a", LONG]}),
        (HITS, {"bm25": ["a"], "dense": (LONG,)}),
        ([("a", 0.5), {"id": "b", "text": LONG}], None),
    ],
)
def test_a_text_among_ids_is_not_written(tmp_path: Path, hits: Any, channels: Any) -> None:
    """One text among short ids, wherever it stands: no byte of it is in a file."""
    path = tmp_path / "karat.db"
    with online.open(path) as log:
        log.record("q", hits, channels=channels)
    assert len(read_queries(path)) == 1
    assert all(b"password" not in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


def test_the_host_may_change_its_lists(tmp_path: Path) -> None:
    """What is written is what came back when the host said so."""
    path = tmp_path / "karat.db"
    hits, channels, stages = ["a", "b"], {"dense": ["a"]}, {"dense": 1.0}
    with online.open(path) as log, log.query("q") as search:
        search.results(hits, channels=channels, stages=stages)
        hits.append("c")
        channels["dense"].append("c")
        channels["bm25"] = stages["bm25"] = ["c"]  # type: ignore[assignment]
    (query,) = read_queries(path)
    assert (query.documents, query.channels, query.stages) == (("a", "b"), {"dense": ("a",)}, {"dense": 1.0})


@given(
    st.lists(
        st.one_of(
            st.text(max_size=3),
            st.just("x" * LONGEST_ID),
            st.just("x" * (LONGEST_ID + 1)),
            st.integers(),
            st.tuples(),
            st.tuples(st.text(max_size=3) | st.just("y" * 300) | st.integers(), st.floats(allow_nan=False)),
            st.just(["a", 0.5]),
            st.just({"id": "a"}),
        ),
        max_size=5,
    )
)
def test_plain_hits_are_short_ids_or_pairs(hits: list[Any]) -> None:
    """What is known to be plain is as the long way leaves it; it says no rather than yes."""
    names = [hit[0] if type(hit) is tuple and len(hit) else hit for hit in hits]
    assert are_plain(hits) == all(type(name) is str and len(name) <= LONGEST_ID for name in names)
    if are_plain(hits):
        hidden = map(Names(Redaction(), bytes(32))._hide_hit, hits)
        assert list(hidden) == [list(hit) if type(hit) is tuple else hit for hit in hits]


def test_channels_that_are_not_plain() -> None:
    """Anything but lists of short ids by name is copied one by one, and looked at when it is written."""
    assert take_channels({"dense": ("a",)}) == ({"dense": ("a",)}, True)
    for values in ({"dense": [LONG]}, {"dense": [1]}, {"dense": {"a": 0.5}}, {1: ["a"]}, [("dense", ["a"])]):
        assert take_channels(values)[1] is False


def test_labels_are_hidden_every_time(tmp_path: Path) -> None:
    """Labels that stay as they are are known from then on; others are hidden again, and numbers are no texts."""
    path, labels = tmp_path / "karat.db", [("fix", "fix"), ("ann@example.org", "[e-mail]"), (1, "1"), ("1", "1")]
    labels += [([2], "[2]"), (True, "True")]  # type: ignore[list-item]
    with online.open(path, build="b" * 40) as log:
        for intent, _ in labels * 3:
            log.record("q", ["a"], intent=intent)
        log.record("q", ["a"], intent="fix", index="to ann@example.org")
        log.record("q", ["a"], intent="fix", system="s2")
        log.record("q", ["a"], intent="fix")
        assert list(log._writer.blanks) == [("fix", "", ""), ("1", "", "")]
    queries = read_queries(path)
    assert [query.intent for query in queries] == [hidden for _, hidden in labels * 3] + ["fix"] * 3
    assert {query.build for query in queries} == {"b" * 40}
    assert [(query.index, query.system) for query in queries[-3:]] == [("to [e-mail]", ""), ("", "s2"), ("", "")]


def test_a_host_with_many_labels_is_remembered_in_part(tmp_path: Path) -> None:
    """What is known of labels does not grow without end."""
    with online.open(tmp_path / "karat.db") as log:
        for number in range(3000):
            log.record("q", intent=f"label {number}")
        assert 0 < len(log._writer.blanks) <= 1024


def test_hashes_that_are_remembered_are_the_same() -> None:
    """BLAKE2b with the key and the kind, the first time, again, and after many others; long ids are not remembered."""
    key = bytes(range(32))
    hash_session = make_hasher(key, "session")
    for session in ("s1", "Zoë", "half \ud800", "x" * 100_000):
        data = session.encode("utf-8", "surrogatepass")
        expected = blake2b(data, digest_size=16, key=key, person=b"session").hexdigest()
        assert hash_session(session) == hash_session(session) == hash_id(key, "session", session) == expected
    known = hash_session.__self__  # type: ignore[attr-defined]
    assert max(map(len, known)) <= LONGEST_ID
    for number in range(1000):
        hash_session(str(number))
    assert len(known) <= 256
    assert hash_session("s1") == blake2b(b"s1", digest_size=16, key=key, person=b"session").hexdigest()


def test_an_id_has_the_time_and_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """14 digits of microseconds, of a whole second, 8 of a number that begins anew after 2**32, 16 of the process."""
    monkeypatch.setattr("karat.online._log.time", lambda: 1_700_000_000.123)
    with online.open(tmp_path / "karat.db") as log:
        first = log.new_id()
        log._journal._counter = iter((2**33 - 1, 2**33, 2**33 + 1))  # type: ignore[assignment]
        last, again = log.new_id(), log.new_id()
        monkeypatch.setattr("karat.online._log.time", lambda: 1_700_000_007.5)
        later = log.new_id()
    start = f"{1_700_000_000_000_000:014x}"
    assert re.fullmatch(rf"{start}-00000000-[0-9a-f]{{16}}", first)
    assert last == f"{start}-ffffffff{first[-17:]}"
    assert again == f"{start}-00000000{first[-17:]}"
    assert later.startswith(f"{1_700_000_007_000_000:014x}-")


def test_a_query_does_not_show_what_was_asked(tmp_path: Path) -> None:
    """The host may print it, or log it."""
    with online.open(tmp_path / "karat.db") as log:
        search = log.query("ann@example.org", session="ann")
    assert repr(search) == f"Asked({search.id!r})"
