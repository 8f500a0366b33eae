"""Collectors on loopback that misbehave: they refuse, are overloaded, talk nonsense, hang, or are not there."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

WAYS = ("down", "429", "503", "garbage", "hangs", "hangs up", "never accepts")
_ANSWERS = {
    "429": b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n",
    "503": b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
    "garbage": b"\x00\xff not HTTP at all \r\n\r\n" * 100,
    "hangs up": b"",
}


@contextmanager
def misbehaving(way: str) -> Iterator[str]:
    """Run a collector that misbehaves in a way, and yield its URL."""
    left = threading.Event()
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        if way == "down":
            server.close()
            yield url
            return
        server.listen(0 if way == "never accepts" else 16)
        if way != "never accepts":
            threading.Thread(target=_serve, args=(server, way, left), daemon=True).start()
        try:
            yield url
        finally:
            left.set()
            server.close()


def _serve(server: socket.socket, way: str, left: threading.Event) -> None:
    while not left.is_set():
        try:
            connection, _ = server.accept()
        except OSError:
            return
        threading.Thread(target=_answer, args=(connection, way, left), daemon=True).start()


def _answer(connection: socket.socket, way: str, left: threading.Event) -> None:
    with connection:
        try:
            connection.recv(1 << 16)
            if way == "hangs":
                left.wait()
            connection.sendall(_ANSWERS.get(way, b""))
        except OSError:
            return
