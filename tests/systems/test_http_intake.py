"""A service behind HTTP that takes in documents and memories, against a real server on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from karat.config import Settings
from karat.core import Context, Document, GoldenSet, Query, Session, SystemFailed, UsageError
from karat.net import NotAService
from karat.runs import make_run
from karat.systems import adapt
from karat.systems.adapters import HttpSystem

DOCUMENTS = tuple(Document(id=name, text=f"about {name}", tags=("a",)) for name in ("menu", "pool", "spa", "peanuts"))
GOLDEN = GoldenSet(
    documents=DOCUMENTS,
    queries=(
        Query(id="q2", text="and now?", session=Session(id="ana", turn=2, remember=("peanuts",), documents=("pool",))),
        Query(id="q1", text="dinner?", session=Session(id="ana", turn=1)),
        Query(id="q3", text="hours?", harvested="2026-01-02", metadata={"device": "phone"}),
    ),
)


class Server(ThreadingHTTPServer):
    """A memory behind HTTP, which writes down what it was sent."""

    requests: list[tuple[str, str, Any]]
    stored: dict[str, list[str]]
    statuses: dict[str, list[int]]
    """What the next requests to a path are refused with."""
    keys: set[str | None]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self._answer("GET", None)

    def do_POST(self) -> None:
        self._answer("POST", json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, method: str, body: Any) -> None:
        self.server.requests.append((method, self.path, body))
        self.server.keys.add(self.headers.get("Authorization"))
        refused = self.server.statuses.get(self.path)
        status = refused.pop(0) if refused else 200
        data = b"refused: Bearer s3cret" if status >= 400 else self._act(body)
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _act(self, body: Any) -> bytes:
        if self.path == "/start":
            self.server.stored[body["session"]] = []
        elif self.path == "/remember":
            self.server.stored[body["session"]] += [document["id"] for document in body["documents"]]
        elif self.path == "/search":
            names = self.server.stored.get(body.get("session"), [])
            return json.dumps({"hits": [{"id": name, "score": 1.0} for name in names]}).encode()
        return b""  # nothing, which is no JSON

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    service = Server(("127.0.0.1", 0), Handler)
    service.requests, service.stored, service.statuses, service.keys = [], {}, {}, set()
    threading.Thread(target=service.serve_forever, args=(0.01,), daemon=True).start()
    yield service
    service.shutdown()
    service.server_close()


def connect(server: Server, **others: Any) -> HttpSystem:
    options: dict[str, Any] = {
        "url": f"http://127.0.0.1:{server.server_port}/search",
        "ingest_url": "/documents",
        "ready_url": "/ready",
        "start_url": "/start",
        "remember_url": "/remember",
        "session_field": "session",
        "backoff": 0.0,
    }
    return HttpSystem(**{**options, **others})


def test_documents_readiness_sessions_and_memories_are_sent(server, monkeypatch):
    """In that order, with source id, hash and timestamp, in batches, and each with the key."""
    monkeypatch.setenv("SHOP_KEY", "s3cret")
    names = {"turn_field": "turn", "time_field": "when", "documents_field": "active", "metadata_field": "about"}
    system = connect(server, ingest_batch=2, key_variable="SHOP_KEY", tenant_field="tenant", **names)
    server.statuses["/ready"] = [503]
    run = make_run(GOLDEN, adapt(system, tenant="acme"), Settings(warm_up=0))
    assert {trace.query: [hit.id for hit in trace.hits] for trace in run.traces} == {
        "q1": [],
        "q2": ["peanuts"],
        "q3": [],
    }
    paths = [f"{method} {path}" for method, path, _ in server.requests]
    assert paths[:4] == ["POST /documents", "POST /documents", "GET /ready", "GET /ready"]
    assert server.keys == {"Bearer s3cret"}
    bodies = {path: [body for _, place, body in server.requests if place == path] for _, path, _ in server.requests}
    sent = [document for body in bodies["/documents"] for document in body["documents"]]
    assert [document["id"] for document in sent] == ["menu", "pool", "spa"]
    assert sent[0] == {
        "id": "menu", "source_id": "golden:menu", "source_hash": DOCUMENTS[0].source_hash,
        "text": "about menu", "tags": ["a"],
    }  # fmt: skip
    assert all(body["tenant"] == "acme" and "T" in body["timestamp"] for body in bodies["/documents"])
    assert bodies["/start"] == [{"tenant": "acme", "session": "ana", "turn": 1}]
    (memory,) = bodies["/remember"]
    assert (memory["session"], memory["turn"], memory["tenant"]) == ("ana", 2, "acme")
    assert [document["source_id"] for document in memory["documents"]] == ["golden:peanuts"]
    questions = {body.pop("query"): body for body in bodies["/search"]}
    assert questions["and now?"] == {"k": 10, "tenant": "acme", "session": "ana", "turn": 2, "active": ["pool"]}
    assert questions["hours?"] == {"k": 10, "tenant": "acme", "when": "2026-01-02", "about": {"device": "phone"}}


def test_a_service_that_wants_none_of_it_is_asked_as_before(server):
    """It has no hooks, gets no context, and is described by the same words."""
    plain = HttpSystem(url=f"http://127.0.0.1:{server.server_port}/search")
    system = adapt(plain)
    assert (system.ingest, system.ready, system.remember, system.start_session) == (None,) * 4
    assert not system.has_sessions
    make_run(GOLDEN, system, Settings(warm_up=0))
    assert [body for _, _, body in server.requests] == [{"query": query.text, "k": 10} for query in GOLDEN.queries]
    assert not {name for name in plain.describe() if name.endswith("_url") or name in ("session_field", "turn_field")}


def test_what_the_service_refuses_is_told_without_the_key(server, monkeypatch):
    """Documents end the run, memories the session, and a place that is wrong does so at once."""
    monkeypatch.setenv("SHOP_KEY", "s3cret")
    system = connect(server, key_variable="SHOP_KEY", retries=1)
    server.statuses["/documents"] = [500, 500]
    with pytest.raises(SystemFailed, match=r"/documents: 500 .*asked 2 times") as failure:
        make_run(GOLDEN, system)
    assert "s3cret" not in str(failure.value)
    server.statuses = {"/remember": [400]}
    run = make_run(GOLDEN, connect(server, key_variable="SHOP_KEY"), Settings(warm_up=0))
    (error,) = [trace.error for trace in run.traces if trace.error]
    assert error.startswith("before turn 2 of session 'ana': system http://127.0.0.1:")
    assert "400" in error
    assert "s3cret" not in error
    server.statuses = {"/ready": [404]}
    with pytest.raises(NotAService, match="/ready: 404"):
        make_run(GOLDEN, connect(server))


def test_a_service_that_does_not_get_ready_has_a_limit(server):
    """It answers 503 for ever, or nothing answers at all."""
    server.statuses["/ready"] = [503] * 1000
    with pytest.raises(SystemFailed, match=r"is not ready after 0\.01 s"):
        make_run(GOLDEN, connect(server), Settings(ready_timeout=0.01))
    silent = connect(server, ready_url="http://127.0.0.1:9/ready", retries=0)
    assert silent.ready is not None
    assert silent.ready() is False


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"start_url": ""}, "remember_url is set without start_url"),
        ({"session_field": ""}, "start_url is set without session_field"),
        ({"ingest_batch": 0}, "ingest_batch=0; choose at least 1"),
        ({"session_field": "user", "body": {"user": 1}}, "body sets 'user'"),
        ({"ready_url": "http://[::1"}, "is not usable"),
        ({"url": "http://[::1"}, "is not usable"),
    ],
)
def test_what_cannot_work_is_refused(server, wrong, message):
    with pytest.raises(UsageError, match=message.replace("[", r"\[")):
        connect(server, **wrong)


def test_a_context_without_a_name_is_not_sent(server):
    """Only what the service has a word for leaves karat."""
    system = connect(server, start_url="", remember_url="", turn_field="n")
    system.retrieve("?", 1, context=Context(session="s", turn=3, time="now", metadata={"a": 1}))
    assert server.requests[-1][2] == {"query": "?", "k": 1, "session": "s", "n": 3}
