"""Services that misbehave while they take documents and memories in, get ready, or are asked again by explain."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from cli.gate_project import main, make_set
from karat import golden
from karat.core import Session

KEY = "sk-q7hX2LmP9vRt4Zw8"
ACTING = ("\x1b", "\u202e", "##[", "##vso[", "\n::")
COMMANDS = "::stop-commands::x ##[add-mask]y \x1b[2J ##vso[task.setvariable]z \u202e".encode()
OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"


def answer(body: bytes, status: bytes = b"200 OK", *headers: bytes) -> bytes:
    """Return an answer over HTTP."""
    lines = [b"HTTP/1.1 " + status, *headers, b"Connection: close", b"Content-Length: %d" % len(body)]
    return b"\r\n".join([*lines, b"", body])


RIGHT = answer(json.dumps({"hits": [{"id": "d01", "score": 1.0}, {"id": "x02", "score": 0.5}]}).encode())
HOSTILE = {
    "a redirect to a file": answer(b"", b"302 Found", b"Location: file:///etc/passwd"),
    "a redirect to another host": answer(b"", b"307 Moved", b"Location: http://127.0.0.1:OTHER/x"),
    "the key": answer(f"Bearer {KEY} is wrong".encode(), f"401 {KEY}".encode(), f"WWW-Authenticate: {KEY}".encode()),
    "commands": answer(COMMANDS, b"400 ##[add-mask]"),
    "an end half-way": OK + b'Content-Length: 500\r\n\r\n{"hits": [',
    "no HTTP": b"\x00\xff SSH-2.0 \x1b[2J\r\n\r\n",
}
ASKED = {
    "nesting": answer(b'{"hits": ' + b"[" * 100_000),
    "an id that is nested": answer(b'{"hits": [{"id": ' + b"[" * 100_000 + b"]" * 100_000 + b"}]}"),
    "hits that are no list": answer(b'{"hits": {"a": 1}}'),
    "a score that is no number": answer(b'{"hits": [{"id": "d01", "score": NaN}]}'),
    "an id of digits": answer(b'{"hits": [{"id": %s}]}' % (b"9" * 5000)),
    "the key and commands as ids": answer(json.dumps({"hits": [{"id": KEY}, {"id": COMMANDS.decode()}]}).encode()),
}


@dataclass
class Service:
    """A service that answers rightly, but for one path."""

    listening: socket.socket
    path: str = ""
    answer: bytes = RIGHT
    requests: list[bytes] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.listening.getsockname()[1])

    def serve(self) -> None:
        """Answer until the socket is closed."""
        with suppress(OSError):
            while True:
                connection, _ = self.listening.accept()
                with connection, suppress(OSError):
                    connection.settimeout(600)
                    self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        request = b""
        while b"\r\n\r\n" not in request:
            request += connection.recv(65_536)
        head, _, body = request.partition(b"\r\n\r\n")
        lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        while len(body) < int(lengths[0] if lengths else 0):
            body += connection.recv(65_536)
        self.requests.append(request)
        connection.sendall(self.answer if head.split(b" ")[1] == self.path.encode() else RIGHT)


@pytest.fixture
def services() -> Iterator[tuple[Service, Service]]:
    """Return a service, and another host to which it may lead."""
    both = [Service(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
    threads = [threading.Thread(target=service.serve, daemon=True) for service in both]
    for thread in threads:
        thread.start()
    yield both[0], both[1]
    for service in both:
        service.listening.shutdown(socket.SHUT_RDWR)
        service.listening.close()
    for thread in threads:
        thread.join()


@pytest.fixture
def project(
    tmp_path: Path, services: tuple[Service, Service], monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, Service, Service]:
    """Return a project whose system is the service, which gets a key."""
    queries = [
        replace(query, session=Session(id="ana", turn=turn, remember=("x01",)))
        for turn, query in enumerate(make_set(2).queries, 1)
    ]
    golden.write(make_set(2, queries=tuple(queries)), tmp_path / "set")
    (tmp_path / "karat.toml").write_text(
        '[golden]\npath = "set"\n[eval]\nmeasures = ["RR@10"]\nwarm_up = 0\n'
        f'[system]\nurl = "http://127.0.0.1:{services[0].port}/search"\nkey_variable = "SERVICE_KEY"\n'
        'ingest_url = "/ingest"\nready_url = "/ready"\nstart_url = "/start"\nremember_url = "/remember"\n'
        'session_field = "session"\nretries = 0\nbackoff = 0.01\n'
    )
    monkeypatch.setenv("SERVICE_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    return tmp_path, *services


def require_harmless(folder: Path, printed: str, other: Service) -> None:
    """Require that nothing acts, that no file holds the key, and that nobody else was asked."""
    assert not [command for command in ACTING if command in printed]
    texts = [printed.encode(), *(path.read_bytes() for path in folder.rglob("*") if path.is_file())]
    assert not any(KEY[:10].encode() in text for text in texts)
    assert other.requests == []


@pytest.mark.parametrize("path", ["/ingest", "/start", "/remember"])
@pytest.mark.parametrize("what", HOSTILE)
def test_a_service_that_takes_in_badly_is_one_message(
    project: tuple[Path, Service, Service], capfd: pytest.CaptureFixture[str], path: str, what: str
) -> None:
    """The run ends, or every question fails, with what the service said; nobody follows it elsewhere."""
    folder, service, other = project
    service.path, service.answer = path, HOSTILE[what].replace(b"OTHER", b"%d" % other.port)
    assert main(["eval", "."]) == 3
    output, errors = capfd.readouterr()
    assert "Traceback" not in errors
    require_harmless(folder, output + errors, other)


@pytest.mark.parametrize("what", ["a redirect to another host", "the key", "commands"])
def test_a_service_that_is_never_ready_is_one_message(
    project: tuple[Path, Service, Service], capfd: pytest.CaptureFixture[str], what: str
) -> None:
    """What waiting does not change ends the run at once."""
    folder, service, other = project
    service.path, service.answer = "/ready", HOSTILE[what].replace(b"OTHER", b"%d" % other.port)
    assert main(["eval", "."]) == 3
    output, errors = capfd.readouterr()
    assert errors.count("\n") == 1
    assert ("it leads elsewhere, which is not followed" in errors) == ("redirect" in what)
    require_harmless(folder, output + errors, other)


@pytest.mark.slow
def test_a_service_that_turns_hostile_before_explain(
    project: tuple[Path, Service, Service], capfd: pytest.CaptureFixture[str]
) -> None:
    """It answered rightly when the run was made: what it does when it is asked again says nothing, and harms nobody."""
    folder, service, other = project
    assert main(["eval", "."]) == 0
    for what, data in (HOSTILE | ASKED).items():
        service.path, service.answer = "/search", data.replace(b"OTHER", b"%d" % other.port)
        assert main(["explain", "."]) == 0, what
    output, errors = capfd.readouterr()
    assert "Traceback" not in errors
    require_harmless(folder, output + errors, other)
