"""What every request has to pass: the right host, the right origin, a person who may, and headers on every answer."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from karat.core import InputError
from karat.server._audit import Audit
from karat.server._sessions import LASTING, Attempts, Sessions
from karat.server._tokens import Tokens, User

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "x-frame-options": "DENY",
}
_SAFE = ("GET", "HEAD")
_LOCAL = User(name="local", role="admin")
_KEY = "karat.visitor"


@dataclass(frozen=True, kw_only=True)
class Visitor:
    """Who sent a request, as far as that is known."""

    user: User | None
    """None for somebody who has to sign in."""
    secret: str
    """The secret of the session; empty without one."""
    peer: str
    """The address of the other end of the connection."""
    has_token: bool = False
    """Whether the request itself carries a token, which no other page can make a browser send."""
    wait: int = 0
    """Seconds until another token may be tried, if this one is wrong and there were many."""


class Gate:
    """Decides on requests: which names the server has, who asks, and whether a change comes from its own pages."""

    def __init__(
        self, folder: str, *, hosts: Iterable[str], tokens: Tokens, needs_token: bool = False, is_secure: bool = False
    ) -> None:
        self.hosts = frozenset(host.lower() for host in hosts)
        self.tokens, self.needs_token, self.is_secure = tokens, needs_token, is_secure
        self.sessions, self.attempts, self.audit = Sessions(tokens), Attempts(), Audit(folder)

    @property
    def cookie(self) -> str:
        """The name of the session's cookie; with TLS, browsers take it from this host only."""
        return "__Host-karat" if self.is_secure else "karat"

    def identify(self, headers: Headers, peer: str) -> Visitor:
        """Return who sends a request."""
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            user = self.tokens.find(token)  # a good one passes, whatever others at the address did
            wait = self.attempts.seconds_to_wait(peer) if user is None else 0
            if user is None and not wait:
                self.attempts.note(peer)
                self.audit.note("token refused", peer=peer)
            return Visitor(user=user, secret="", peer=peer, has_token=True, wait=wait)
        secret = self._read_cookie(headers)
        if not self.needs_token:
            return Visitor(user=_LOCAL, secret="", peer=peer)
        return Visitor(user=self.sessions.find(secret) if secret else None, secret=secret, peer=peer)

    def may_stay(self, visitor: Visitor) -> bool:
        """Return whether somebody who was let in may go on: neither is the session over nor the token revoked."""
        try:
            if visitor.secret:
                return self.sessions.is_good(visitor.secret)
            token = visitor.user.token if visitor.user is not None else ""
            return not token or self.tokens.look_up(token) is not None
        except InputError:  # the file of tokens is damaged: nobody is known
            return False

    def make_cookie(self, secret: str) -> str:
        """Return the header that gives a browser the secret of its session, or takes it away if it is empty."""
        lasting = LASTING if secret else 0
        secure = "; Secure" if self.is_secure else ""
        return f"{self.cookie}={secret}; Path=/; Max-Age={lasting}; HttpOnly; SameSite=Strict{secure}"

    def find_fault(self, method: str, headers: Headers) -> tuple[int, str] | None:
        """Return why a request is refused whoever sends it, with the status; None if it is not."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return 421, "This server does not have that name. Start it with --allow-host NAME if it should."
        if method in _SAFE:
            return None
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if site is not None and site not in ("same-origin", "none"):
            return 403, "A change has to come from a page of this server."
        if origin is not None and origin.lower() != f"{'https' if self.is_secure else 'http'}://{hosts[0].lower()}":
            return 403, "A change has to come from a page of this server."
        return None

    def _read_cookie(self, headers: Headers) -> str:
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return ""
        return cookies[self.cookie].value if self.cookie in cookies else ""


class Guard:
    """Stands before the application: refuses what the gate refuses, and adds the headers to every answer."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self._app, self._gate = app, gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._add_headers(message)
            await send(message)

        fault = self._gate.find_fault(scope["method"], headers)
        if fault is not None:
            if fault[0] == 403:
                peer = (scope.get("client") or ("", 0))[0]
                await run_in_threadpool(self._gate.audit.note_stranger, "origin refused", peer=peer, path=scope["path"])
            await PlainTextResponse(fault[1] + "\n", fault[0])(scope, receive, answer)
            return
        scope[_KEY] = self._gate.identify(headers, (scope.get("client") or ("", 0))[0])
        await self._app(scope, receive, answer)

    def _add_headers(self, message: MutableMapping[str, Any]) -> None:
        present = {name for name, _ in message["headers"]}
        extra = dict(_HEADERS)
        if self._gate.is_secure:
            extra["strict-transport-security"] = "max-age=31536000"
        # What needs a token is kept by no browser; the owner of the machine asks only for what has changed.
        extra["cache-control"] = "no-store" if self._gate.needs_token else "no-cache, private"
        message["headers"] = [
            *message["headers"],
            *((name.encode(), value.encode()) for name, value in extra.items() if name.encode() not in present),
        ]


def find_visitor(scope: Scope) -> Visitor:
    """Return who sent a request that has passed the guard."""
    visitor: Visitor = scope[_KEY]
    return visitor


def is_loopback(host: str) -> bool:
    """Return whether an address is reached from this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
