"""HTTP/1.1 over a socket: a request is sent in one piece, and the response read as it comes (RFC 9112).

httpcore2 does the same with h11, a protocol machine in Python that takes five times as much CPU time for a response as
the rest of a call. Nothing that is not needed for JSON over POST is here: no upgrades, no trailers, no HEAD.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

_BLOCK = 1 << 16
_LONGEST = 100 * 1024
"""Bytes of the head of a response, and of the lines around a chunk; httpcore2 has the same limit."""
_CHUNK_END = re.compile(rb"\r\n")
_LINE_END = re.compile(rb"\r?\n")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: ([^\x00-\x08\x0a-\x1f\x7f]*))?")
_NAME = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_BREAK = re.compile(rb"[\x00\x0a-\x0d]")
_LENGTH = re.compile(rb"[0-9]{1,20}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})(?:;[^\x00-\x08\x0a-\x1f\x7f]*)?[ \t]*")
_WITHOUT_BODY = (101, 204, 304)
_IDLE = 5.0
"""Seconds after which a connection is not used again: what is between it and the service may have forgotten it."""
_UNCHANGED = 0.01
"""The share of a time limit by which a socket's may be off: to set it anew takes a system call."""


Headers = list[tuple[bytes, bytes]]
"""Names, in small letters, and values."""


class Head(NamedTuple):
    """The status line and the headers of a response; ``minor`` is 0 for HTTP/1.0 and 1 for HTTP/1.1."""

    status: int
    reason: bytes
    minor: int
    headers: Headers


class Response(NamedTuple):
    """A response, whose body can be read once."""

    status: int
    reason: bytes
    headers: Headers
    body: Iterator[bytes]
    """The body as it comes, perhaps packed."""

    def get(self, name: bytes) -> str:
        """Return a header, with commas between several of its name; empty if there is none."""
        return join_values(self.headers, name).decode("latin-1")


def join_values(headers: Headers, name: bytes) -> bytes:
    """Return what headers of a name hold, with commas between several."""
    return b", ".join([value for key, value in headers if key == name])


def format_head(method: str, target: bytes, headers: Headers) -> bytes:
    """Return the first line of a request and its headers, which have come through httpx2: no value has a line break."""
    lines = [b"%s %s HTTP/1.1" % (method.encode(), target), *(b"%s: %s" % header for header in headers), b""]
    return b"\r\n".join(lines)


class BadResponse(Exception):
    """A response that is not HTTP/1.1."""


def parse_head(data: bytes) -> Head:
    r"""Return the head of a response, without the empty line at its end.

    >>> parse_head(b"HTTP/1.1 200 OK\r\nContent-Length: 2").headers
    [(b'content-length', b'2')]
    """
    first, *lines = data.replace(b"\r\n", b"\n").split(b"\n")
    match = _STATUS.fullmatch(first)
    if match is None:
        raise BadResponse(f"illegal status line: {first[:80]!r}")
    return Head(int(match[2]), match[3] or b"", int(match[1]), parse_headers(lines))


def parse_headers(lines: Iterable[bytes]) -> Headers:
    """Return the headers in lines. One that begins with a blank goes on with the header before."""
    pieces: list[tuple[bytes, list[bytes]]] = []
    for line in lines:
        if line[:1] in (b" ", b"\t") and pieces:  # the header before goes on
            name, value = pieces[-1][0], line
        else:
            name, colon, value = line.partition(b":")
            if not colon or _NAME.fullmatch(name) is None:
                raise BadResponse(f"illegal header line: {line[:80]!r}")
            pieces.append((name.lower(), []))
        if _BREAK.search(value):
            raise BadResponse(f"illegal header value of {name[:80]!r}")
        pieces[-1][1].append(value.strip(b" \t"))
    return [(name, b" ".join(values).strip(b" \t")) for name, values in pieces]


def find_length(head: Head) -> int | None:
    """Return how many bytes the body has: -1 if it comes in chunks, None if it ends with the connection."""
    values = [value for name, value in head.headers if name == b"content-length"]
    lengths = {part.strip() for value in values for part in value.split(b",")}
    if len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
        raise BadResponse("bad Content-Length")
    encodings = [value.lower() for name, value in head.headers if name == b"transfer-encoding"]
    if encodings not in ([], [b"chunked"]):
        raise BadResponse(f"only chunked is known as Transfer-Encoding, not {encodings!r:.80}")
    if head.status in _WITHOUT_BODY:
        return 0
    if encodings:
        return -1
    return int(lengths.pop()) if lengths else None


