"""The ASGI middleware, under an application of a few lines."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from each import each
from karat import online
from karat.core import UsageError
from karat.online import LogMiddleware, ingest, read_log


def request(app: Any, path: str, query: str = "", *, method: str = "GET", **headers: str) -> list[Mapping[str, Any]]:
    """Send one request to an application; return what it sends back."""
    sent: list[Mapping[str, Any]] = []

    async def receive() -> Mapping[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: Mapping[str, Any]) -> None:
        sent.append(message)

    pairs = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": pairs}
    asyncio.run(app(scope, receive, send))
    return sent


def test_searches_are_logged_with_their_session(tmp_path: Path) -> None:
    """The path and the parameter say what a search is; cookie or header say whose; a failure is a failure."""
    log = online.open(tmp_path / "karat.db", keep_ids=True)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        text = scope["query_string"].decode()
        if "boom" in text:
            raise ValueError("boom")
        if search := scope.get("karat.query"):
            search.results(["a", "b"])
        else:
            log.feedback("read_after_search", document="a")
        await send({"type": "http.response.start", "status": 503 if "busy" in text else 200})

    wrapped = LogMiddleware(app, log, user_header="X-User", tool="site")
    assert request(wrapped, "/search", "q=wifi+password", cookie="a=1; session=s1", x_user="ann")[0]["status"] == 200
    request(wrapped, "/search", "q=busy", x_session_id="s2")
    with pytest.raises(ValueError, match="boom"):
        request(wrapped, "/search", "q=boom")
    request(wrapped, "/search")
    request(wrapped, "/other", "q=no", cookie="session=s1; \xff=;;")
    request(wrapped, "/open", cookie="session=s1")
    log.close()
    ingest(tmp_path / "karat.db")
    with read_log(tmp_path / "karat.db") as reader:
        queries = [(query.text, query.session, query.user, query.count, query.error) for query in reader.queries()]
        events = [event.session for event in reader.events()]
        assert {query.tool for query in reader.queries()} == {"site"}
    assert queries == [
        ("wifi password", "s1", "ann", 2, ""),
        ("busy", "s2", "", 2, "HTTP 503"),
        ("boom", "", "", None, "ValueError: boom"),
    ]
    assert events == ["s1", "s1"]


@pytest.mark.parametrize("query", ["", "q=", "query=cat", "q=cat"])
def test_a_handler_finds_a_query_in_every_request_of_the_path(tmp_path: Path, query: str) -> None:
    """A request without one is not logged, and the handler needs no look at what it is."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope["karat.query"].results(["a"])
        await send({"type": "http.response.start", "status": 200})

    path = tmp_path / "karat.db"
    with online.open(path) as log:
        assert request(LogMiddleware(app, log), "/search", query)[0]["status"] == 200
    assert ingest(path).records == (query == "q=cat")


def test_what_is_no_request_is_passed_on(tmp_path: Path) -> None:
    """Servers also speak of their start and end, and of sockets."""
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append((scope, receive, send))

    scope = {"type": "lifespan"}
    asyncio.run(LogMiddleware(app, online.open(tmp_path / "karat.db"))(scope, print, repr))  # type: ignore[arg-type]
    assert seen == [(scope, print, repr)]


def test_a_slash_at_the_end_is_the_same_path(tmp_path: Path) -> None:
    """A search is logged once, also where the framework redirects it to the other form."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 307 if scope["path"] == "/search" else 200})

    path = tmp_path / "karat.db"
    log = online.open(path)
    wrapped = LogMiddleware(app, log, path="/search")
    for place in ("/search", "/search/", "/searches", "/"):
        request(wrapped, place, f"q={place[1:]}")
    log.close()
    ingest(path)
    with read_log(path) as reader:
        assert [query.text for query in reader.queries()] == ["search/"]


@each(
    ("header", "session"),
    [
        ("session=abc", "abc"),
        ('prefs={"wide": 1}; session=abc', "abc"),
        ("a[b]=1; session=abc", "abc"),
        ("flag; session=abc", "abc"),
        ("path=/; session=abc", "abc"),
        ("expires=Thu, 01 Jan 2026 00:00:00 GMT; session=abc", "abc"),
        ("\xfc=1; session=abc", "abc"),
        ('session="a b\\054c"', "a b,c"),
        ('session="half', '"half'),
        ("session=old; session=new", "new"),
        ("Session=abc", ""),
        ("session", ""),
        ("a=session; b=c", ""),
    ],
)
def test_a_session_is_found_among_cookies_of_any_program(tmp_path: Path, header: str, session: str) -> None:
    """Python's own reader gives up at the first cookie that it does not like, and the session after it was lost."""
    log = online.open(tmp_path / f"{uuid4().hex}.db", keep_ids=True)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope["karat.query"].results(["a"])

    request(LogMiddleware(app, log), "/search", "q=wifi", cookie=header)
    log.close()
    ingest(log.path)
    with read_log(log.path) as reader:
        assert [query.session for query in reader.queries()] == [session]


def test_what_asks_for_leave_is_no_search(tmp_path: Path) -> None:
    """Before a request from another site with a session in a header, a browser sends OPTIONS with the same query."""
    log = online.open(tmp_path / "karat.db", keep_ids=True)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope["karat.query"].results(["a"])
        await send({"type": "http.response.start", "status": 200})

    wrapped = LogMiddleware(app, log)
    for method in ("OPTIONS", "GET", "HEAD", "POST"):
        request(wrapped, "/search", f"q={method}", method=method, x_session_id="s")
    log.close()
    ingest(tmp_path / "karat.db")
    with read_log(tmp_path / "karat.db") as reader:
        assert [query.text for query in reader.queries()] == ["GET", "POST"]


def test_names_are_texts(tmp_path: Path) -> None:
    """Anything else would log nothing, and is refused where a developer sees it."""
    with online.open(tmp_path / "karat.db") as log:
        for name in ("path", "parameter", "session_cookie", "session_header", "user_header"):
            with pytest.raises(UsageError, match=f"{name}=None is not a text"):
                LogMiddleware(lambda *_: None, log, **{name: None})  # type: ignore[arg-type, return-value]
