"""The endpoint over real connections: every status that OTLP knows, bounds, and an end that loses nothing."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from karat.core import UsageError
from karat.online import check_health
from karat.online.receiving import Receiver, receive
from karat.online.receiving._otlp_http import LARGEST_BODY
from karat.online.receiving._server import Server
from online.receiving.conftest import Read

PROTOBUF, JSON = "application/x-protobuf", "application/json"
Ask = Callable[..., tuple[int, dict[str, str], bytes]]


@pytest.fixture
def server(receiver: Receiver) -> Iterator[Server]:
    """A server on a free port."""
    server = Server("127.0.0.1", 0)
    server.start(receiver)
    yield server
    server.close()


@pytest.fixture
def ask(server: Server) -> Ask:
    """A function that sends a request and returns status, headers and body."""

    def ask(
        body: Any, path: str = "/v1/traces", kind: str = PROTOBUF, method: str = "POST", **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=600)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, body, {"Content-Type": kind, **named})
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    return ask


def make_request(count: int = 1, text: str = "wifi?") -> ExportTraceServiceRequest:
    """Return a request with some retrieval spans, each of a trace of its own."""
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.append(KeyValue(key="service.name", value=AnyValue(string_value="hotel")))
    scope = group.scope_spans.add()
    for number in range(1, count + 1):
        span = scope.spans.add(
            trace_id=number.to_bytes(16, "big"),
            span_id=number.to_bytes(8, "big"),
            name="retrieval hotel",
            start_time_unix_nano=1_794_000_000_000_000_000 + number,
            end_time_unix_nano=1_794_000_000_010_000_000,
        )
        documents = json.dumps([{"id": "pool", "score": 0.9}, {"id": "wifi", "score": 0.8}])
        values = {
            "gen_ai.operation.name": "retrieval",
            "gen_ai.retrieval.query.text": text,
            "gen_ai.retrieval.documents": documents,
        }
        span.attributes.extend(KeyValue(key=name, value=AnyValue(string_value=text)) for name, text in values.items())
    return request


def to_json(request: ExportTraceServiceRequest) -> dict[str, Any]:
    """Return a request in the JSON of OTLP, whose ids are hexadecimal."""
    from google.protobuf.json_format import MessageToDict

    value: dict[str, Any] = MessageToDict(request)
    for made, span in zip(
        value["resourceSpans"][0]["scopeSpans"][0]["spans"], request.resource_spans[0].scope_spans[0].spans, strict=True
    ):
        made |= {"traceId": span.trace_id.hex(), "spanId": span.span_id.hex()}
    return value


def test_protobuf_json_and_gzip_become_the_same(ask: Ask, receiver: Receiver, read: Read) -> None:
    """The same span by all ways is stored once, and answered in the type of its request."""
    request = make_request()
    plain, text = request.SerializeToString(), json.dumps(to_json(request)).encode()
    for body, kind, headers in (
        (plain, PROTOBUF, {}),
        (gzip.compress(plain), PROTOBUF, {"Content_Encoding": "gzip"}),
        (text, JSON, {}),
        (
            gzip.compress(text[:20]) + gzip.compress(text[20:]),
            "Application/JSON; charset=utf-8",
            {"Content_Encoding": "gzip"},
        ),
        (text.replace(f"{1:032x}".encode(), b"A" * 32), JSON, {}),
    ):
        status, given, answer = ask(body, kind=kind, **headers)
        assert (status, given["Content-Type"]) == (200, PROTOBUF if kind == PROTOBUF else JSON)
        if kind == PROTOBUF:
            assert not ExportTraceServiceResponse.FromString(answer).HasField("partial_success")
        else:
            assert json.loads(answer) == {}
    receiver.settle()
    queries, _ = read()
    assert [(query.text, [(hit.id, hit.score) for hit in query.hits]) for query in queries] == [
        ("wifi?", [("pool", 0.9), ("wifi", 0.8)])
    ] * 2
    assert (queries[0].system, queries[0].latency) == ("hotel", pytest.approx(9.999999))


def test_chunks_and_connections_that_stay_open(server: Server, receiver: Receiver, read: Read) -> None:
    """Several requests on one connection, one of them in chunks, as exporters for JavaScript send them."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=600)
    body = make_request(3).SerializeToString()
    connection.request(
        "POST", "/v1/traces", iter([body[:10], body[10:]]), {"Content-Type": PROTOBUF}, encode_chunked=True
    )
    assert connection.getresponse().read() == b""
    connection.request("POST", "/v1/traces?x=1", make_request(5).SerializeToString(), {"Content-Type": PROTOBUF})
    response = connection.getresponse()
    assert (response.status, response.read()) == (200, b"")
    connection.close()
    receiver.settle()
    assert len(read()[0]) == 5


