"""A retriever behind HTTP, against a real server on this machine."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from karat.core import GoldenSet, Query, SystemFailed, UsageError
from karat.net import Unreachable
from karat.net._client import parse_retry_after
from karat.runs import Settings, make_run
from karat.systems import adapt, read_hits
from karat.systems.adapters import HttpSystem

GOLDEN = GoldenSet(queries=(Query(id="q1", text="pool?"), Query(id="q2", text="wifi?")))


class Server(ThreadingHTTPServer):
    """Answers with what is set, and remembers what it was asked."""

    bodies: list[dict]
    keys: list[str | None]
    answers: list[tuple[int, bytes]]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.append(json.loads(body))
        self.server.keys.append(self.headers.get("Authorization"))
        status, data = self.server.answers.pop(0) if len(self.server.answers) > 1 else self.server.answers[0]
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    """A server on a port of its own."""
    service = Server(("127.0.0.1", 0), Handler)
    service.bodies, service.keys = [], []
    service.answers = [(200, b'{"hits": [{"id": "a", "score": 0.5}, {"id": "b", "score": 0.25}]}')]
    threading.Thread(target=service.serve_forever, args=(0.01,), daemon=True).start()
    yield service
    service.shutdown()
    service.server_close()


def url(server: Server) -> str:
    return f"http://127.0.0.1:{server.server_port}/search"


def test_a_question_goes_out_and_hits_come_back(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The body has query, k and what else was configured; the key comes from the environment."""
    monkeypatch.setenv("SHOP_KEY", "s3cret")
    system = HttpSystem(url=url(server), body={"index": "docs"}, k_field="top_k", key_variable="SHOP_KEY")
    hits = read_hits(adapt(system).retrieve("wifi?", 2), 2)
    assert [(hit.id, hit.score) for hit in hits] == [("a", 0.5), ("b", 0.25)]
    assert server.bodies == [{"index": "docs", "query": "wifi?", "top_k": 2}]
    assert server.keys == ["Bearer s3cret"]
    assert "s3cret" not in repr(system) + json.dumps(system.describe())
    system.close()


def test_paths_lead_to_the_hits(server: Server) -> None:
    """Nested answers, lists of ids, and fields under other names."""
    server.answers = [(200, b'{"d": [{"r": [{"m": {"k": "x:chunk:1"}, "s": 2, "doc": "x", "t": "text"}]}]}')]
    system = HttpSystem(url=url(server), hits="d.0.r", id="m.k", score="s", document="doc", content="t")
    (hit,) = read_hits(system.retrieve("q", 5), 5)
    assert (hit.id, hit.score, hit.document, hit.content) == ("x:chunk:1", 2.0, "x", "text")
    server.answers = [(200, b'["a", "b"]')]
    assert [hit.id for hit in read_hits(HttpSystem(url=url(server), hits="").retrieve("q", 5), 5)] == ["a", "b"]


def test_what_may_pass_is_tried_again(server: Server) -> None:
    """A server that is busy gets another try."""
    server.answers = [(503, b"busy"), (429, b"slow down"), (200, b'{"hits": []}')]
    assert HttpSystem(url=url(server), backoff=0.01).retrieve("q", 1) == []
    assert len(server.bodies) == 3


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((500, b"stack trace: shard 7 is gone"), "500 Internal Server Error: .*shard 7 is gone"),
        ((401, b"who are you?"), "401 Unauthorized: .*who are you"),
        ((200, b"<html>"), "not JSON"),
        ((200, b'{"error": {"message": "index is closed"}}'), "answered with an error: index is closed"),
    ],
)
def test_failures_are_told_in_the_servers_words(server: Server, answer: tuple[int, bytes], message: str) -> None:
    """Status and body are quoted."""
    server.answers = [answer]
    with pytest.raises(SystemFailed, match=message):
        HttpSystem(url=url(server), retries=1, backoff=0.01).retrieve("q", 1)


