"""The connections of a client: each request has one for itself, and leaves it open for the next.

httpx2 knows how to find a proxy, whom to trust and what headers to send, which is asked of it once. Its way through a
request, and that of httpcore2 below it, take more CPU time than all that karat does for a model's reply. Only
connections through a proxy are httpcore2's.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from karat.net._deadline import Deadline, limit_reads
from karat.net._http11 import Connection, Response, format_head

if TYPE_CHECKING:
    from ssl import SSLContext

    from httpcore2 import ConnectionInterface, ConnectionPool

_MOST_ROUTES = 16


class _Route(NamedTuple):
    """How requests with one method go to one address."""

    method: str
    url: Any
    headers: list[tuple[bytes, bytes]]
    head: bytes
    """The first line of a request and its headers, up to the length of the body."""
    pool: ConnectionPool | None
    """Makes connections through a proxy; None if there is none."""


class _Proxied:
    """A connection through a proxy."""

    def __init__(self, connection: ConnectionInterface) -> None:
        self._connection, self._response = connection, None
        self.has_expired, self.close = connection.has_expired, connection.close

    def exchange(self, request: Any) -> Response:
        """Send a request of httpcore2, and return the response."""
        response: Any = self._connection.handle_request(request)
        self._response = response
        headers = [(name.lower(), value) for name, value in response.headers]
        reason = response.extensions.get("reason_phrase", b"")
        return Response(response.status, reason, headers, iter(response.stream))

    def release(self) -> bool:
        """Close the response, and return whether another request may follow."""
        if self._response is not None:
            self._response.close()
            self._response = None
        return self._connection.is_idle() and not self._connection.is_closed()


class Connections:
    """Sends the requests of an httpx2 client, from any number of threads."""

    def __init__(self, client: Any, timeout: float, trust: SSLContext) -> None:
        import httpcore2  # httpx2 is made of it, and brings it along

        self.failures: tuple[type[Exception], ...] = (
            httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.ProxyError,
            httpcore2.UnsupportedProtocol,
        )  # fmt: skip
        """What a request can end with, beside an address that is none."""
        self.unreachable: type[Exception] = httpcore2.ConnectError
        self._httpcore, self._client, self._timeout, self._trust = httpcore2, client, timeout, trust
        self._backend = httpcore2.SyncBackend()
        self._deadline = Deadline(httpcore2.ReadTimeout)
        limit_reads(client, self._deadline)
        self._limits = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), timeout)}
        self._routes: dict[tuple[str, str], _Route] = {}
        self._idle: deque[Connection | _Proxied] = deque()

    def send(self, method: str, url: str, body: bytes, read: Callable[[Response], Any]) -> Any:
        """Send a request, and return what a function makes of the response, which is closed then."""
        end = time.monotonic() + self._timeout
        route = self._routes.get((method, url)) or self._find_route(method, url)
        connection = self._take(route, end)
        try:
            return read(self._exchange(connection, route, body, end))
        finally:
            if connection.release():
                self._idle.append(connection)
            else:
                connection.close()

    def _exchange(self, connection: Connection | _Proxied, route: _Route, body: bytes, end: float) -> Response:
        has_length = body or route.method != "GET"
        if isinstance(connection, Connection):
            length = b"Content-Length: %d\r\n" % len(body) if has_length else b""
            return connection.exchange(b"%s%s\r\n%s" % (route.head, length, body), end)
        self._deadline.start(self._timeout)
        headers = [*route.headers, (b"Content-Length", b"%d" % len(body))] if has_length else route.headers
        return connection.exchange(
            self._httpcore.Request(route.method, route.url, headers=headers, content=body, extensions=self._limits)
        )

    def _take(self, route: _Route, end: float) -> Connection | _Proxied:
        """Return a connection that nobody uses: the last one that was, or a new one if the service has closed it."""
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return self._connect(route, end)
            if not connection.has_expired():
                return connection
            connection.close()

    def _connect(self, route: _Route, end: float) -> Connection | _Proxied:
        if route.pool is not None:
            return _Proxied(route.pool.create_connection(route.url.origin))
        origin = route.url.origin
        host = origin.host.decode("ascii")
        try:
            stream = self._backend.connect_tcp(host, origin.port, timeout=self._timeout, socket_options=())
        except UnicodeError as error:  # by Python's encoding of names, which knows the longest part of one
            raise self._httpcore.ConnectError(f"not the name of a host: {error}") from None
        if origin.scheme == b"https":
            self._trust.set_alpn_protocols(["http/1.1"])
            remaining = max(end - time.monotonic(), 0.001)
            stream = stream.start_tls(self._trust, server_hostname=host, timeout=remaining)
        return Connection(stream, self._httpcore, self._timeout)

    def _find_route(self, method: str, url: str) -> _Route:
        """Return how to send requests to an address, all of which belong to one service; it is kept for the next."""
        request = self._client.build_request(method, url)
        if request.url.username or request.url.password:
            import httpx2

            login = httpx2.BasicAuth(request.url.username, request.url.password)
            request = next(login.auth_flow(request))
        parts = request.url
        address = self._httpcore.URL(
            scheme=parts.raw_scheme, host=parts.raw_host, port=parts.port, target=parts.raw_path
        )
        headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"content-length"]
        transport = self._client._transport_for_url(parts)
        route = _Route(
            method=method,
            url=address,
            headers=headers,
            head=format_head(method, parts.raw_path, headers),
            pool=None if transport is self._client._transport else transport._pool,
        )
        if len(self._routes) >= _MOST_ROUTES:  # an address for each document, as some stores have
            self._routes.clear()
        self._routes[method, url] = route
        return route

    def close(self) -> None:
        """Close all connections that nobody uses."""
        while self._idle:
            self._idle.pop().close()