@pytest.mark.parametrize("kind", [PROTOBUF, JSON])
def test_spans_that_cannot_be_read_are_told_and_the_others_taken(
    ask: Ask, receiver: Receiver, read: Read, kind: str
) -> None:
    """Ids that are too short or zero, and documents that are none: partial success, with how many and why."""
    request = make_request(4)
    spans = request.resource_spans[0].scope_spans[0].spans
    spans[0].trace_id, spans[1].span_id = b"short", bytes(8)
    del spans[2].attributes[:]
    spans[2].attributes.append(KeyValue(key="openinference.span.kind", value=AnyValue(string_value="RETRIEVER")))
    name = f"retrieval.documents.{'9' * 5000}.document.id"
    spans[2].attributes.append(KeyValue(key=name, value=AnyValue(string_value="x")))
    body = request.SerializeToString() if kind == PROTOBUF else json.dumps(to_json(request)).encode()
    status, _, answer = ask(body, kind=kind)
    assert status == 200
    if kind == PROTOBUF:
        told = ExportTraceServiceResponse.FromString(answer).partial_success
        rejected, message = told.rejected_spans, told.error_message
    else:
        partial = json.loads(answer)["partialSuccess"]
        rejected, message = int(partial["rejectedSpans"]), partial["errorMessage"]
    assert (rejected, "not valid" in message) == (3, True)
    receiver.settle()
    assert len(read()[0]) == 1


def test_logs_and_metrics_are_accepted(ask: Ask, receiver: Receiver, path: Path, read: Read) -> None:
    """An evaluation becomes feedback of its query; other log records and all metrics are counted."""
    assert ask(make_request().SerializeToString())[0] == 200
    logs = ExportLogsServiceRequest()
    records = logs.resource_logs.add().scope_logs.add().log_records
    score = [
        KeyValue(key="gen_ai.evaluation.name", value=AnyValue(string_value="user_feedback")),
        KeyValue(key="gen_ai.evaluation.score.value", value=AnyValue(double_value=1)),
    ]
    records.add(trace_id=(1).to_bytes(16, "big"), span_id=(1).to_bytes(8, "big"), attributes=score,
                event_name="gen_ai.evaluation.result", time_unix_nano=1_794_000_001_000_000_000)  # fmt: skip
    records.add(event_name="something else")
    records.add(event_name="gen_ai.evaluation.result", attributes=score)
    status, _, answer = ask(logs.SerializeToString(), "/v1/logs")
    told = ExportLogsServiceResponse.FromString(answer).partial_success
    assert (status, told.rejected_log_records, told.error_message) == (200, 1, "an evaluation has no trace id")
    as_json = {"resourceLogs": [{"scopeLogs": [{"logRecords": [
        {"traceId": f"{1:032x}", "spanId": f"{1:016x}", "timeUnixNano": "1794000002000000000",
         "attributes": [{"key": "event.name", "value": {"stringValue": "gen_ai.evaluation.result"}},
                        {"key": "gen_ai.evaluation.name", "value": {"stringValue": "judge"}},
                        {"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": 0.5}}]}]}]}]}  # fmt: skip
    assert ask(json.dumps(as_json), "/v1/logs", JSON)[0] == 200
    status, _, answer = ask(b"anything", "/v1/metrics")
    assert (status, ExportMetricsServiceResponse.FromString(answer)) == (200, ExportMetricsServiceResponse())
    receiver.settle(everything=True)
    (query,), events = read()
    assert [(event.kind, event.value, event.query) for event in events] == [
        ("task_outcome", 1.0, query.id),
        ("evaluation", 0.5, query.id),
    ]
    received = check_health(path).received
    assert received is not None
    assert (received.ignored, received.events) == ({"log records": 1, "requests with metrics": 1}, 2)


def nested(depth: int) -> bytes:
    """Return a request with a value inside values, deeper than a decoder may follow; no package would write it."""

    def wrap(field: int, data: bytes) -> bytes:
        size, length = b"", len(data)
        while length > 127:
            size, length = size + bytes([length & 127 | 128]), length >> 7
        return bytes([field << 3 | 2]) + size + bytes([length]) + data

    value = b""
    for _ in range(depth):
        value = wrap(6, wrap(1, wrap(2, value)))  # AnyValue.kvlist_value, KeyValueList.values, KeyValue.value
    return wrap(1, wrap(2, wrap(2, wrap(9, wrap(2, value)))))