def closed_port() -> int:
    """A port at which nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.mark.parametrize(
    ("host", "message"),
    [(f"127.0.0.1:{closed_port()}", "refused"), ("no-such-host.invalid", "ConnectError")],
    ids=["refused", "unknown"],
)
def test_a_service_that_cannot_be_reached_is_unreachable(host: str, message: str) -> None:
    """A refused connection and a host name that does not exist are told apart from a service that answers badly."""
    with pytest.raises(Unreachable, match=message):
        HttpSystem(url=f"http://{host}/search", retries=0).retrieve("q", 1)


@pytest.mark.parametrize("warm_up", [0, 1])
def test_a_service_that_is_down_ends_the_run_at_the_first_question(warm_up: int) -> None:
    """Every later question would wait for all its retries, too."""
    system, questions = HttpSystem(url=f"http://127.0.0.1:{closed_port()}/", retries=1, backoff=0.0), []

    def retrieve(query: str, k: int) -> list[dict]:
        questions.append(query)
        return system.retrieve(query, k)

    with pytest.raises(SystemFailed, match=r"refused.* \(asked 2 times\)") as failure:
        make_run(GOLDEN, retrieve, Settings(warm_up=warm_up, timeout=None))
    assert questions == ["pool?"]
    assert failure.value.exit_code == 3


@pytest.mark.parametrize("warm_up", [0, 1])
@pytest.mark.parametrize(
    ("answer", "message"),
    [((404, b"<html>not here</html>"), "404 Not Found"), ((401, b"no key"), "401"), ((200, b"<html>"), "not JSON")],
)
def test_what_is_not_the_service_ends_the_run_at_the_first_question(
    server: Server, answer: tuple[int, bytes], message: str, warm_up: int
) -> None:
    """A wrong address or key, or a page of HTML, would be the answer to every other question, too."""
    server.answers = [answer]
    with pytest.raises(SystemFailed, match=f"{message}.*check the address and the key of the service") as failure:
        make_run(GOLDEN, HttpSystem(url=url(server)), Settings(warm_up=warm_up, timeout=None))
    assert failure.value.exit_code == 3
    assert len(server.bodies) == 1


def test_a_404_after_an_answer_fails_only_its_question(server: Server) -> None:
    """Some services have no other word for a question without hits."""
    good = (200, b'{"hits": [{"id": "a"}]}')
    server.answers = [good, (404, b"nothing"), good]
    run = make_run(GOLDEN, HttpSystem(url=url(server)))
    assert [bool(trace.error) for trace in run.traces] == [True, False]


def test_a_service_that_goes_down_later_fails_only_the_questions_left(server: Server) -> None:
    """Once it has answered, what was answered is kept, and the rest counts as failed."""
    system, down, questions = (
        HttpSystem(url=url(server)),
        HttpSystem(url=f"http://127.0.0.1:{closed_port()}/", retries=0),
        [],
    )

    def retrieve(query: str, k: int) -> list[dict]:
        questions.append(query)
        return (system if len(questions) < 3 else down).retrieve(query, k)

    run = make_run(GOLDEN, retrieve, Settings(timeout=None))
    assert [bool(trace.error) for trace in run.traces] == [False, True]


@pytest.mark.parametrize(
    ("paths", "answer", "message"),
    [
        ({}, {"results": [], "took": 3}, "no list of hits at hits = 'hits': it has the keys 'results', 'took'"),
        ({"hits": "hits"}, {"hits": {"total": 1, "hits": []}}, "at hits = 'hits': 'hits' has the keys 'total', 'hits'"),
        ({"hits": "data.results"}, {"data": {"items": []}}, "at hits = 'data.results': 'data' has the keys 'items'"),
        ({"hits": "data.1"}, {"data": [[]]}, "at hits = 'data.1': 'data' is a list of 1"),
        ({}, [], "at hits = 'hits': it is a list of 0"),
        ({}, ["a"], "it is a list of 1, which is the list of hits if you set hits = \"\"; correct the path"),
        ({}, {}, "it is an empty object"),
        ({"id": "chunk.id"}, {"hits": [{"chunk": {"key": "a"}}]}, "at id = 'chunk.id': 'chunk' has the keys 'key'"),
        ({}, {"hits": [{"_id": "a", "score": 1}]}, "hit 1 has nothing at id = 'id': it has the keys '_id', 'score'"),
        ({}, {"hits": [None]}, "hit 1 has nothing at id = 'id': it is None"),
        ({"document": "pth"}, {"hits": [{"path": "a"}]}, "at id = 'id' or document = 'pth': it has the keys 'path'"),
    ],
)  # fmt: skip
def test_a_wrong_path_is_a_configuration_mistake(server: Server, paths: dict, answer: object, message: str) -> None:
    """The run ends at once, and the message lists the keys that came instead."""
    server.answers = [(200, json.dumps(answer).encode())]
    with pytest.raises(UsageError, match=re.escape(message)) as mistake:
        make_run(GOLDEN, HttpSystem(url=url(server), **paths))
    assert mistake.value.exit_code == 2
    assert len(server.bodies) == 1


def test_an_answer_without_hits_after_good_ones_fails_only_its_question(server: Server) -> None:
    """The paths were right before, so that it is the service that failed, and not the configuration."""
    good, bad = (200, b'{"hits": [{"id": "a"}]}'), (200, b'{"took": 3}')
    server.answers = [good, good, bad]
    run = make_run(GOLDEN, HttpSystem(url=url(server)))
    assert [trace.error for trace in run.traces] == [
        "",
        "the answer has no list of hits at hits = 'hits': it has the keys 'took'",
    ]


def test_a_hit_may_have_a_document_instead_of_an_id(server: Server) -> None:
    """A service that returns documents needs no ids of chunks."""
    server.answers = [(200, b'{"hits": [{"doc": "a"}, {"doc": "b"}]}')]
    hits = read_hits(HttpSystem(url=url(server), document="doc").retrieve("q", 5), 5)
    assert [(hit.id, hit.document) for hit in hits] == [("a", "a"), ("b", "b")]


def test_a_body_that_hides_the_question_is_refused() -> None:
    """A key for the question cannot be set to something else."""
    with pytest.raises(UsageError, match="body sets 'query'"):
        HttpSystem(url="http://127.0.0.1:9/", body={"query": "x"})


def test_headers_come_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each header is named with the variable that holds it; what it holds is in no message and no description."""
    monkeypatch.setenv("SEARCH_KEY", "hidden-word")
    system = HttpSystem(url=url(server), headers={"Authorization": "SEARCH_KEY"}, retries=0)
    system.retrieve("pool?", 2)
    assert server.keys == ["hidden-word"]
    server.answers = [(403, b"no entry with hidden-word")]
    with pytest.raises(SystemFailed, match="no entry with \\*\\*\\*") as failure:
        system.retrieve("pool?", 2)
    assert "hidden" not in str(failure.value) + str(system.describe())
    with pytest.raises(UsageError, match="OTHER_KEY is not set"):
        HttpSystem(url=url(server), headers={"X-Key": "OTHER_KEY"})


