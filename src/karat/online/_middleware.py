"""An ASGI middleware: searches of a web application are logged, with the session of their request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from karat.core import UsageError
from karat.online._log import Log

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
_ELSEWHERE, _REFUSED, _FAILED = 300, 400, 500
_NO_SEARCH = ("OPTIONS", "HEAD")
"""What asks whether a request may come, as a browser does before one from another site, or for its headers only."""


class LogMiddleware:
    """Logs the requests of one path as queries; any ASGI application can be inside.

    The path may end with a slash or not, and a redirect is not logged. The handler finds the query in
    ``scope["karat.query"]``, and tells it what came back: ``query.results(hits)``. It is there in every request of the
    path, but is not logged if the request has no query, or is an OPTIONS or HEAD. All that the handler logs itself has
    the session and the user of the request, too.
    """

    def __init__(
        self,
        app: Application,
        log: Log,
        *,
        path: str = "/search",
        parameter: str = "q",
        session_cookie: str = "session",
        session_header: str = "x-session-id",
        user_header: str = "",
        **fields: Any,
    ) -> None:
        """Wrap an application. ``fields`` are those of ``Log.query``, such as ``tool``."""
        names = {"path": path, "parameter": parameter, "session_cookie": session_cookie}
        for name, value in (names | {"session_header": session_header, "user_header": user_header}).items():
            if not isinstance(value, str):
                raise UsageError(f"{name}={value!r} is not a text")
        self.app, self._log, self._path, self._parameter, self._fields = app, log, path, parameter, fields
        self._cookie, self._session_header, self._user_header = session_cookie, session_header, user_header

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope.get("type") != "http":
            await self.app(scope, receive, send)
            return
        try:
            session, user, text = self._read(scope)
        except Exception as error:
            self._log.warn("the request", error)
            session, user, text = None, None, ""
        with self._log.session(session, user):
            if text is None:
                await self.app(scope, receive, send)
            else:
                await self._search(text, scope, receive, send)

    async def _search(self, text: str, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._log.query(text, **self._fields) as query:
            scope["karat.query"] = query
            query.logged = query.logged and text != ""  # without a query nothing was searched

            async def watch(message: Mapping[str, Any]) -> None:
                if message.get("type") == "http.response.start":
                    status = message.get("status", 0)
                    if status >= _FAILED:
                        query.fail(f"HTTP {status}")
                    elif _ELSEWHERE <= status < _REFUSED:  # the search comes again, at another address
                        query.logged = False
                await send(message)

            await self.app(scope, receive, watch)

    def _read(self, scope: Scope) -> tuple[str | None, str | None, str | None]:
        """Return the session, the user and the query of a request: None for another path, "" if there is no query."""
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope.get("headers", ())}
        session = headers.get(self._session_header.lower()) or _read_cookie(headers.get("cookie", ""), self._cookie)
        user = headers.get(self._user_header.lower()) if self._user_header else None
        if scope.get("path", "").rstrip("/") != self._path.rstrip("/"):
            return session, user, None
        values = parse_qs(scope.get("query_string", b"").decode("utf-8", "replace")).get(self._parameter)
        return session, user, values[0] if values and scope.get("method") not in _NO_SEARCH else ""


def _read_cookie(header: str, name: str) -> str | None:
    """Return the value of a cookie, the last one of that name, whatever the others of other programs look like.

    >>> _read_cookie('prefs={"wide": 1}; session=abc', "session")
    'abc'
    """
    pairs = [part.partition("=") for part in header.split(";")]
    return next((_unquote(value.strip()) for own, _, value in reversed(pairs) if own.strip() == name), None)


def _unquote(value: str) -> str:
    if not value.startswith('"'):
        return value
    try:
        morsel = SimpleCookie(f"own={value}").get("own")
    except CookieError:
        morsel = None
    return value if morsel is None else morsel.value