def bomb() -> bytes:
    """Return 1 GB of zeros in 1 MB: a megabyte is packed once, and stands in the stream a thousand times."""
    zeros, pack, check = bytes(1 << 20), zlib.compressobj(9, wbits=-15), 0
    part = pack.compress(zeros) + pack.flush(zlib.Z_FULL_FLUSH)  # needs nothing of what stands before it
    for _ in range(1024):
        check = zlib.crc32(zeros, check)
    head, end = gzip.compress(b"")[:10], struct.pack("<II", check, 1 << 30)
    return head + part * 1024 + pack.flush() + end


@pytest.mark.parametrize(
    ("status", "reason", "body", "fields"),
    [
        (400, "malformed", b"\xff\xff\xff", {}),
        (400, "malformed", b"{", {"kind": JSON}),
        (400, "malformed", b"[]", {"kind": JSON}),
        (400, "malformed", b"\xff{}", {"kind": JSON}),
        (400, "malformed", b'{"resourceSpans": 3}', {"kind": JSON}),
        (400, "malformed", b'{"resourceSpans": [{"scopeSpans": [{}]}]}', {"kind": JSON}),
        (400, "malformed", b"[" * 100_000, {"kind": JSON}),
        (400, "malformed", nested(60), {}),
        (400, "malformed", b"no gzip", {"Content_Encoding": "gzip"}),
        (400, "malformed", gzip.compress(b"cut off", mtime=0)[:-9], {"Content_Encoding": "gzip"}),
        (404, "path", b"", {"path": "/v1/nothing"}),
        (404, "path", b"", {"method": "GET", "path": "/"}),
        (405, "method", b"", {"method": "GET"}),
        (405, "method", b"", {"method": "OPTIONS", "Origin": "https://evil.example"}),
        (403, "host", b"", {"Host": "evil.example"}),
        (403, "host", b"", {"Host": ""}),
        (413, "too_large", bytes(LARGEST_BODY + 1), {}),
        (415, "media_type", b"", {"kind": "text/plain"}),
        (415, "encoding", b"", {"Content_Encoding": "zstd"}),
    ],
)  # fmt: skip
def test_what_is_refused_has_the_right_status_and_is_counted(
    ask: Ask, receiver: Receiver, path: Path, read: Read, status: int, reason: str, body: bytes, fields: dict[str, str]
) -> None:
    """Nothing of it is stored; the answer is a Status in the type of the request, and health has the reason."""
    got, headers, answer = ask(body, **fields)
    assert got == status
    if headers["Content-Type"] == PROTOBUF:
        assert Status.FromString(answer).code == 3
    else:
        assert json.loads(answer)["code"] == 3
    receiver.settle()
    received = check_health(path).received
    assert received is not None
    assert (received.refused, received.queries) == ({reason: 1}, 0)


@pytest.mark.slow
def test_a_bomb_is_not_unpacked(ask: Ask) -> None:
    """A megabyte that would be a gigabyte is refused after as much as is allowed, which takes no memory to speak of."""
    import resource

    packed = bomb()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert ask(packed, Content_Encoding="gzip")[0] == 413
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kilobytes


def send_raw(server: Server, data: bytes) -> bytes:
    """Send bytes as they are, and return what comes back until the connection is closed."""
    with socket.create_connection(("127.0.0.1", server.server_address[1]), timeout=600) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return answer


@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        (b"411", b"", b""),
        (b"400", b"Content-Length: -5\r\n", b""),
        (b"400", b"Content-Length: 0x10\r\n", b""),
        (b"413", b"Content-Length: 99999999999999999999\r\n", b""),
        (b"400", b"Content-Length: 50\r\n", b"less"),
        (b"400", b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
        (b"400", b"Transfer-Encoding: gzip\r\n", b""),
        (b"400", b"Transfer-Encoding: chunked\r\n", b"zz\r\n"),
        (b"400", b"Transfer-Encoding: chunked\r\n", b"5\r\nabc"),
        (b"400", b"Transfer-Encoding: chunked\r\n", b"2\r\nabcdef"),
        (b"400", b"Transfer-Encoding: chunked\r\n", b"\r\n"),
        (b"413", b"Transfer-Encoding: chunked\r\n", b"7fffffff\r\n"),
        (b"400", b"Transfer-Encoding: chunked\r\n", b"1" * 5000),
    ],
)
def test_lengths_that_lie_are_refused(server: Server, status: bytes, headers: bytes, body: bytes) -> None:
    """No length, two of them, one that is no number, too large, or more than comes."""
    head = b"POST /v1/traces HTTP/1.1\r\nHost: localhost:4318\r\nContent-Type: application/x-protobuf\r\n"
    answer = send_raw(server, head + headers + b"\r\n" + body)
    assert answer.split(b" ")[1] == status


