"""Connections: kept open, never shared by two requests, and left when the service has closed them."""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from karat.net import Client, Endpoint

AT_ONCE = 64


class Server(ThreadingHTTPServer):
    """Counts connections and requests; with ``meet`` as many requests as that have to be there at once."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, *, meet: int = 1, once: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.meeting, self.once = threading.Barrier(meet), once
        self.lock = threading.Lock()
        self.connections = 0
        self.headers: list[dict[str, str]] = []
        self.sockets: list[socket.socket] = []

    def get_request(self) -> tuple[socket.socket, Any]:
        accepted = super().get_request()
        self.connections += 1
        self.sockets.append(accepted[0])
        return accepted

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that have gone."""


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            self.server.headers.append(dict(self.headers))
        self.server.meeting.wait(600)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        if self.server.once:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serve(**options: Any) -> Iterator[Server]:
    server = Server(**options)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def connect(server: Server, login: str = "") -> Client:
    return Client(Endpoint(url=f"http://{login}127.0.0.1:{server.server_port}/v1", retries=0), "service")


def test_as_many_connections_as_requests_at_once() -> None:
    """All of them stay open for the next requests, and each answer belongs to its own request."""
    with serve(meet=AT_ONCE) as server, ThreadPoolExecutor(AT_ONCE) as pool:
        client = connect(server)
        numbers = list(range(AT_ONCE))
        for _ in range(3):  # between two of these all connections are idle
            assert list(pool.map(client.post, numbers)) == numbers
        assert server.connections == AT_ONCE
        client.close()


@pytest.mark.parametrize("once", [True, False])
def test_a_connection_that_the_service_closed_is_not_used(once: bool) -> None:
    """Whether it says so or not; no request fails by it, and none is sent twice."""
    with serve(once=once) as server:
        client = connect(server)
        for number in range(3):
            assert client.post(number) == number
            if not once:
                server.sockets[-1].shutdown(socket.SHUT_RDWR)
        assert (server.connections, len(server.headers)) == (3, 3)
        client.close()


def test_every_request_has_its_headers_and_its_own_length() -> None:
    """Those that are the same for all are made once: the login of the address, too, which no later request loses."""
    with serve() as server:
        client = connect(server, "me:s3cret@")
        for text in ("a", "longer", ""):
            assert client.post(text) == text
        client.close()
    lengths = [headers["Content-Length"] for headers in server.headers]
    assert lengths == ["3", "8", "2"]
    login = base64.b64encode(b"me:s3cret").decode()
    for headers in server.headers:
        assert headers["Authorization"] == f"Basic {login}"
        assert headers["Content-Type"] == "application/json"
        assert headers["Host"] == f"127.0.0.1:{server.server_port}"
        assert headers["Accept-Encoding"] == "gzip"
