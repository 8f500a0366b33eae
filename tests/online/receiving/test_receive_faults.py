"""Requests that are damaged at random, and receivers that are killed: nothing breaks, and nothing accepted is lost."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from karat.online import check_health, ingest, read_log
from karat.online.receiving import Receiver
from karat.online.receiving._server import Server
from online.receiving.test_server import JSON, PROTOBUF, make_request, to_json

RIGHT = {200, 400, 403, 404, 405, 411, 413, 415, 429, 431, 501, 503, 505}
WORDS = (
    b"null", b"-1", b"1e999", b"NaN", b'"\\ud800"', b"{}", b"[]", b'"gen_ai.operation.name"', b"RERANKER", b"\x00",
    b"9" * 40, b"evaluations.0.evaluation.name", b"update_memory", b'{"id": {}}', b'[[[["id"]]]]',
    b"retrieval.documents",
)  # fmt: skip


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Return bytes with some of them changed, removed, doubled, or replaced by a word."""
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        place = rng.randrange(len(data) + 1)
        match rng.randrange(5):
            case 0:
                data = data[:place] + bytes([rng.randrange(256)]) + data[place + 1 :]
            case 1:
                data = data[:place] + data[place + rng.choice((1, 4, 40)) :]
            case 2:
                data = data[:place] + data[place : place + 30] * 2 + data[place + 30 :]
            case 3:
                data = data[:place] + rng.choice(WORDS) + data[place:]
            case _:
                data = data[:place] + rng.choice(WORDS) + data[place + rng.choice((1, 4, 8)) :]
    return data


def seeds() -> list[tuple[bytes, dict[str, str]]]:
    """Return right requests, in all types and conventions."""
    request = make_request(2)
    value = to_json(request)
    value["resourceSpans"][0]["scopeSpans"][0]["spans"].append(
        {
            "traceId": "5" * 32,
            "spanId": "6" * 16,
            "parentSpanId": "7" * 16,
            "name": "x",
            "startTimeUnixNano": "1794000000000000000",
            "endTimeUnixNano": 1794000000000000001,
            "status": {"code": 2, "message": "failed"},
            "attributes": [
                {"key": "openinference.span.kind", "value": {"stringValue": "RERANKER"}},
                {"key": "reranker.output_documents.0.document.id", "value": {"stringValue": "a"}},
                {"key": "reranker.output_documents.0.document.score", "value": {"doubleValue": 0.5}},
                {"key": "evaluations.0.evaluation.name", "value": {"stringValue": "user_feedback"}},
                {"key": "evaluations.0.evaluation.score", "value": {"doubleValue": 1}},
                {"key": "session.id", "value": {"stringValue": "s1"}},
                {"key": "deep", "value": {"kvlistValue": {"values": [{"key": "k", "value": {"intValue": "7"}}]}}},
            ],
        }
    )
    plain, text = request.SerializeToString(), json.dumps(value).encode()
    named = [{"key": "gen_ai.evaluation.name", "value": {"stringValue": "judge"}}]
    record = {"traceId": "1" * 32, "eventName": "gen_ai.evaluation.result", "attributes": named}
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    packed = {"Content-Type": PROTOBUF, "Content-Encoding": "gzip"}
    return [
        (plain, {"Content-Type": PROTOBUF}),
        (text, {"Content-Type": JSON}),
        (text, {"Content-Type": JSON, ":path": "/v1/logs"}),
        (json.dumps(logs).encode(), {"Content-Type": JSON, ":path": "/v1/logs"}),
        (gzip.compress(plain, mtime=0), packed),
        (text, {"Content-Type": JSON, ":damage": "packed"}),
    ]


def send(server: Server, count: int, seed: int) -> Counter[int]:
    """Send damaged requests; return how many got each status."""
    rng, answers = random.Random(seed), Counter[int]()
    choices = seeds()
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=600)
    for _ in range(count):
        body, headers = rng.choice(choices)
        headers = dict(headers)
        path = headers.pop(":path", "/v1/traces")
        body = mutate(body, rng)
        if headers.pop(":damage", ""):
            body, headers["Content-Encoding"] = gzip.compress(body, 1), "gzip"
        if rng.random() < 0.05:
            name = rng.choice(("Content-Type", "Content-Encoding", "Host"))
            headers[name] = re.sub(r"[\r\n]", "", mutate(b"application/json", rng).decode("latin-1"))
        connection.request("POST", path, body, headers)  # which connects again if the answer before was the last one
        response = connection.getresponse()
        response.read()
        answers[response.status] += 1
    connection.close()
    return answers


