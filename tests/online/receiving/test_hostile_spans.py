"""Senders that mean harm: bombs, endless requests, numbers without end, secrets in addresses; and forgetting."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from each import each
from karat.online import check_health, check_store, forget, ingest
from karat.online.receiving import Receiver, import_files
from karat.online.receiving import _receiver as receivers
from karat.online.receiving import _server as servers
from karat.online.receiving._density import count_messages
from karat.online.receiving._otlp_http import JSON, PROTOBUF, BadRequest, answer_export
from karat.online.receiving._server import Server
from karat.traces.spans import _otlp
from online.receiving.conftest import Read
from online.receiving.some_spans import (
    TRACE,
    batch,
    chain,
    evaluation,
    genai,
    make_span,
    model,
    reranker,
    retriever,
)
from online.receiving.test_server import make_request
from postgres import make_address

LONG = 10**400
HEAD = b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture
def server(receiver: Receiver) -> Iterator[Server]:
    """A server on a free port."""
    server = Server("127.0.0.1", 0)
    server.start(receiver)
    yield server
    server.close()


def test_a_number_without_end_costs_no_other_span(receiver: Receiver, read: Read) -> None:
    """Scores of documents and evaluations with 400 digits: none is known, and the whole request is taken."""
    score = {"evaluations.0.evaluation.name": "feedback", "evaluations.0.evaluation.score": LONG}
    done = receiver.accept(
        batch(
            chain(1),
            retriever(2, "a", [("wifi", LONG)], parent=1),
            genai(3, "b", [("wifi", LONG)], parent=1),
            make_span(4, "x", 1, **score),
            evaluation(2, "user_feedback", score__value=LONG),
        )
    )
    assert (done.accepted, done.rejected) == (5, 0)
    receiver.settle()
    queries, events = read()
    assert [(hit.id, hit.score) for query in queries for hit in query.hits] == [("wifi", None)] * 2
    assert [event.value for event in events] == [None, None]


@pytest.mark.slow
def test_many_rerankers_take_no_longer_than_their_number(receiver: Receiver, read: Read) -> None:
    """Ten thousand rerankers of one list, each asked in other words: four hundred million steps if each sorts all."""
    found = [("wifi", 1.0)]
    receiver.accept(batch(retriever(1, "a", found), *(reranker(n, f"q{n}", found) for n in range(2, 10_001))))
    receiver.settle()
    assert len(read()[0]) == 1


def test_requests_with_too_much_in_them_are_refused(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two bytes are a span: by their number requests are refused, and spans by that of their attributes."""
    monkeypatch.setattr(_otlp, "_MOST", 10)
    monkeypatch.setattr(_otlp, "_MOST_ATTRIBUTES", 2)
    spans = b'{"resourceSpans": [{"scopeSpans": [{"spans": [' + b"{}," * 10 + b"{}]}]}]}"
    for kind, body in (("json", spans), ("x-protobuf", make_request(11).SerializeToString())):
        with pytest.raises(BadRequest, match="may have 10 spans") as error:
            answer_export(receiver, "/v1/traces", {"content-type": f"application/{kind}"}, body)
        assert (error.value.status, error.value.reason) == (413, "too_large")
    for kind, body in (("json", _to_json(3)), ("x-protobuf", make_request(10).SerializeToString())):
        response = answer_export(receiver, "/v1/traces", {"content-type": f"application/{kind}"}, body)
        assert b"a span may have 2 attributes" in response.body


def in_group(body: bytes) -> bytes:
    """Return the spans or log records of a request in their scope and resource."""
    for _ in range(2):
        body = b"\x12" + _to_varint(len(body)) + body
    return b"\x0a" + body[1:]


def _to_varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


@pytest.mark.slow
@each(
    "path, kind, body",
    [
        ("/v1/traces", PROTOBUF, in_group(b"\x12\x00" * 1_000_001)),  # spans without anything in them
        ("/v1/traces", PROTOBUF, in_group(b"\x12\x02\x4a\x00" * 600_000)),  # each with an empty attribute
        ("/v1/logs", PROTOBUF, in_group(b"\x12\x02\x32\x00" * 600_000)),
        ("/v1/logs", PROTOBUF, b"\x0a\x00" * 1_000_001),
        ("/v1/traces", JSON, b'{"resourceSpans": [' + b"{}," * 1_000_000 + b"{}]}"),
        ("/v1/logs", JSON, b'{"resourceLogs": ' + b"[" * 1_100_000),
    ],
    ids=["spans", "attributes", "attributes of records", "resources", "objects", "arrays"],
)
def test_a_body_of_tiny_parts_is_refused_before_it_is_decoded(
    receiver: Receiver, path: str, kind: str, body: bytes
) -> None:
    """Fifteen megabytes of spans without anything in them would take 1.4 GB."""
    with pytest.raises(BadRequest, match="1,000,000 values within values; send smaller batches") as error:
        answer_export(receiver, path, {"content-type": kind}, body)
    assert (error.value.status, error.value.reason) == (413, "too_large")


