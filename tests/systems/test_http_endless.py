"""Answers that never end, in any part of HTTP, are not waited for longer than said."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Iterator

import pytest

from karat.core import SystemFailed
from karat.net import Client, Endpoint

OK = b"HTTP/1.1 200 OK\r\n"
ENDLESS = {
    # what never ends: how the answer begins, and what follows again and again
    "headers": (OK, b"a: b\r\n"),
    "information": (b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    "the length of a chunk": (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1;"),
    "what follows a packed answer": (OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"{}"), b"x"),
    "a packed answer of nothing": (
        OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"")[:10],
        b"\0\0\0\xff\xff",
    ),
}


@pytest.fixture
def service() -> Iterator[socket.socket]:
    """A socket that listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


@pytest.mark.parametrize("what", ENDLESS)
def test_endless_answers_have_an_end(service: socket.socket, what: str) -> None:
    """The time that an answer may take is that of all its parts together, and not of each read."""
    closed = threading.Event()

    def answer() -> None:
        begin, again = ENDLESS[what]
        connection, _ = service.accept()
        with connection:
            try:
                connection.recv(10_000)
                connection.sendall(begin)
                while not closed.wait(0.01):  # much more often than the client would give up
                    connection.sendall(again)
            except OSError:  # the client has given up
                return

    thread = threading.Thread(target=answer)
    thread.start()
    client = Client(Endpoint(url=f"http://127.0.0.1:{service.getsockname()[1]}/", timeout=0.2, retries=0), "reranker")
    try:
        with pytest.raises(SystemFailed, match="ReadTimeout"):
            client.post({})
    finally:
        closed.set()
        thread.join()
        client.close()
