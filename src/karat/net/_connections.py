"""The connections of a client: each request has one for itself, and leaves it open for the next.

httpx2 knows how to find a proxy, whom to trust and what headers to send, which is asked of it once. Its way through a
request, and the pool below it, take more CPU time than a model's reply takes to read: the pool looks at every
connection for every request, and closes all but twenty that are idle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from karat.net._deadline import Deadline, limit_reads

if TYPE_CHECKING:
    from httpcore2 import ConnectionInterface, ConnectionPool

_MOST_ROUTES = 16


class _Route(NamedTuple):
    """How requests with one method go to one address."""

    url: Any
    headers: list[tuple[bytes, bytes]]
    pool: ConnectionPool
    """Makes connections, perhaps through a proxy."""


class Response:
    """The status and the headers of a response, whose body can be read once."""

    def __init__(self, response: Any) -> None:
        self.status: int = response.status
        self.reason: str = response.extensions.get("reason_phrase", b"").decode("ascii", "ignore")
        self._response = response

    def get(self, name: bytes) -> str:
        """Return a header, with commas between several of its name; empty if there is none."""
        values = [value for key, value in self._response.headers if key.lower() == name]
        return b", ".join(values).decode("latin-1")

    def iter_body(self) -> Iterator[bytes]:
        """Yield the body as it comes, perhaps packed."""
        return iter(self._response.stream)


class Connections:
    """Sends the requests of an httpx2 client, from any number of threads."""

    def __init__(self, client: Any, timeout: float) -> None:
        import httpcore2  # httpx2 is made of it, and brings it along

        self.failures: tuple[type[Exception], ...] = (
            httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.ProxyError,
            httpcore2.UnsupportedProtocol,
        )  # fmt: skip
        """What a request can end with, beside an address that is none."""
        self.unreachable: type[Exception] = httpcore2.ConnectError
        self._httpcore, self._client, self._timeout = httpcore2, client, timeout
        self._deadline = Deadline(httpcore2.ReadTimeout)
        limit_reads(client, self._deadline)
        self._limits = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), timeout)}
        self._routes: dict[tuple[str, str], _Route] = {}
        self._idle: deque[ConnectionInterface] = deque()

    def send(self, method: str, url: str, body: bytes, read: Any) -> Any:
        """Send a request, and return what a function makes of the response, which is closed then."""
        self._deadline.start(self._timeout)
        route = self._routes.get((method, url)) or self._find_route(method, url)
        length = [(b"Content-Length", b"%d" % len(body))] if body or method != "GET" else []
        request = self._httpcore.Request(
            method, route.url, headers=[*route.headers, *length], content=body, extensions=self._limits
        )
        connection = self._take(route)
        try:
            response = connection.handle_request(request)
            try:
                return read(Response(response))
            finally:
                response.close()
        finally:
            if connection.is_idle() and not connection.is_closed():
                self._idle.append(connection)
            else:
                connection.close()

    def _take(self, route: _Route) -> ConnectionInterface:
        """Return a connection that nobody uses: the last one that was, or a new one if the service has closed it."""
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return route.pool.create_connection(route.url.origin)
            if not connection.has_expired():
                return connection
            connection.close()

    def _find_route(self, method: str, url: str) -> _Route:
        """Return how to send requests to an address, all of which belong to one service; it is kept for the next."""
        request = self._client.build_request(method, url)
        if request.url.username or request.url.password:
            import httpx2

            login = httpx2.BasicAuth(request.url.username, request.url.password)
            request = next(login.auth_flow(request))
        parts = request.url
        route = _Route(
            url=self._httpcore.URL(
                scheme=parts.raw_scheme, host=parts.raw_host, port=parts.port, target=parts.raw_path
            ),
            headers=[(name, value) for name, value in request.headers.raw if name.lower() != b"content-length"],
            pool=self._client._transport_for_url(parts)._pool,
        )
        if len(self._routes) >= _MOST_ROUTES:  # an address for each document, as some stores have
            self._routes.clear()
        self._routes[method, url] = route
        return route

    def close(self) -> None:
        """Close all connections that nobody uses."""
        while self._idle:
            self._idle.pop().close()