def test_messages_are_counted_as_they_are_decoded() -> None:
    """By the type of each field: texts and ids are none, whatever they hold. A body that is cut off has fewer."""
    request = make_request(3, text="\x12\x00" * 50)
    body = request.SerializeToString()
    count = sum(1 for _ in list_messages(request))
    assert count_messages(body, request.DESCRIPTOR) == count > 20
    assert all(count_messages(body[:size], request.DESCRIPTOR) <= count for size in range(len(body)))
    assert count_messages(b"\x0b" + body, request.DESCRIPTOR) == 0  # a group, which nothing of OTLP is
    deep = b""
    for _ in range(300):
        deep = b"\x2a" + _to_varint(len(deep) + 2) + b"\x0a" + _to_varint(len(deep)) + deep
    assert 90 < count_messages(deep, AnyValue.DESCRIPTOR) < 110


def list_messages(message: Any) -> Iterator[Any]:
    """Yield the messages in a message."""
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in value if field.is_repeated else [value]:
                yield inner
                yield from list_messages(inner)


def _to_json(attributes: int) -> bytes:
    item = {"key": "a", "value": {"intValue": "1"}}
    span = {"traceId": TRACE, "spanId": "1" * 16, "attributes": [item] * attributes}
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()


def test_a_span_has_a_limited_number_of_events(receiver: Receiver) -> None:
    """An array of four million empty ids would be as many rows."""
    write = {"gen_ai.operation.name": "create_memory", "gen_ai.memory.record.id": ["m"] * 10_001}
    done = receiver.accept(batch(make_span(1, "w", **write), retriever(2, "a", [])))
    assert (done.accepted, done.rejected) == (1, 1)
    assert "has more than 10,000 evaluations" in done.problem


@pytest.mark.parametrize(
    ("begin", "drip"),
    [
        (b"", b"X"),
        (HEAD, b"X-A: 1\r\n"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1"),
        (HEAD + b"Content-Length: 100000\r\n\r\n", b" "),
    ],
)
def test_who_sends_a_byte_now_and_then_is_cut_off(
    server: Server, monkeypatch: pytest.MonkeyPatch, begin: bytes, drip: bytes
) -> None:
    """A request line, a head, the size of a chunk and a body that never end, though each byte comes in time."""
    monkeypatch.setattr(servers, "_HEAD", 0.3)
    monkeypatch.setattr(servers, "_BODY", 0.3)
    with socket.create_connection(("127.0.0.1", server.server_address[1]), timeout=0.02) as connection:
        connection.sendall(begin)
        assert any(_is_cut_off(connection, drip) for _ in range(1500))


def _is_cut_off(connection: socket.socket, drip: bytes) -> bool:
    """Send a little; return whether an answer, or the end of the connection, is there."""
    try:
        connection.sendall(drip)
        connection.recv(100)
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (b"Content-Length: 2\r\nContent-Length: 5\r\n", b"{}"),
        (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", b"2\r\n{}\r\n0\r\n\r\n"),
        (b"Transfer-Encoding: chunked\r\n", b"0x2\r\n{}\r\n0\r\n\r\n"),
    ],
)
def test_two_lengths_are_none(server: Server, headers: bytes, body: bytes) -> None:
    """A proxy before the receiver may believe the other one."""
    with socket.create_connection(("127.0.0.1", server.server_address[1]), timeout=600) as connection:
        connection.sendall(HEAD + headers + b"\r\n" + body)
        assert connection.recv(100).split(b" ")[1] == b"400"


@pytest.mark.slow
def test_small_chunks_take_no_more_memory_than_large_ones(server: Server) -> None:
    """Four hundred thousand chunks of two bytes: kept as a list, they would take forty times as much."""
    import resource

    chunks = b"2\r\n  \r\n" * 10_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with socket.create_connection(("127.0.0.1", server.server_address[1]), timeout=600) as connection:
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        for part in repeat(chunks, 40):
            connection.sendall(part)
        connection.sendall(b"2\r\n{}\r\n0\r\n\r\n")
        assert connection.recv(100).split(b" ")[1] == b"200"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16_000  # kilobytes


