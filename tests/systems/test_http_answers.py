"""A service behind HTTP that answers: its text, citations, refusals, tokens and cost by paths."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from karat import Citation, GoldenSet, Query, Span
from karat.core import Run, UsageError
from karat.projects import open_project
from karat.runs import Settings, make_run, read_any_run
from karat.systems import HttpSystem

GOLDEN = GoldenSet(queries=(Query(id="q1", text="pool?"), Query(id="q2", text="wifi?")))
HITS = [{"id": "pool:chunk:0", "score": 0.9}, {"id": "wifi:chunk:0", "score": 0.5}]


class Service(ThreadingHTTPServer):
    """Answers with what is set, one after the other."""

    answers: list[Any]


class Handler(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        answers = self.server.answers
        data = json.dumps(answers.pop(0) if len(answers) > 1 else answers[0]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """A service on a port of its own."""
    server = Service(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


PATHS = {"answer": "m.text", "citations": "m.cited", "refused": "m.declined", "tokens": "usage", "cost": "price"}


def ask(service: Service, answers: list[Any], output: Path | None = None, **keys: Any) -> Run:
    service.answers = answers
    system = HttpSystem(url=f"http://127.0.0.1:{service.server_port}/ask", retries=0, **{**PATHS, **keys})
    try:
        return make_run(GOLDEN, system, Settings(warm_up=0), output=output)
    finally:
        system.close()


def reply(text: str | None, cited: Any = (), declined: Any = False, **others: Any) -> dict[str, Any]:
    message = {"text": text, "cited": list(cited), "declined": declined}
    return {"hits": HITS, "m": message, "usage": {"input": 12, "more": {"cached": 0}}, "price": 0.5, **others}


def test_an_answer_comes_with_all_its_parts(service: Service, tmp_path: Path) -> None:
    """Ids, ranks and objects are citations; the run file keeps everything, and a refusal needs no text."""
    cited = [2, "pool:chunk:0", {"src": "wifi", "at": [3, 9], "quote": "free"}]
    path = tmp_path / "run.jsonl"
    answers = [reply("Free.", cited), {"hits": [], "m": {"declined": True}, "usage": None, "price": None}]
    run = ask(service, answers, path, citation_id="src", citation_span="at")
    first, second = run.traces
    assert (first.answer, first.refused, first.error) == ("Free.", False, "")
    assert first.citations == (
        Citation("wifi:chunk:0", "wifi"), Citation("pool:chunk:0", "pool"), Citation("wifi", "wifi", Span(3, 9))
    )  # fmt: skip
    assert first.telemetry == {"tokens": {"input": 12}, "cost": 0.5}
    assert [hit.id for hit in first.hits] == ["pool:chunk:0", "wifi:chunk:0"]
    assert (second.answer, second.refused, second.citations, second.telemetry) == ("", True, (), {})
    assert read_any_run(path, GOLDEN).traces == run.traces


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"answer": "m.txt"}, r"has nothing at answer = 'm.txt': 'm' has the keys 'text', 'cited', 'declined'"),
        ({"citations": "cites"}, r"has nothing at citations = 'cites': it has the keys 'hits', 'm', 'usage', 'price'"),
        ({"refused": "m.refused"}, r"has nothing at refused = 'm.refused': 'm' has the keys"),
        ({"tokens": "usage.all.of"}, r"has nothing at tokens = 'usage.all.of': 'usage' has the keys 'input', 'more'"),
        ({"cost": "m.text.price"}, r"has nothing at cost = 'm.text.price': 'm.text' is 'Free.'"),
        ({"citation_id": "source"}, r"citation 1 has nothing at citation_id = 'source': it has the keys 'src'"),
    ],
)
def test_a_wrong_path_ends_the_run_and_lists_the_keys(service: Service, keys: dict[str, str], message: str) -> None:
    """A wrong path must not pass for a system that never refuses, or cites nothing."""
    with pytest.raises(UsageError, match=message):
        ask(service, [reply("Free.", [{"src": "wifi"}])], **{"citation_id": "src", **keys})


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (reply(None), "answered with nothing, and does not say that it refused"),
        ({"hits": HITS, "m": {"declined": False}}, "answered with nothing"),
        ({"hits": HITS, "m": None, "error": "no model"}, "answered with an error: no model"),
        (reply("Free.", declined="no"), "refused 'no'"),
        (reply("Free.", [{"id": "wifi", "span": [9, 3]}]), r"citation 1 is .*is no range of bytes"),
        (reply("Free.", [0]), "ranks begin at 1"),
        (reply("Free.") | {"m": {"text": "Free.", "cited": "wifi", "declined": False}}, "cites 'wifi', not a list"),
        (reply("Free.", usage="many"), "reports 'many' as its tokens"),
        (reply("Free.", price=-1), "reports -1 as its cost"),
        (reply("Free.", [{"quote": "free"}]), "citation 1 has nothing at citation_id"),
    ],
)
def test_a_bad_answer_after_a_good_one_fails_only_its_question(service: Service, answer: Any, message: str) -> None:
    """The paths are right, so it is the service that failed; the question counts as failed, and says why."""
    good, bad = ask(service, [reply("Free.", [{"id": "wifi"}]), answer]).traces
    assert (good.error, good.answer) == ("", "Free.")
    assert bad.answer == ""
    assert not bad.refused

    assert re.search(message, bad.error), bad.error


def test_secrets_in_an_answer_are_hidden(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that repeats its key does not get it into a run file."""
    monkeypatch.setenv("DESK_KEY", "s3cret-of-the-desk")
    run = ask(service, [reply("Call me with s3cret-of-the-desk.")], key_variable="DESK_KEY")
    assert run.traces[0].answer == "Call me with ***."


def test_a_part_of_an_answer_needs_the_answer(tmp_path: Path) -> None:
    """Also in karat.toml; and a service that only retrieves is described as ever."""
    (tmp_path / "karat.toml").write_text('[system]\nurl = "http://localhost:1"\ncitations = "cites"\n')
    (tmp_path / "golden.toml").write_text('name = "x"\n')
    (tmp_path / "queries.jsonl").write_text('{"id": "q", "text": "?"}\n')
    with pytest.raises(UsageError, match="citations is a part of an answer; set answer, too"):
        open_project(tmp_path).system()
    assert "answer" not in HttpSystem(url="http://localhost:1").describe()
    assert HttpSystem(url="http://localhost:1", answer="text").describe()["answer"] == "text"
