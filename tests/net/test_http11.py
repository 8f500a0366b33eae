"""HTTP/1.1 as karat speaks it, with h11 as the oracle of what a response is."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import h11
import httpcore2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.core import SystemFailed
from karat.net import Busy, Client, Endpoint, Unreachable
from karat.net import _http11 as http11
from karat.net._http11 import Connection

OK = b"HTTP/1.1 200 OK\r\n"


class Script:
    """A socket on which a response comes in pieces, and then the end of the connection."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces, self.sent = [piece for piece in pieces if piece], b""

    def get_extra_info(self, name: str) -> object:
        return self if name == "socket" else bool(self.pieces)

    def settimeout(self, seconds: float) -> None:
        assert seconds > 0

    def send(self, data: memoryview) -> int:
        self.sent += data
        return len(data)

    def recv(self, most: int) -> bytes:
        if not self.pieces:
            return b""
        piece = self.pieces.pop(0)
        self.pieces[:0] = [piece[most:]] if len(piece) > most else []
        return piece[:most]


FRAMING = (b"content-length", b"transfer-encoding")
"""Headers that h11 writes anew."""
Outcome = tuple[int, list[tuple[bytes, bytes]], bytes, bool] | None
"""Status, headers, body, and whether the connection can be used again; None for a response that is refused."""


