"""The application: every page and change of the tables behind one guard, with roles checked in one place."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from anyio.to_thread import current_default_thread_limiter
from msgspec import Struct
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from karat.core import InputError, KaratError, SystemFailed
from karat.files import name_paths
from karat.index import Index, open_index
from karat.pages import SUFFIXES, NotNow, NotReady, NotThere
from karat.server._answers import answer_csv, answer_json, answer_svg, answer_text, name_status
from karat.server._asking import (
    FORM_TOKEN,
    Refused,
    convert,
    find_missing,
    find_own_path,
    link_sign_in,
    read_fields,
    read_parameters,
    wants_html,
)
from karat.server._events import Streams
from karat.server._guard import Gate, Guard, Visitor, find_visitor
from karat.server._openapi import describe_api
from karat.server._page import Action, Done, Page, Visit
from karat.server._rendering import read_static, render
from karat.server._tokens import Role, User
from karat.server._watching import Watcher

_PATIENCE = 3.0  # seconds that a program waits for what has to be computed first
_GLANCE = 0.25  # and a browser, which otherwise shows a page that says so, and then waits for the content
_LONGEST = 25.0  # that a request may ask to wait for
_THREADS = 6  # in which pages are computed: they share one lock of Python, and more would only wait for it
_YEAR = "public, max-age=31536000, immutable"
_CHART = "chart"
_WAIT = re.compile(r"\bwait=([0-9]{1,4})\b")

_HTTP_ERRORS = {404: "There is no such page.", 405: "This address does not know that method."}


class Application:
    """Answers requests to the pages and changes of a project."""

    def __init__(
        self,
        folder: Path,
        gate: Gate,
        watcher: Watcher,
        pages: Sequence[Page],
        actions: Sequence[Action] = (),
        store: str = "",
    ) -> None:
        self._folder, self._gate, self._watcher, self._store = folder, gate, watcher, store
        self._pages, self._actions = {page.name: page for page in pages}, actions
        self._streams = Streams()

    def make(self) -> ASGIApp:
        """Return the application as a server runs it."""
        routes = [
            Route("/static/{name}", self._send_static),
            Route("/events", self._send_events),
            Route("/api", self._send_api),
            Route("/sign-in", self._sign_in, methods=["GET", "POST"]),
            Route("/sign-out", self._sign_out, methods=["POST"]),
        ]
        routes += [Route(action.address, self._make_change(action), methods=["POST"]) for action in self._actions]
        for page in self._pages.values():
            routes += self._route(page)
        handlers: dict[Any, Any] = {
            HTTPException: self._answer_http_error,
            KaratError: self._answer_error,
            Exception: self._answer_bug,
        }
        app = Starlette(routes=routes, exception_handlers=handlers, lifespan=self._live)
        return Guard(app, self._gate)

    @asynccontextmanager
    async def _live(self, _: Starlette) -> AsyncIterator[None]:
        current_default_thread_limiter().total_tokens = _THREADS
        await self._watcher.start()
        yield
        await self._watcher.stop()

    def _route(self, page: Page) -> list[Route]:
        """Return the routes of a page: its address, with each suffix, and with its parameters in the query string."""
        stem = page.address if page.address != "/" else "/index"
        handler = self._make_page(page)
        routes = [Route(f"{stem}{suffix}", handler) for suffix in SUFFIXES]
        routes.append(Route(page.address, handler))
        if "/{" in page.address:
            bare = page.address[: page.address.index("/{")]
            taken = {other.address for other in self._pages.values()}
            if bare not in taken:
                routes += [Route(f"{bare}{suffix}", handler) for suffix in ("", *SUFFIXES)]
        return routes

    def _make_page(self, page: Page) -> Callable[[Request], Any]:
        async def show(request: Request) -> Response:
            visitor = self._require(request, page.role)
            suffix = next((suffix for suffix in SUFFIXES if request.url.path.endswith(suffix)), "")
            pairs = [*request.path_params.items(), *request.query_params.multi_items()]
            if page.otherwise and not suffix and wants_html(request) and find_missing(page.request, pairs):
                chosen = [(name, value) for name, value in pairs if name == "a" and value]
                return RedirectResponse(f"{page.otherwise}?{urlencode([('choose', 'on'), *chosen])}", 303)
            charts = [value for name, value in pairs if name == _CHART] if suffix == ".svg" else []
            parameters = read_parameters(
                page.request, [(name, value) for name, value in pairs if name != _CHART or not charts]
            )
            document = await self._show(page, parameters, visitor, _find_patience(request, suffix))
            if suffix == ".json":
                return answer_json(request, document)
            if suffix == ".csv":
                if page.table is None:
                    raise NotThere("this page has no rows to export")
                return answer_csv(request, page.table(document), page.name)
            if suffix == ".svg":
                return self._send_chart(request, page, document, charts)
            return self._send_html(request, page, document, parameters, visitor)

        return show

    async def _show(self, page: Page, parameters: Struct, visitor: Visitor, patience: float) -> Struct:
        """Return the document of a page; what has to be computed first is waited for, a while.

        What the document lacks yet is then computed. Programs wait for that, too, and all who look are told when it
        is there.
        """
        if page.wants is not None:
            self._watcher.want(page.wants(parameters))

        def show() -> Struct:
            assert visitor.user is not None
            with open_index(self._folder) as index:
                return page.show(self._visit(index, visitor.user), parameters)

        try:
            document = await run_in_threadpool(show)
        except NotReady as missing:
            error = await self._watcher.work(missing.job, patience)
            if error is None:
                raise
            if error:
                raise Refused(422, error) from None
            document = await run_in_threadpool(show)
        job = None if page.lacks is None else page.lacks(document)
        if job is None:
            return document
        if patience > _GLANCE and await self._watcher.work(job, patience) == "":
            return await run_in_threadpool(show)
        await self._watcher.begin(job)
        return document

    def _make_change(self, action: Action) -> Callable[[Request], Any]:
        async def change(request: Request) -> Response:
            visitor = self._require(request, action.role)
            fields, is_json = await read_fields(request)
            self._require_own_form(request, visitor, fields)
            values = {**fields, **request.path_params}
            parameters = convert(action.request, values, strict=is_json)

            def act() -> Done:
                assert visitor.user is not None
                with open_index(self._folder) as index:
                    return action.act(self._visit(index, visitor.user), parameters)

            done = await run_in_threadpool(act)
            assert visitor.user is not None
            facts = {"user": visitor.user.name, "token": visitor.user.token, "peer": visitor.peer}
            facts |= {"subject": done.subject} if done.subject else {}
            await run_in_threadpool(self._gate.audit.note, action.name, **facts)
            self._watcher.hub.tell(action.name)
            return answer_json(request, done.document) if is_json else RedirectResponse(done.address, 303)

        return change

    def _visit(self, index: Index, user: User) -> Visit:
        return Visit(folder=self._folder, index=index, user=user, store=self._store)

    def _require(self, request: Request, role: Role) -> Visitor:
        """Return who asks if they may; this is the only place where roles are looked at."""
        visitor = find_visitor(request.scope)
        if visitor.wait:
            raise Refused(429, f"too many wrong tokens; wait {visitor.wait} seconds", wait=visitor.wait)
        if visitor.user is None:
            raise Refused(401, "this needs a token" if not visitor.has_token else "the token is not good")
        if not visitor.user.may(role):
            self._gate.audit.note("refused", user=visitor.user.name, peer=visitor.peer, path=request.url.path)
            own = f"the token of {visitor.user.name} has the role {visitor.user.role}"
            raise Refused(403, f"this needs the role {role}, and {own}; an admin of the project can give another token")
        return visitor

    def _require_own_form(self, request: Request, visitor: Visitor, fields: dict[str, Any]) -> None:
        token = fields.pop(FORM_TOKEN, None) or request.headers.get("x-karat-form", "")
        if not visitor.has_token and not self._gate.sessions.is_own_form(visitor.secret, str(token)):
            assert visitor.user is not None
            self._gate.audit.note("form refused", user=visitor.user.name, peer=visitor.peer, path=request.url.path)
            raise Refused(403, "the form is not from a page of this server, or older than it; load the page again")

    def _send_html(
        self, request: Request, page: Page, document: Struct, parameters: Struct, visitor: Visitor
    ) -> Response:
        body = render(
            page.template, page=document, request=parameters, here=page, **self._describe_site(request, visitor)
        )
        return answer_text(request, body, "text/html")

    def _send_chart(self, request: Request, page: Page, document: Struct, charts: list[str]) -> Response:
        name = charts[0] if charts else next(iter(page.charts), "")
        draw = page.charts.get(name.partition(":")[0])
        if draw is None:
            raise NotThere(f"this page has no picture {name!r}; it has {', '.join(page.charts) or 'none'}")
        return answer_svg(request, draw(document, name.partition(":")[2]).export(), f"{page.name}-{name}")

    def _describe_site(self, request: Request, visitor: Visitor) -> dict[str, Any]:
        """Return what every template may use besides the document."""
        path = request.url.path
        return {
            "menu": [page for page in self._pages.values() if page.label and visitor.user is not None],
            "to": lambda name, **parameters: self._pages[name].link(**parameters),
            "has": self._pages.keys(),
            "user": visitor.user,
            "can_sign_out": bool(visitor.secret),
            "csrf": self._gate.sessions.sign_forms(visitor.secret),
            "path": path,
            "query": request.url.query,
            "project": self._folder.name,
        }

    async def _send_static(self, request: Request) -> Response:
        asset = read_static().get(request.path_params["name"])
        if asset is None:
            raise NotThere("there is no such file")
        return Response(asset[0], media_type=asset[1], headers={"cache-control": _YEAR})

    async def _send_events(self, request: Request) -> Response:
        visitor = self._require(request, "viewer")
        assert visitor.user is not None

        async def stream() -> AsyncIterator[bytes]:
            yield b"retry: 3000\n\n"
            async for event in self._watcher.hub.listen():
                if not self._gate.may_stay(visitor):
                    return
                kind = "progress" if event.startswith("{") else "change"
                yield f"event: {kind}\ndata: {event}\n\n".encode() if event else b": still here\n\n"

        return self._streams.open(visitor.user.token, stream())

    async def _send_api(self, request: Request) -> Response:
        self._require(request, "viewer")
        return answer_json(request, describe_api(list(self._pages.values()), self._actions))

    async def _sign_in(self, request: Request) -> Response:
        visitor = find_visitor(request.scope)
        if request.method != "POST":
            goes_on = find_own_path(request.query_params.get("next", ""))
            if visitor.user is not None:
                return RedirectResponse(goes_on, 303)
            return self._send_message(request, "sign-in.html", 200, "", goes_on=goes_on)
        fields, _ = await read_fields(request)
        user = self._gate.tokens.find(str(fields.get("token", "")))
        goes_on = find_own_path(str(fields.get("next", "")))
        if user is None:
            return self._refuse_sign_in(request, visitor.peer, goes_on)
        self._gate.audit.note("signed in", user=user.name, token=user.token, peer=visitor.peer)
        self._gate.sessions.end(visitor.secret)  # of whoever was signed in here before
        response = RedirectResponse(goes_on, 303)
        response.headers["set-cookie"] = self._gate.make_cookie(self._gate.sessions.begin(user))
        return response

    def _refuse_sign_in(self, request: Request, peer: str, goes_on: str) -> Response:
        """Answer a wrong token; nothing is awaited between the look at the limit and the count."""
        wait = self._gate.attempts.seconds_to_wait(peer)
        if wait:
            self._gate.audit.note_stranger("sign-in too often", peer=peer)
            said = f"Too many tries. Wait {wait} seconds."
            response = self._send_message(request, "sign-in.html", 429, said, goes_on=goes_on)
            response.headers["retry-after"] = str(wait)
            return response
        self._gate.attempts.note(peer)
        self._gate.audit.note("sign-in refused", peer=peer)
        said = "That token is not good, or no longer."
        return self._send_message(request, "sign-in.html", 401, said, goes_on=goes_on)

    async def _sign_out(self, request: Request) -> Response:
        visitor = self._require(request, "viewer")
        fields, _ = await read_fields(request)
        self._require_own_form(request, visitor, fields)
        self._gate.sessions.end(visitor.secret)
        assert visitor.user is not None
        self._gate.audit.note("signed out", user=visitor.user.name, token=visitor.user.token, peer=visitor.peer)
        response = RedirectResponse("/sign-in", 303)
        response.headers["set-cookie"] = self._gate.make_cookie("")
        response.headers["clear-site-data"] = '"cache", "storage"'
        return response

    def _send_message(
        self, request: Request, template: str, status: int, message: str, heading: str = "", goes_on: str = "/"
    ) -> Response:
        """Return an error, or the page on which people sign in, in the form that was asked for."""
        if request.url.path.endswith(".json") or "application/json" in request.headers.get("accept", ""):
            return answer_json(request, {"error": message, "status": status}, status)
        visitor = find_visitor(request.scope)
        site = self._describe_site(request, visitor)
        body = render(
            template,
            heading=heading or name_status(status),
            message=message,
            status=status,
            here=None,
            goes_on=goes_on,
            back=self._find_back(request, visitor),
            **site,
        )
        return answer_text(request, body, "text/html", status)

    def _find_back(self, request: Request, visitor: Visitor) -> Page | None:
        """Return the page of the menu that an address is below, or that it asks for in a way that cannot be."""
        path = request.url.path
        pages = [page for page in self._pages.values() if page.label and page.address != "/"]
        back = next((page for page in pages if path == page.address or path.startswith(f"{page.address}/")), None)
        is_same = back is not None and path == back.address and not request.url.query
        return None if is_same or visitor.user is None else back

    async def _answer_http_error(self, request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        response = self._send_message(request, "error.html", status, _HTTP_ERRORS.get(status, ""))
        response.headers.update(getattr(error, "headers", None) or {})  # which methods there are, for 405
        return response

    async def _answer_error(self, request: Request, error: Exception) -> Response:
        if isinstance(error, NotReady):
            response = self._send_message(request, "working.html", 202, str(error))
            response.headers["retry-after"] = "1"
            return response
        if isinstance(error, Refused) and error.status == 401 and wants_html(request):
            return RedirectResponse(link_sign_in(request), 303)
        kinds = {NotThere: 404, NotNow: 409, SystemFailed: 503}
        status = next((status for kind, status in kinds.items() if isinstance(error, kind)), 400)
        status = error.status if isinstance(error, Refused) else status
        message = name_paths(str(error), self._folder)  # where the project is, is of the inside
        is_damage = isinstance(error, InputError) and bool(error.source)
        heading = "Something cannot be read" if is_damage and status == 400 else ""
        response = self._send_message(request, "error.html", status, message, heading)
        if isinstance(error, Refused) and error.wait:
            response.headers["retry-after"] = str(error.wait)
        return response

    async def _answer_bug(self, request: Request, error: Exception) -> Response:
        """Answer without anything of the inside; the traceback goes to standard error."""
        traceback.print_exception(error, file=sys.stderr)
        return self._send_message(request, "error.html", 500, "The server's own output says what went wrong.")


def _find_patience(request: Request, suffix: str) -> float:
    """Return how long a request waits for what has to be computed first: as its header says (RFC 7240), or as usual."""
    wish = _WAIT.search(request.headers.get("prefer", ""))
    if wish:
        return min(float(wish[1]), _LONGEST)
    return _GLANCE if wants_html(request) and not suffix else _PATIENCE


def make_app(
    folder: str | Path,
    gate: Gate,
    *,
    pages: Sequence[Page] | None = None,
    actions: Sequence[Action] | None = None,
    store: str = "",
) -> ASGIApp:
    """Return the application of a project; ``pages`` and ``actions`` are by default all of them.

    ``store`` is that of live traffic, if it is not the project's own.
    """
    from karat.server._pages import ACTIONS, PAGES

    place = Path(folder).resolve()
    chosen = PAGES if pages is None else pages
    acts = ACTIONS if actions is None else actions
    return Application(place, gate, Watcher(place, store), chosen, acts, store).make()
