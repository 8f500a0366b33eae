"""A retriever behind HTTP, against a real server on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from karat.core import SystemFailed, UsageError
from karat.systems import adapt, hits_of
from karat.systems.adapters import HttpSystem


class Server(ThreadingHTTPServer):
    """Answers with what is set, and remembers what it was asked."""

    asked: list[dict]
    keys: list[str | None]
    answers: list[tuple[int, bytes]]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(json.loads(body))
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
    found = Server(("127.0.0.1", 0), Handler)
    found.asked, found.keys = [], []
    found.answers = [(200, b'{"hits": [{"id": "a", "score": 0.5}, {"id": "b", "score": 0.25}]}')]
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield found
    found.shutdown()
    found.server_close()


def url(server: Server) -> str:
    return f"http://127.0.0.1:{server.server_port}/search"


def test_a_question_goes_out_and_hits_come_back(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The body has query, k and what else was configured; the key comes from the environment."""
    monkeypatch.setenv("SHOP_KEY", "s3cret")
    system = HttpSystem(url=url(server), body={"index": "docs"}, k_field="top_k", key_variable="SHOP_KEY")
    hits = hits_of(adapt(system).retrieve("wifi?", 2), 2)
    assert [(hit.id, hit.score) for hit in hits] == [("a", 0.5), ("b", 0.25)]
    assert server.asked == [{"index": "docs", "query": "wifi?", "top_k": 2}]
    assert server.keys == ["Bearer s3cret"]
    assert "s3cret" not in repr(system) + json.dumps(system.describe())
    system.close()


def test_paths_lead_to_the_hits(server: Server) -> None:
    """Nested answers, lists of ids, and fields under other names."""
    server.answers = [(200, b'{"d": [{"r": [{"m": {"k": "x:chunk:1"}, "s": 2, "doc": "x", "t": "text"}]}]}')]
    system = HttpSystem(url=url(server), hits="d.0.r", id="m.k", score="s", document="doc", content="t")
    (hit,) = hits_of(system.retrieve("q", 5), 5)
    assert (hit.id, hit.score, hit.document, hit.content) == ("x:chunk:1", 2.0, "x", "text")
    server.answers = [(200, b'["a", "b"]')]
    assert [hit.id for hit in hits_of(HttpSystem(url=url(server), hits="").retrieve("q", 5), 5)] == ["a", "b"]


def test_what_may_pass_is_tried_again(server: Server) -> None:
    """A server that is busy gets another try."""
    server.answers = [(503, b"busy"), (429, b"slow down"), (200, b'{"hits": []}')]
    assert HttpSystem(url=url(server), backoff=0.01).retrieve("q", 1) == []
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((500, b"stack trace: shard 7 is gone"), "500 Internal Server Error: .*shard 7 is gone"),
        ((401, b"who are you?"), "401 Unauthorized: .*who are you"),
        ((200, b"<html>"), "no JSON"),
        ((200, b'{"results": []}'), "has None at 'hits', not a list of hits"),
    ],
)
def test_failures_are_told_in_the_servers_words(server: Server, answer: tuple[int, bytes], message: str) -> None:
    """Status and body are quoted."""
    server.answers = [answer]
    with pytest.raises(SystemFailed, match=message):
        HttpSystem(url=url(server), retries=1, backoff=0.01).retrieve("q", 1)


def test_a_server_that_is_not_there_is_told() -> None:
    """The system's own words: connection refused."""
    with pytest.raises(SystemFailed, match="refused"):
        HttpSystem(url="http://127.0.0.1:9/search", retries=0).retrieve("q", 1)


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
    with pytest.raises(SystemFailed, match="no entry with \\*\\*\\*") as told:
        system.retrieve("pool?", 2)
    assert "hidden" not in str(told.value) + str(system.describe())
    with pytest.raises(UsageError, match="OTHER_KEY is not set"):
        HttpSystem(url=url(server), headers={"X-Key": "OTHER_KEY"})


def test_a_tenant_goes_out_and_comes_back(server: Server) -> None:
    """The tenant is a field of the question; a hit that names another one is told apart by its path."""
    system = HttpSystem(url=url(server), tenant_field="company", tenant="owner.id")
    server.answers = [(200, b'{"hits": [{"id": "a", "score": 1, "owner": {"id": "acme"}}]}')]
    asked = adapt(system, tenant="acme")
    (hit,) = hits_of(asked.retrieve("pool?", 2), 2, "acme")
    assert hit.tenant == "acme"
    assert server.asked[0]["company"] == "acme"
    with pytest.raises(SystemFailed, match="belongs to tenant 'acme', not to 'other'"):
        hits_of(asked.retrieve("pool?", 2), 2, "other")
    with pytest.raises(UsageError, match="tenant_field"):
        adapt(HttpSystem(url=url(server)), tenant="acme").retrieve("pool?", 2)


def test_a_service_in_the_configuration(server: Server, tmp_path: Path) -> None:
    """``[system]`` in karat.toml is asked instead of the pipeline; an unknown key is told."""
    from karat import golden
    from karat.core import Document, GoldenSet, Judgment, Query, Target
    from karat.evaluation import score_run
    from karat.projects import open_project
    from karat.runs import make_run

    made = GoldenSet(
        documents=(Document(id="a", text="one"), Document(id="b", text="two")),
        queries=(Query(id="q", text="pool?"),),
        judgments=(Judgment(query="q", target=Target(document="b"), grade=3),),
    )
    golden.write(made, tmp_path / "set")
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
