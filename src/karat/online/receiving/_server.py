"""The HTTP server of a receiver: the standard library's, with bounds on all that a sender may ask for."""

from __future__ import annotations

import logging
import math
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from karat.core import UsageError
from karat.online.receiving._otlp_http import (
    JSON,
    LARGEST_BODY,
    PATHS,
    PROTOBUF,
    BadRequest,
    Response,
    answer_export,
    make_refusal,
    too_large,
)
from karat.online.receiving._receiver import Receiver

_logger = logging.getLogger("karat.online")
_LOCAL = ("localhost", "127.0.0.1", "::1")
_IDLE = 30.0  # seconds without a byte
_HEAD = 45.0  # seconds for a whole head, and for the time before it
_BODY = 60.0  # seconds for a whole body
_LINGER = 2.0  # seconds for what comes after a refusal
_CONNECTIONS = 64
_BYTES = 64 << 20  # of bodies that are read at the same time
_PIECE = 1 << 16
_LINE = 1 << 10  # the longest line between chunks
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Server(ThreadingHTTPServer):
    """An endpoint for OTLP over HTTP; :meth:`close` ends it when what is being answered is answered."""

    daemon_threads = False
    request_queue_size = 128

    receiver: Receiver

    def __init__(self, host: str, port: int, names: tuple[str, ...] = ()) -> None:
        self.names = frozenset(name.lower() for name in (*_LOCAL, host, *names))
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._slots = threading.BoundedSemaphore(_CONNECTIONS)
        self._room, self._lock = _BYTES, threading.Lock()
        self._open: dict[socket.socket, float] = {}
        """When each connection has to have sent what it is expected to send."""
        self.turn = threading.Lock()
        """One body at a time is unpacked and decoded, which may take many times its length of memory."""
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(
                f"cannot listen on {host}, port {port}: {reason}; choose others by --host and --port"
            ) from None
        self._thread = threading.Thread(target=self.serve_forever, args=(0.1,), name="karat-receive")

    @property
    def url(self) -> str:
        """The base address, as senders need it."""
        host, port = self.server_address[:2]
        return f"http://[{host!s}]:{port}" if ":" in str(host) else f"http://{host!s}:{port}"

    def start(self, receiver: Receiver) -> None:
        """Answer requests in threads of their own, and give a receiver what they bring."""
        self.receiver = receiver
        self._thread.start()

    def close(self) -> None:
        """Take no more requests, and wait for those that are being answered."""
        self.shutdown()
        self._thread.join()
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RD)  # whoever waits for a request gets none
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection, if there are not too many."""
        if not self._slots.acquire(blocking=False):
            self.receiver.count("refused.connections")
            with suppress(OSError):
                request.sendall(_BUSY)
            self.shutdown_request(request)
            return
        self.expect(request, _HEAD)
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer the requests of a connection, one after the other."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._open.pop(request, None)
            self._slots.release()

    def expect(self, connection: socket.socket, seconds: float) -> None:
        """Set within how many seconds a connection has to have sent what comes next."""
        with self._lock:
            self._open[connection] = time.monotonic() + seconds

    def service_actions(self) -> None:
        """Cut off who sends a byte now and then, so as to hold a connection for ever."""
        with self._lock:
            now = time.monotonic()
            late = [connection for connection, deadline in self._open.items() if deadline < now]
            for connection in late:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RD)

    def handle_error(self, *_: Any) -> None:
        """Ignore a sender that went away; anything else is a mistake of ours."""
        import sys

        if not isinstance(sys.exception(), OSError):
            _logger.exception("a request could not be answered")

    @contextmanager
    def reserve(self, size: int) -> Iterator[None]:
        """Reserve memory for a body, or refuse it."""
        with self._lock:
            if size > self._room:
                raise BadRequest(429, "overloaded", "too much is being read at the same time", {"Retry-After": "1"})
            self._room -= size
        try:
            yield
        finally:
            with self._lock:
                self._room += size


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "karat", ""
    timeout = _IDLE
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body in one packet: in two, a sender would wait 40 milliseconds for the second
    server: Server

    def log_message(self, format: str, *arguments: Any) -> None:
        """Print nothing: what is refused is counted."""

    def handle_one_request(self) -> None:
        """Answer a request, whose head has to come in time."""
        self.server.expect(self.connection, _HEAD)
        super().handle_one_request()

    def do_POST(self) -> None:
        """Take spans, log records or metrics."""
        kind = JSON if self.headers.get("Content-Type", "").strip().lower().startswith(JSON) else PROTOBUF
        try:
            response = self._take()
        except BadRequest as refusal:
            self.server.receiver.count(f"refused.{refusal.reason}")
            self.close_connection = True  # its body may not be read
            response = make_refusal(refusal, kind)
        except Exception:
            _logger.exception("a request could not be taken")
            self.close_connection = True
            response = make_refusal(BadRequest(500, "", "a mistake of karat's; see its log"), kind)
        self._send(response)
        if self.close_connection:
            self._discard()

    def _discard(self) -> None:
        """Read what is still to come, within limits: a sender that is cut off in the middle never reads the answer."""
        deadline, room = time.monotonic() + _LINGER, 4 * LARGEST_BODY
        with suppress(OSError):
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(_LINGER)
            while room > 0 and time.monotonic() < deadline and (part := self.rfile.read1(_PIECE)):
                room -= len(part)

    def _take(self) -> Response:
        path = self._check()
        if path not in PATHS:
            raise BadRequest(404, "path", f"there is {', '.join(sorted(PATHS))}")
        headers = {name.lower(): value for name, value in self.headers.items()}
        with self.server.reserve(self._find_length() or LARGEST_BODY):
            body = self._read_body()
            with self.server.turn:
                return answer_export(self.server.receiver, path, headers, body)

    def _check(self) -> str:
        """Return the path of a request, or refuse one that a page of the web made this machine's browser send."""
        address = self.headers.get("Host", "").strip().lower()
        host = address[1:].partition("]")[0] if address.startswith("[") else address.partition(":")[0]
        if host not in self.server.names:
            raise BadRequest(403, "host", "the host of the request is not this one; see --allow-host")
        return self.path.partition("?")[0].rstrip("/")

    def _find_length(self) -> int | None:
        """Return the length of the body, or None if it comes in chunks."""
        coding, length = self._find_header("Transfer-Encoding"), self._find_header("Content-Length")
        if coding is not None:
            if coding.strip().lower() != "chunked" or length is not None:
                raise BadRequest(400, "malformed", "send a Content-Length, or chunks")
            return None
        if length is None:
            raise BadRequest(411, "length", "send a Content-Length")
        if not (length.isascii() and length.isdecimal()):
            raise BadRequest(400, "malformed", "Content-Length is not a number")
        if len(length) > 12 or int(length) > LARGEST_BODY:
            raise too_large()
        return int(length)

    def _find_header(self, name: str) -> str | None:
        """Return a header that says how long the body is: of two, somebody before us may have believed the other."""
        values = self.headers.get_all(name, [])
        if len(values) > 1:
            raise BadRequest(400, "malformed", f"{name} is there twice")
        return values[0] if values else None

    def _read_body(self) -> bytes:
        length = self._find_length()
        self.server.expect(self.connection, _BODY)
        self._deadline = time.monotonic() + _BODY
        body = bytearray()  # one: a list of many small parts takes twenty times as much
        if length is None:
            self._read_chunks(body)
        else:
            self._read_into(body, length)
        self.server.expect(self.connection, math.inf)
        return bytes(body)

    def _read_chunks(self, body: bytearray) -> None:
        while size := self._read_size():
            if len(body) + size > LARGEST_BODY:
                raise too_large()
            self._read_into(body, size)
            self._read_into(end := bytearray(), 2)
            if end != b"\r\n":
                raise BadRequest(400, "malformed", "a chunk is longer than it says")
        while self._read_line():  # trailers
            pass

    def _read_size(self) -> int:
        text = self._read_line().partition(b";")[0].strip()
        try:
            if not 0 < len(text) <= 8 or not text.isalnum() or b"x" in text.lower():
                raise ValueError
            return int(text, 16)
        except ValueError:
            raise BadRequest(400, "malformed", "the size of a chunk is not a number") from None

    def _read_line(self) -> bytes:
        line = self.rfile.readline(_LINE)
        if not line.endswith(b"\n") or time.monotonic() > self._deadline:
            raise BadRequest(400, "malformed", "a chunk is cut off, or takes too long")
        return line.rstrip(b"\r\n")

    def _read_into(self, body: bytearray, size: int) -> None:
        while size:
            part = self.rfile.read1(min(size, _PIECE)) if time.monotonic() < self._deadline else b""
            if not part:
                raise BadRequest(400, "malformed", "the body is cut off, or takes too long")
            body += part
            size -= len(part)

    def _refuse_method(self) -> None:
        self.close_connection = True
        try:
            known = self._check() in PATHS
            refusal = (
                BadRequest(405, "method", "send POST", {"Allow": "POST"}) if known else BadRequest(404, "path", "")
            )
        except BadRequest as other:
            refusal = other
        self.server.receiver.count(f"refused.{refusal.reason}")
        self._send(make_refusal(refusal, JSON))

    do_GET = do_HEAD = do_PUT = do_DELETE = do_OPTIONS = do_PATCH = _refuse_method  # noqa: N815 (http.server's)

    def _send(self, response: Response) -> None:
        self.send_response(response.status)
        self.send_header("Content-Type", response.type)
        self.send_header("Content-Length", str(len(response.body)))
        for name, value in response.headers.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(response.body)
