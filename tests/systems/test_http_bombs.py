"""Answers that unpack to more than the memory: one message, and hardly more memory than the limit."""

from __future__ import annotations

import gzip
import json
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from karat.core import SystemFailed
from karat.net import Client, Endpoint, _body, _client

LIMIT = 1 << 20


@pytest.fixture
def client() -> Iterator[Callable[[bytes, str], Client]]:
    """Return a client of a service that answers with some bytes in an encoding."""
    servers: list[HTTPServer] = []

    def make(data: bytes, encoding: str) -> Client:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                assert self.headers["Accept-Encoding"] == "gzip"
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.send_header("Content-Encoding", encoding)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return Client(Endpoint(url=f"http://127.0.0.1:{server.server_port}/"), "reranker")

    yield make
    for server in servers:
        server.shutdown()
        server.server_close()


BOMB = gzip.compress(bytes(32 * LIMIT), mtime=0)


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (BOMB, "gzip", "an answer of more than 1,048,576 bytes; ask for less at once"),
        (
            gzip.compress(BOMB, mtime=0),
            "gzip, gzip",
            "an answer in the encoding 'gzip, gzip', and karat asks for gzip or none",
        ),
        (BOMB, "gzip,identity", "an answer in the encoding 'gzip,identity'"),
        (b"{}", "br", "an answer in the encoding 'br'"),
        (b"{}", "gzip", "an answer that cannot be unpacked: Error -3"),
        (gzip.compress(b"{}", mtime=0)[:-4], "gzip", "an answer that cannot be unpacked: it is cut off"),
        (bytes(2 * LIMIT), "identity", "an answer of more than 1,048,576 bytes"),
    ],
)
def test_bombs_are_refused(
    client: Callable[[bytes, str], Client], monkeypatch: pytest.MonkeyPatch, data: bytes, encoding: str, message: str
) -> None:
    """Unpacked block by block, they are noticed at the limit; encodings upon encodings are not unpacked at all."""
    monkeypatch.setattr(_client, "_MOST_BYTES", LIMIT)
    monkeypatch.setattr(_body, "_BLOCK", LIMIT // 16)
    service = client(data, encoding)
    tracemalloc.start()
    try:
        with pytest.raises(SystemFailed) as raised:
            service.post({})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert message in str(raised.value)
    assert peak < 4 * LIMIT
    service.close()


@pytest.mark.parametrize("encoding", ["", "identity", "gzip", "GZIP", "x-gzip"])
def test_packed_answers_are_read(client: Callable[[bytes, str], Client], encoding: str) -> None:
    """Packed or not, in many blocks or one, the answer is the same."""
    answer = {"hits": [{"id": f"d{i}", "score": i} for i in range(50_000)]}
    data = json.dumps(answer).encode()
    service = client(gzip.compress(data) if "gz" in encoding.lower() else data, encoding)
    assert service.post({}) == answer
    service.close()