def fold(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return headers with one blank for many, as there may be where a line goes on in the next."""
    return [(name, b" ".join(value.split())) for name, value in headers if name not in FRAMING]


def read(pieces: list[bytes]) -> Outcome:
    script = Script(pieces)
    connection = Connection(script, httpcore2, 9.0)
    try:
        response = connection.exchange(b"", time.monotonic() + 9)
        body = b"".join(response.body)
    except httpcore2.RemoteProtocolError:
        return None
    reusable = connection.release() and not script.pieces  # what has_expired asks the socket before the next request
    return response.status, fold(response.headers), body, reusable


def read_by_h11(data: bytes) -> Outcome:
    machine = h11.Connection(h11.CLIENT)
    machine.send(h11.Request(method="POST", target="/", headers=[("Host", "a"), ("Content-Length", "0")]))
    machine.send(h11.EndOfMessage())
    machine.receive_data(data)
    body, head, ended = b"", None, False
    try:
        while True:
            event = machine.next_event()
            if isinstance(event, h11.Response):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                break
            elif event is h11.NEED_DATA and not ended:
                machine.receive_data(b"")
                ended = True
            elif event is h11.NEED_DATA or event is h11.PAUSED:
                return None
    except h11.RemoteProtocolError:
        return None
    assert head is not None
    reusable = machine.their_state is h11.DONE and not machine.trailing_data[0] and not ended
    return head.status_code, fold(head.headers), body, reusable


WHOLE = [
    OK + b"Content-Length: 2\r\n\r\n{}",
    OK + b"content-length:2\r\nX-A: 1\r\nX-A:  2 \r\n\r\n{}",
    OK + b"Content-Length: 2, 2\r\n\r\n{}",
    OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    OK + b"Content-Length: 2\r\nConnection: Close\r\n\r\n{}",
    OK + b"Content-Length: 2\r\n\r\n{}more",
    OK + b"\r\nuntil the end",
    OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;a=b\r\n}\r\n0\r\n\r\n",
    OK + b"Transfer-Encoding: Chunked\r\nContent-Length: 9\r\n\r\n2\r\n{}\r\n00\r\nX: y\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + OK + b"Content-Length: 0\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
    b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}",
    b"HTTP/1.0 200 OK\nContent-Length: 2\n\n{}",
    OK + b"X-Long: a\r\n  b\r\n\tc\r\nContent-Length: 2\r\n\r\n{}",
    b"HTTP/1.1 503 \xfcberlastet\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n",
]
BROKEN = [
    b"",
    b"HTTP/1.1 200 OK\r\nContent-Le",
    b"HTTP/2 200 OK\r\n\r\n",
    b"ICY 200 OK\r\n\r\n",
    OK + b"Content-Length: 3\r\n\r\n{}",
    OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}}",
    OK + b"Content-Length:\r\n\r\n{}",
    OK + b"Content-Length: -2\r\n\r\n{}",
    OK + b"Content-Length: 0x2\r\n\r\n{}",
    OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n",
    OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
    OK + b"no colon\r\n\r\n",
    OK + b"bad name: 1\r\n\r\n",
    OK + b"A: b\0c\r\n\r\n",
    OK + b" starts with a space: 1\r\n\r\n",
]


def test_whole_and_broken_responses() -> None:
    """Each is read as h11 reads it, however it is cut into pieces."""
    for data in WHOLE:
        expected = read_by_h11(data)
        assert expected is not None
        assert read([data]) == expected, data
        assert read([data[place : place + 1] for place in range(len(data))])[:3] == expected[:3], data  # type: ignore[index]
    for data in BROKEN:
        assert read([data]) is read_by_h11(data) is None, data


@pytest.mark.slow
@settings(max_examples=300)
@given(st.sampled_from(WHOLE + BROKEN), st.data())
def test_damaged_responses(data: bytes, draw: st.DataObject) -> None:
    """What is read of a damaged response, h11 reads too, and equal: nothing is made up."""
    damaged = bytearray(data)
    for _ in range(draw.draw(st.integers(0, 3))):
        if damaged:
            damaged[draw.draw(st.integers(0, len(damaged) - 1))] = draw.draw(
                st.sampled_from(b"\r\n\0 :;,0129aZ{\x80\x7f")
            )
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(damaged)), max_size=3)))
    pieces = [bytes(damaged[a:b]) for a, b in zip([0, *cuts], [*cuts, len(damaged)], strict=True)]
    outcome = read(pieces)
    if outcome is not None and outcome[0] != 101:  # after which h11 reads nothing
        expected = read_by_h11(bytes(damaged))
        assert expected is not None
        assert outcome[:3] == expected[:3]
        assert not outcome[3] or expected[3]


def test_a_head_has_an_end() -> None:
    """A service that sends headers without end is left after a hundred kilobytes."""
    assert read([OK] + [b"A: " + b"b" * 1000 + b"\r\n"] * 200 + [b"\r\n"]) is None


def test_a_header_of_many_lines_is_read_once() -> None:
    """A line that goes on costs as much as another one: to add each to all before it took 8 s for one response."""
    counted = 0

    class Counting:
        def search(self, value: bytes) -> None:
            nonlocal counted
            counted += len(value)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(http11, "_BREAK", Counting())
        [(_, value)] = http11.parse_headers([b"A: b", *[b" c"] * 5000])
    assert value == b"b" + b" c" * 5000
    assert counted < 20_000


class Dripping(Script):
    """A socket that takes a few bytes at a time, as that of TLS may, and keeps its time limits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__([WHOLE[0]])
        self.now = 0.0
        monkeypatch.setattr(http11.time, "monotonic", lambda: self.now)

    def send(self, data: memoryview) -> int:
        self.now += 1.0
        return super().send(data[:10])


def test_a_service_that_reads_slowly_has_the_time_of_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is for the whole request, and not for each piece of it that the service takes."""
    connection = Connection(Dripping(monkeypatch), httpcore2, 9.0)
    with pytest.raises(httpcore2.ReadTimeout, match="no whole answer in 9 s"):
        connection.exchange(b"x" * 1000, 9.0)
    assert connection.exchange(b"x" * 50, 99.0).status == 200


@pytest.mark.parametrize("host", ["a" * 64 + ".example", "a..b"])
def test_the_name_of_a_host_that_is_none(host: str) -> None:
    """Python refuses to look for it with an error of its own, which is told as any other."""
    client = Client(Endpoint(url=f"http://{host}/", retries=0), "service")
    with pytest.raises(Unreachable, match="not the name of a host"):
        client.post({})
    client.close()


@contextmanager
def serve_once(answer: bytes, *, trust: ssl.SSLContext | None = None, reads: bool = True) -> Iterator[int]:
    """Answer every connection in the same way, and close it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    accepted, _ = listening.accept()
                except OSError:
                    return
                try:
                    with accepted if trust is None else trust.wrap_socket(accepted, server_side=True) as connection:
                        if reads:
                            connection.recv(1 << 16)
                        connection.sendall(answer)
                        if not reads:  # a reset would take back what was sent
                            connection.shutdown(socket.SHUT_WR)
                            while connection.recv(1 << 16):
                                pass
                except OSError:  # the client did not like the certificate
                    pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_an_answer_before_the_request_was_read() -> None:
    """A service that refuses a long request at once, and reads nothing of it, is still heard."""
    refusal = b'HTTP/1.1 413 Too Large\r\nContent-Length: 19\r\n\r\n{"error": "too big"}'[:-1]
    with serve_once(refusal, reads=False) as port:
        client = Client(Endpoint(url=f"http://127.0.0.1:{port}/", retries=0), "service")
        with pytest.raises(SystemFailed, match="413 Too Large"):
            client.post("x" * 5_000_000)
        client.close()


def test_a_service_that_closes_the_connection_is_asked_again() -> None:
    """Nothing came back: that may pass, as a restart does."""
    with serve_once(b"") as port:
        client = Client(Endpoint(url=f"http://127.0.0.1:{port}/", retries=1, backoff=0), "service")
        with pytest.raises(Busy, match=r"Server disconnected without sending a response.*asked 2 times"):
            client.post({})
        client.close()


def test_a_connection_with_bytes_that_nobody_asked_for_is_left() -> None:
    """They would be taken for the answer to the next request."""
    connection = Connection(Script([WHOLE[0], b"HTTP/1.1 200 OK"]), httpcore2, 9.0)
    assert b"".join(connection.exchange(b"", time.monotonic() + 9).body) == b"{}"
    assert connection.has_expired()


def test_an_idle_connection_is_left_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands between may have forgotten it, and then no answer would come."""
    connection = Connection(Script([WHOLE[0]]), httpcore2, 9.0)
    b"".join(connection.exchange(b"", time.monotonic() + 9).body)
    assert connection.release()
    assert not connection.has_expired()
    monkeypatch.setattr(http11, "_IDLE", 0.0)
    assert connection.has_expired()


def test_https(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate that is trusted is accepted, for its own host only, and any other refused."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=karat", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trust.load_cert_chain(certificate, key)
    with serve_once(WHOLE[0], trust=trust) as port:
        stranger = Client(Endpoint(url=f"https://127.0.0.1:{port}/", retries=0), "service")
        with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
            stranger.post({})
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        friend = Client(Endpoint(url=f"https://127.0.0.1:{port}/", retries=0), "service")
        assert friend.post({}) == {}
        other = Client(Endpoint(url=f"https://localhost:{port}/", retries=0), "service")
        with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
            other.post({})
        for client in (stranger, friend, other):
            client.close()