@pytest.mark.parametrize(
    ("count", "seed"), [(150, 1), pytest.param(10_000, 2, marks=pytest.mark.slow(60))], ids=["some", "many"]
)
def test_damaged_requests_are_answered_and_never_by_500(path: Path, count: int, seed: int) -> None:
    """Whatever comes, the status is one of the protocol's; then a right request is taken, and all that was accepted is
    written without a record that could not be.
    """
    with Receiver(path, settle=0, keep_ids=True) as receiver:
        server = Server("127.0.0.1", 0)
        server.start(receiver)
        answers = send(server, count, seed)
        assert answers.keys() <= RIGHT
        assert min(answers[200], answers[400]) > count / 20
        receiver.settle(everything=True)
        connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=600)
        right = make_request(1, "at the end").SerializeToString().replace(bytes(15) + b"\1", b"\2" * 16)
        connection.request("POST", "/v1/traces", right, {"Content-Type": PROTOBUF})
        assert connection.getresponse().status == 200
        connection.close()
        server.close()
    ingest(path)
    health = check_health(path)
    assert (health.healthy, health.received is not None and health.received.waiting) == (True, 0)
    with read_log(path) as log:
        assert any(query.text == "at the end" for query in log.queries())


@pytest.mark.slow(20)
def test_a_receiver_that_is_killed_loses_nothing_it_answered_200_for(path: Path) -> None:
    """SIGKILL at random moments while spans come, five times: every span that was answered 200 is in the store once.

    Each trace is sent in two requests, the retriever and then its root, perhaps to another process; a request without
    an answer is sent again, as exporters do.
    """
    rng = random.Random(5)
    accepted: set[str] = set()
    number = 0
    command = [sys.executable, "-m", "karat", "online", "receive", str(path), "--port", "0", "--settle", "0.2"]
    for _ in range(5):
        process = subprocess.Popen([*command, "--keep-ids"], stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        port = int(process.stderr.readline().rpartition(":")[2])
        stop_at = number + rng.randrange(60, 250)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        while number < stop_at:
            for span in (2, 1):
                connection.request("POST", "/v1/traces", make_part(number, span), {"Content-Type": JSON})
                response = connection.getresponse()
                response.read()
                assert response.status == 200
            accepted.add(f"question {number}")
            number += 1
        connection.request("POST", "/v1/traces", make_part(number, 2), {"Content-Type": JSON})
        os.kill(process.pid, signal.SIGKILL)  # while it answers, perhaps
        process.communicate()
        connection.close()
    process = subprocess.Popen([*command, "--keep-ids"], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=600)
    assert process.returncode == 0
    with read_log(path) as log:
        texts = Counter(query.text for query in log.queries())
        sessions = {query.session for query in log.queries() if query.text in accepted}
    assert accepted <= texts.keys()
    assert set(texts.values()) == {1}
    assert sessions == {"s1"}
    assert check_health(path).healthy


def make_part(number: int, span: int) -> bytes:
    """Return one of the two spans of a trace: 1 is the root, with the session, 2 the retriever."""
    value = {
        "traceId": f"{number + 1:032x}",
        "spanId": f"{span:016x}",
        "parentSpanId": f"{1:016x}" if span == 2 else "",
        "name": "search",
        "startTimeUnixNano": str(1_794_000_000_000_000_000 + number),
        "endTimeUnixNano": str(1_794_000_001_000_000_000 + number),
    }
    texts = {"session.id": "s1", "openinference.span.kind": "CHAIN"}
    if span == 2:
        texts = {"openinference.span.kind": "RETRIEVER", "input.value": f"question {number}",
                 "retrieval.documents.0.document.id": "wifi"}  # fmt: skip
    value["attributes"] = [{"key": key, "value": {"stringValue": text}} for key, text in texts.items()]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [value]}]}]}).encode()