def test_all_shapes_of_attributes_are_read(ask: Ask, receiver: Receiver, read: Read) -> None:
    """Documents as a list of maps inside a protobuf value, numbers as numbers, bytes and empty values beside them."""

    def pairs(**values: Any) -> AnyValue:
        return AnyValue(kvlist_value=KeyValueList(values=[KeyValue(key=k, value=v) for k, v in values.items()]))

    request = make_request()
    span: Span = request.resource_spans[0].scope_spans[0].spans[0]
    del span.attributes[2:]
    listed = [pairs(id=AnyValue(int_value=7), score=AnyValue(double_value=0.5)), pairs(id=AnyValue(string_value="b"))]
    span.attributes.append(
        KeyValue(key="gen_ai.retrieval.documents", value=AnyValue(array_value=ArrayValue(values=listed)))
    )
    span.attributes.append(KeyValue(key="raw", value=AnyValue(bytes_value=b"\xff")))
    span.attributes.append(KeyValue(key="none"))
    span.attributes.append(KeyValue(key="gen_ai.retrieval.top_k", value=AnyValue(int_value=5)))
    span.status.code, span.status.message = 2, "slow Bearer abcdefgh12345678"
    assert ask(request.SerializeToString())[0] == 200
    receiver.settle()
    (query,), _ = read()
    assert [(hit.id, hit.score) for hit in query.hits] == [("7", 0.5), ("b", None)]
    assert (query.attributes, query.error) == ({"top_k": 5}, "slow Bearer ***")


@pytest.mark.slow
def test_a_full_journal_or_disk_is_told_to_try_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """429 with Retry-After while an ingester is behind, 503 if nothing can be written; then all goes on."""
    with Receiver(path, settle=0, keep_ids=True, most_journal=1 << 20) as receiver:
        server = Server("127.0.0.1", 0)
        server.start(receiver)

        def ask(number: int) -> tuple[int, str | None]:
            connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=600)
            body = make_request(number).SerializeToString()
            connection.request("POST", "/v1/traces", body, {"Content-Type": PROTOBUF})
            response = connection.getresponse()
            response.read()
            connection.close()
            return response.status, response.getheader("Retry-After")

        assert ask(1) == (200, None)
        receiver.settle()  # a segment of 4 MB is more than is allowed
        receiver.settle()
        assert ask(2) == (429, "5")
        receiver._most_journal = 1 << 30
        receiver.settle()
        assert ask(2) == (200, None)
        receiver._buffer._connection.execute("pragma max_page_count = 1")
        assert ask(3000) == (503, "5")
        receiver._buffer._connection.execute("pragma max_page_count = 1000000")
        assert ask(3) == (200, None)
        server.close()
    received = check_health(path).received
    assert received is not None
    assert received.refused == {"overloaded": 1, "unavailable": 1}
    assert received.queries == 3


def test_too_many_connections_wait_no_time(receiver: Receiver, path: Path) -> None:
    """The sixty-fifth connection is told to come again, and one that was closed makes room."""
    server = Server("127.0.0.1", 0)
    server.start(receiver)
    held = [socket.create_connection(("127.0.0.1", server.server_address[1]), timeout=600) for _ in range(64)]
    with socket.create_connection(("127.0.0.1", server.server_address[1]), timeout=600) as one_more:
        assert one_more.recv(100).startswith(b"HTTP/1.1 503")
    for connection in held:
        connection.close()
    server.close()  # and whoever only holds a connection does not keep it from ending
    receiver.settle()
    received = check_health(path).received
    assert received is not None
    assert received.refused == {"connections": 1}


def test_receiving_ends_with_all_in_the_store(path: Path, read: Read) -> None:
    """The library's call: a second one for the same store is refused, and the end brings what waits into the store."""
    stop, ready, started = threading.Event(), threading.Event(), list[str]()
    results = list[Any]()

    def start(url: str) -> None:
        started.append(url)
        ready.set()

    def run() -> None:
        results.append(receive(path, stop, port=0, settle=3600, patience=3600, keep_ids=True, on_start=start))

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(600)
    with pytest.raises(UsageError, match="another process receives"):
        receive(path, stop, port=0)
    port = int(started[0].rpartition(":")[2])
    with pytest.raises(UsageError, match="cannot listen on"):
        receive(path.with_name("other.db"), stop, port=port)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request("POST", "/v1/traces", make_request(7).SerializeToString(), {"Content-Type": PROTOBUF})
    assert connection.getresponse().status == 200
    stop.set()
    thread.join(30)  # although the connection is still open
    connection.close()
    assert not thread.is_alive()
    assert (results[0].spans, results[0].queries, results[0].waiting) == (7, 7, 0)
    assert check_health(path).queries.rows == 7