def test_a_tenant_goes_out_and_comes_back(server: Server) -> None:
    """The tenant is a field of the question; a hit that names another one is told apart by its path."""
    system = HttpSystem(url=url(server), tenant_field="company", tenant="owner.id")
    server.answers = [(200, b'{"hits": [{"id": "a", "score": 1, "owner": {"id": "acme"}}]}')]
    adapter = adapt(system, tenant="acme")
    (hit,) = read_hits(adapter.retrieve("pool?", 2), 2, "acme")
    assert hit.tenant == "acme"
    assert server.bodies[0]["company"] == "acme"
    with pytest.raises(SystemFailed, match="belongs to tenant 'acme', not to 'other'"):
        read_hits(adapter.retrieve("pool?", 2), 2, "other")
    with pytest.raises(UsageError, match="tenant_field"):
        adapt(HttpSystem(url=url(server)), tenant="acme").retrieve("pool?", 2)


def test_a_service_in_the_configuration(server: Server, tmp_path: Path) -> None:
    """``[system]`` in karat.toml is asked instead of the pipeline; an unknown key is told."""
    from karat import golden
    from karat.core import Document, Judgment, Target
    from karat.evaluation import score_run
    from karat.projects import open_project

    golden_set = GoldenSet(
        documents=(Document(id="a", text="one"), Document(id="b", text="two")),
        queries=(Query(id="q", text="pool?"),),
        judgments=(Judgment(query="q", target=Target(document="b"), grade=3),),
    )
    golden.write(golden_set, tmp_path / "set")
    config = tmp_path / "karat.toml"
    config.write_text(f'[golden]\npath = "set"\n[system]\nurl = "{url(server)}"\n')
    project = open_project(tmp_path)
    run = make_run(project.golden, project.system(), project.settings())
    assert run.provenance.system["url"] == url(server)
    assert score_run(project.golden, run, ["RR@10"]).scores.mean() == {"RR@10": 0.5}
    for wrong, message in (
        ("hits = 5", "hits = 5 is of the wrong type"),
        ("retries = 1.5", "retries = 1.5"),
        ("body = 'x'", "body = 'x'"),
    ):
        (tmp_path / "karat.toml").write_text(config.read_text().split("hits =")[0] + wrong + "\n")
        with pytest.raises(UsageError, match=message):
            open_project(tmp_path).system()
        config.write_text(f'[golden]\npath = "set"\n[system]\nurl = "{url(server)}"\n')
    config.write_text('[golden]\npath = "set"\n[system]\nhits = "data"\n')
    with pytest.raises(UsageError, match=r"\[system\] needs url"):
        open_project(tmp_path).system()
    config.write_text(f'[golden]\npath = "set"\n[system]\nurl = "{url(server)}"\nhitz = "x"\n')
    with pytest.raises(UsageError, match=r"\[system\] has no key 'hitz', did you mean 'hits'"):
        open_project(tmp_path).system()


def test_a_place_of_thousands_of_digits_leads_nowhere() -> None:
    """Python converts no number of more than 4,300 digits; a list has fewer items anyway."""
    system = HttpSystem(url="http://localhost:1/x", hits="9" * 5000)
    with pytest.raises(UsageError, match="it is a list of 1"):
        system.read([["a"]])


def test_a_header_names_a_variable() -> None:
    """TOML can hold anything else in its place."""
    with pytest.raises(UsageError, match="a header of http://localhost:1/x is not text"):
        HttpSystem(url="http://localhost:1/x", headers={"X-Key": 1})  # type: ignore[dict-item]


@pytest.mark.parametrize("day", ["9" * 20, "1"])
@pytest.mark.parametrize("zone", ["GMT", "+" + "9" * 20])
def test_a_pause_until_a_day_that_no_calendar_has_is_none(day: str, zone: str) -> None:
    """A service may send any header; the request is then sent again as without it."""
    assert parse_retry_after(f"Mon, {day} Jan 2020 00:00:00 {zone}") == 0.0