def test_a_trace_without_end_is_joined_in_pieces(
    receiver: Receiver, read: Read, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No more of it than fits is in memory at once; all its queries are written, and none twice."""
    monkeypatch.setattr(receivers, "_LARGEST_TRACE", 20_000)
    spans = [retriever(n, f"q{n} {'long ' * 400}", [("wifi", 1.0)], parent=1) for n in range(2, 42)]
    receiver.accept(batch(chain(1), *spans, model(50, "Yes.", parent=1)))
    receiver.settle()
    queries, _ = read()
    assert sorted(int(query.text.split()[0][1:]) for query in queries) == list(range(2, 42))
    assert {query.session for query in queries} == {"s1"}
    received = check_health(path).received
    assert received is not None
    assert (received.waiting, received.queries) == (0, 40)


def test_a_full_buffer_takes_no_more(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes count, not only spans: one may have a megabyte."""
    receiver.accept(batch(retriever(2, "a", [])))
    monkeypatch.setattr(receivers, "_MOST_BUFFER", 1)
    receiver._measure()
    with pytest.raises(receivers.Overloaded, match="the buffer is full"):
        receiver.accept(batch(retriever(3, "a", [])))


@pytest.mark.slow
def test_a_query_of_many_channels_is_not_lost(receiver: Receiver, read: Read, path: Path) -> None:
    """Each of 200 documents is in 400 channels with long names: which ones is left out, and the query is there."""
    found = [(f"d{n}", 1.0) for n in range(200)]
    spans = [retriever(n, "a", found, name=f"{'long name ' * 8}{n}", parent=1, times=(2, 900)) for n in range(2, 402)]
    receiver.accept(batch(chain(1), *spans))
    receiver.settle()
    (query,), _ = read()
    assert [hit.id for hit in query.hits] == [name for name, _ in found]
    assert query.attributes["channels"] == "left out: too large"
    assert sum(check_health(path).dropped.values()) == 0


def test_addresses_leave_their_secrets_behind(path: Path) -> None:
    """Ids of documents and names of spans may be addresses with a login, or signed for whoever has them."""
    signed = "https://u:PASSW0RD@files/doc.pdf?page=2&X-Amz-Signature=S1GNED&X-Amz-Security-Token=T0KEN&sig=AZ0RE"
    with Receiver(path, settle=0) as receiver:
        receiver.accept(batch(retriever(2, "a", [(signed, 1.0)], name="GET https://u:PASSW0RD@files/?token=T0KEN")))
        receiver.settle()
        ingest(path)
        files = b"".join(file.read_bytes() for file in path.parent.rglob("*") if file.is_file())
    for secret in (b"PASSW0RD", b"S1GNED", b"T0KEN", b"AZ0RE"):
        assert secret not in files
    assert b"https://files/doc.pdf?page=2" in files


@pytest.mark.parametrize("written", [False, True])
def test_no_byte_of_a_forgotten_session_is_in_any_file(path: Path, written: bool) -> None:
    """While the receiver is at work: what SQLite wrote before it wrote into the file goes, too."""
    receiver = Receiver(path, settle=3600, patience=3600)
    receiver.accept(batch(chain(), retriever(2, "my uncommonwords", [("wifi", 1.0)], parent=1)))
    if written:
        receiver.settle(everything=True)
    ingest(path)
    assert b"uncommonwords" in _read_files(path)
    assert forget(path, session="s1").complete
    assert b"uncommonwords" not in _read_files(path)
    receiver.close()


def test_a_reader_of_the_buffer_keeps_forgetting_incomplete(path: Path) -> None:
    """What a reader still sees cannot go, and that is told."""
    import sqlite3

    with Receiver(path, settle=3600, patience=3600) as receiver:
        receiver.accept(batch(chain(), retriever(2, "my uncommonwords", [], parent=1)))
        reader = sqlite3.connect(path.with_name("karat.db.spans"), isolation_level=None)
        reader.execute("begin")
        reader.execute("select count(*) from spans").fetchall()
        assert not forget(path, session="s1").complete
        reader.close()
        assert forget(path, session="s1").complete


def _read_files(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.parent.rglob("*")) if file.is_file())


def test_a_user_is_forgotten_with_sessions_that_only_wait(path: Path) -> None:
    """One trace names the user, another only the session: both go."""
    receiver = Receiver(path, settle=3600, patience=3600)
    receiver.accept(batch(chain(**{"user.id": "ann"}), retriever(2, "first", [], parent=1)))
    receiver.accept(batch(retriever(3, "second", [], trace="b" * 32, **{"session.id": "s1"})))
    receiver.accept(batch(retriever(4, "of others", [], trace="c" * 32, **{"session.id": "s2"})))
    assert forget(path, user="ann").frames == 3
    receiver.close()
    ingest(path)
    assert check_health(path).queries.rows == 1


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_spans_without_times_are_imported_once(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have the time of the first import; PostgreSQL would take the same id with another time."""
    monkeypatch.setenv("KARAT_ONLINE_FOLDER", os.fspath(tmp_path))
    store: Any = tmp_path / "karat.db" if database == "sqlite" else make_address()
    names = {
        "openinference.span.kind": "RETRIEVER",
        "input.value": "wifi?",
        "evaluations.0.evaluation.name": "feedback",
        "evaluations.0.evaluation.label": "good",
    }
    attributes = [{"key": name, "value": {"stringValue": value}} for name, value in names.items()]
    span = {"traceId": TRACE, "spanId": "1" * 16, "attributes": attributes}
    file = tmp_path / "spans.json"
    file.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}))
    first, again = import_files(store, [file]), import_files(store, [file])
    assert (first.queries, first.events, first.repeated) == (1, 1, 0)
    assert (again.queries, again.events, again.repeated) == (0, 0, 2)
    assert check_store(store).problems == ()
