"""Webhooks: each change of state once, tried again while nobody answers, and never a secret."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from in_process import run_karat
from karat.core import UsageError
from karat.monitoring import name_webhook, send_notices
from karat.schema import from_plain
from karat.schema.watch import WatchMessage
from karat.store import open_store
from monitoring.logs import DAY, look, make_window, write

SECRET = "s3cretpath99"
HOSTILE = "<!channel> <script>alert(1)</script>\x1b[31m\n::error::x & \u202e"


class Hook(ThreadingHTTPServer):
    """A webhook that keeps what it is sent; with ``status`` it refuses."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[dict[str, Any]] = []
        self.status = 200
        self.inside = threading.Semaphore(0)

    @property
    def url(self) -> str:
        """Its address, whose path is a secret."""
        return f"http://127.0.0.1:{self.server_port}/services/{SECRET}?token={SECRET}2"


class _Handler(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.status == 200:
            self.server.bodies.append(body)
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(f"not now, {self.path}".encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def hook() -> Iterator[Hook]:
    """A webhook on this machine."""
    server = Hook()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def alerted(path: Path) -> Path:
    """A log with an alert that was opened: all queries failed, and the index changed."""
    write(path, make_window(0, error="down", build=HOSTILE, index="i1"))
    write(path, make_window(1, error="down", build=HOSTILE, index=f"i2 {HOSTILE}"))
    report = look(path, 2)
    assert set(report.opened) >= {"errors", "index"}
    return path


def send(path: Path, hook: Hook, after: float = 600) -> tuple[int, str]:
    return send_notices(path, hook.url, now=DAY + after, retries=0)


def test_each_change_is_sent_once(alerted: Path, hook: Hook) -> None:
    """In order; again only when the state changes."""
    sent, problem = send(alerted, hook)
    assert (sent, problem) == (len(hook.bodies), "")
    assert [body["state"] for body in hook.bodies] == ["open"] * sent
    assert send(alerted, hook) == (0, "")
    look(alerted, 2)
    assert send(alerted, hook) == (0, "")
    write(alerted, make_window(2, build="b3", index="i3"))
    look(alerted, 3)
    hook.bodies.clear()
    send(alerted, hook, 900)
    assert {(body["alert"], body["state"]) for body in hook.bodies} >= {("errors", "closed"), ("index", "closed")}
    messages = [from_plain(body, WatchMessage) for body in hook.bodies]
    assert len({message.id for message in messages}) == len(messages)


def test_one_that_is_down_costs_a_note_and_is_tried_again(alerted: Path, hook: Hook) -> None:
    """Nothing is lost, and no secret is told: neither in the note nor in the store."""
    hook.status = 503
    sent, problem = send(alerted, hook)
    assert sent == 0
    assert "503" in problem
    assert problem.startswith("webhook http://127.0.0.1")
    with open_store(alerted) as store:
        rows = [*store._rows("select error, attempts from notices order by key")]
    assert rows[0] == (problem, 1)
    assert SECRET not in problem
    hook.status = 200
    sent, problem = send(alerted, hook)
    assert (sent, problem) == (len(rows), "")


def test_nobody_there_and_an_address_that_is_none(alerted: Path) -> None:
    """A port that nobody listens at is a note; an address that is none is a mistake, and not shown."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as closed:
        port = closed.server_port
    sent, problem = send_notices(alerted, f"http://127.0.0.1:{port}/{SECRET}", now=DAY + 600, retries=0)
    assert (sent, bool(problem), SECRET in problem) == (0, True, False)
    for url in (
        f"ftp://host/{SECRET}",
        f"{SECRET}",
        f"http://[{SECRET}",
        f"https://host:99999/{SECRET}",
        f"https://host:0/{SECRET}",
    ):
        with pytest.raises(UsageError) as error:
            name_webhook(url)
        assert SECRET not in str(error.value)


def test_old_news_is_not_sent(alerted: Path, hook: Hook) -> None:
    """After a day nobody wants to hear it."""
    assert send(alerted, hook, 700 + 86_401) == (0, "")


def test_two_who_send_at_once_send_each_message_once(alerted: Path, hook: Hook) -> None:
    """Whoever takes one, sends it."""
    gate = threading.Barrier(4)
    results = []

    def run() -> None:
        gate.wait()
        results.append(send(alerted, hook))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ids = [body["id"] for body in hook.bodies]
    assert len(ids) == len(set(ids)) == sum(sent for sent, _ in results)
    assert send(alerted, hook)[0] + len(ids) == len(set(ids) | {body["id"] for body in hook.bodies})


def test_who_died_while_sending_is_replaced(alerted: Path, hook: Hook) -> None:
    """After ten minutes; before that, a message that somebody took is left to them. A clock set back frees it, too."""
    with open_store(alerted, write=True) as store:
        keys = [row[0] for row in store.alerts.unsent(0, DAY + 600)]
        with store.transaction():
            assert [store.alerts.claim(key, DAY + 600) for key in keys] == [True] * len(keys)
    assert send(alerted, hook, 601) == (0, "")
    with open_store(alerted) as store:
        assert [row[0] for row in store.alerts.unsent(0, DAY - 5000)] == keys
    assert send(alerted, hook, 600 + 601)[0] == len(keys)


def test_hostile_text_is_one_plain_line(alerted: Path, hook: Hook) -> None:
    """A chat reads no mention, no markup and no command from what hosts log."""
    send(alerted, hook)
    texts = [body["text"] for body in hook.bodies]
    assert any("index" in text for text in texts)
    for text in texts:
        assert text.isprintable()
        assert "<" not in text
    assert "question 1" not in json.dumps(hook.bodies)  # what somebody asked


def test_the_command_sends_to_the_address_of_the_variable(
    alerted: Path, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or that of the option; a dry run sends nothing; one that is down changes no exit code."""
    monkeypatch.setenv("KARAT_WEBHOOK", hook.url)
    at = ["--at", "2023-11-15T00:12:00Z"]
    assert run_karat("online", "watch", alerted, *at, "--dry-run").returncode == 1  # it is open
    assert hook.bodies == []
    run_karat("online", "watch", alerted, *at)
    assert hook.bodies
    monkeypatch.delenv("KARAT_WEBHOOK")
    done = run_karat("online", "watch", alerted, *at, "--webhook", f"nonsense/{SECRET}")
    assert (done.returncode, SECRET.encode() in done.stderr) == (2, False)