class Connection:
    """A connection to a service, for one request at a time.

    ``errors`` are httpcore2's, so that a connection through a proxy, which is its own, fails in the same way, and
    ``seconds`` is the time that a request may take.
    """

    def __init__(self, stream: Any, errors: Any, seconds: float) -> None:
        self._stream, self._errors, self._seconds = stream, errors, seconds
        self._socket = stream.get_extra_info("socket")
        self._data = bytearray()
        self._end = self._used = 0.0
        self._limit = -1.0  # the time limit that the socket has
        self._is_whole = False

    def exchange(self, request: bytes, end: float) -> Response:
        """Send a request, and return the response, of which nothing is read after a time."""
        self._is_whole, self._end = False, end
        head = self._read_final_head(self._send(request))
        return Response(head.status, head.reason, head.headers, self._read_body(head))

    def release(self) -> bool:
        """Return whether another request may follow: the response was read to its end, and the service allows it."""
        return self._is_whole

    def has_expired(self) -> bool:
        """Return whether the connection was idle for long, or closed by the service, or has bytes nobody asked for."""
        return time.monotonic() - self._used > _IDLE or bool(self._stream.get_extra_info("is_readable"))

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def _set_limit(self) -> None:
        remaining = self._end - time.monotonic()
        if remaining <= 0:
            raise self._errors.ReadTimeout(f"no whole answer in {self._seconds:g} s")
        if not 0 <= self._limit - remaining <= _UNCHANGED * self._seconds:
            self._limit = remaining
            self._socket.settimeout(remaining)

    def _receive(self) -> bool:
        """Read what has come, and return whether the connection is still open."""
        self._set_limit()
        try:
            block = self._socket.recv(_BLOCK)
        except TimeoutError as error:
            raise self._errors.ReadTimeout(str(error)) from None
        except OSError as error:
            raise self._errors.ReadError(str(error)) from None
        self._data += block
        return bool(block)

    def _read_until(self, mark: re.Pattern[bytes]) -> bytes:
        """Return what stands before a mark, and remove both from what has come."""
        start = 0
        while (match := mark.search(self._data, start)) is None:
            start = max(0, len(self._data) - 3)  # a part of the mark may be there
            if len(self._data) > _LONGEST:
                raise self._errors.RemoteProtocolError(f"a head or a line of more than {_LONGEST:,} bytes")
            if not self._receive():
                begun = "a whole" if self._data else "a"
                raise self._errors.RemoteProtocolError(f"Server disconnected without sending {begun} response.")
        head = bytes(self._data[: match.start()])
        del self._data[: match.end()]
        return head

    def _send(self, request: bytes) -> OSError | None:
        """Send a request. A service may answer before it has read all, and close the connection: that is returned."""
        unsent = memoryview(request)
        try:
            while unsent:  # sendall() of a TLS socket has the time limit for each piece
                self._set_limit()
                unsent = unsent[self._socket.send(unsent) :]
        except TimeoutError as error:
            raise self._errors.WriteTimeout(str(error)) from None
        except OSError as error:
            return error
        return None

    def _read_final_head(self, failure: OSError | None) -> Head:
        """Return the head of the response, after any that only say that it will come."""
        try:
            while True:
                head = parse_head(self._read_until(_HEAD_END))
                if head.status >= 200 or head.status == 101:
                    return head
        except BadResponse as error:
            raise self._errors.RemoteProtocolError(str(error)) from None
        except (self._errors.NetworkError, self._errors.RemoteProtocolError):
            if failure is None:
                raise
            raise self._errors.WriteError(str(failure)) from None

    def _read_body(self, head: Head) -> Iterator[bytes]:
        try:
            length = find_length(head)
            if length is None:
                yield from self._read_rest()
                return
            yield from self._read_chunks() if length < 0 else self._read_exactly(length)
        except BadResponse as error:
            raise self._errors.RemoteProtocolError(str(error)) from None
        self._used = time.monotonic()
        closes = b"close" in join_values(head.headers, b"connection").lower()
        self._is_whole = head.minor == 1 and head.status != 101 and not closes and not self._data

    def _take(self, most: int) -> bytes:
        """Return at most so many bytes of what has come, and remove them from it."""
        block = bytes(self._data[:most])
        del self._data[:most]
        return block

    def _read_exactly(self, length: int) -> Iterator[bytes]:
        left = length
        while left:
            if not self._data and not self._receive():
                got = f"received {length - left} bytes, expected {length}"
                raise BadResponse(f"peer closed connection without sending complete message body ({got})")
            block = self._take(left)
            left -= len(block)
            yield block

    def _read_rest(self) -> Iterator[bytes]:
        while self._data or self._receive():
            yield self._take(len(self._data))

    def _read_chunks(self) -> Iterator[bytes]:
        while True:
            line = self._read_until(_CHUNK_END)
            match = _CHUNK.fullmatch(line)
            if match is None:
                raise BadResponse(f"illegal chunk header: {line[:80]!r}")
            length = int(match[1], 16)
            if length == 0:
                break
            yield from self._read_exactly(length)
            if self._read_until(_CHUNK_END):
                raise BadResponse("a chunk that is longer than it says")
        size, trailers = 0, []
        while line := self._read_until(_LINE_END):
            trailers.append(line)
            if (size := size + len(line)) > _LONGEST:
                raise BadResponse(f"trailers of more than {_LONGEST:,} bytes")
        parse_headers(trailers)  # nobody needs them, but they have to be some
