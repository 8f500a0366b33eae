"""Running the server: which addresses it has, and what it refuses to be."""

from __future__ import annotations

import errno
import os
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from karat.core import InputError, SystemFailed, UsageError
from karat.net import require_package
from karat.schema.pages import ServerStart
from karat.store import is_address, parse_address

PORT = 8321
_BACKLOG = 128
_EVERY = ("0.0.0.0", "::")  # noqa: S104 (only for those who ask for it, with tokens and TLS)
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_CONNECTIONS = 512  # at once: above, requests are answered with 503


def serve(
    folder: str | Path = ".",
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    names: Sequence[str] = (),
    needs_token: bool = False,
    certificate: str | None = None,
    key: str | None = None,
    behind_proxy: bool = False,
    store: str = "",
    on_start: Callable[[ServerStart], None] = lambda _: None,
) -> None:
    """Serve the pages of a project until the process is interrupted.

    ``host`` other than this machine's own needs tokens, and TLS: a ``certificate`` with its ``key``, or a proxy that
    is said to speak it. ``names`` are further names by which browsers reach the server. ``store`` is that of live
    traffic, if it is not the one that karat.toml names, or ``karat.db`` in the folder. Port 0 takes a free one;
    ``on_start`` gets the address.
    """
    for module in ("starlette", "uvicorn", "jinja2"):
        require_package(module, purpose="karat serve", extra="server")
    from karat.server._guard import Gate, is_loopback
    from karat.server._tokens import Tokens

    place = require_project(folder)
    if is_address(store):
        parse_address(store)  # refuses one with a password in it, before anything is served
    if bool(certificate) != bool(key):
        raise UsageError("a certificate and its key belong together: --tls-cert and --tls-key")
    tokens = Tokens(place)
    is_secure = bool(certificate) or behind_proxy
    if not is_loopback(host):
        _require_safety(host, tokens, is_secure=is_secure)
    elif behind_proxy and not tokens.has_any():
        raise UsageError("behind a proxy everybody needs a token: 'karat serve token add NAME' makes one")
    listener = _listen(host, port)
    with listener:
        bound = listener.getsockname()[1]
        gate = Gate(
            str(place),
            hosts=_list_hosts(host, bound, names, is_proxied=behind_proxy, is_secure=bool(certificate)),
            tokens=tokens,
            needs_token=needs_token or behind_proxy or not is_loopback(host),
            is_secure=is_secure,
        )
        named = host if host not in _EVERY else names[0] if names else "localhost"
        shown = f"[{named}]" if ":" in named and named not in names else named
        port_shown = "" if shown.rpartition(":")[2].isdigit() else f":{bound}"
        address = f"{'https' if certificate else 'http'}://{shown}{port_shown}/"
        start = ServerStart(address=address, project=str(place), process=os.getpid(), note=_ask_for_names(host, names))
        _run(place, gate, listener, start, certificate, key, store, on_start)


def require_project(folder: str | Path) -> Path:
    """Return the folder of a project; one whose golden set cannot be read is served, with what is wrong."""
    place = Path(folder)
    if not place.is_dir():
        raise InputError("no such folder" if not place.exists() else "is not a folder", source=str(folder))
    known = ("karat.toml", "golden.toml", "pyproject.toml", "runs")
    if not any((place / name).exists() for name in known):
        raise InputError("is not a project: it has no karat.toml", source=str(folder), hint="'karat init' starts one")
    return place.resolve()


def _require_safety(host: str, tokens: Any, *, is_secure: bool) -> None:
    if not is_secure:
        raise UsageError(
            f"{host} can be reached from other machines: give --tls-cert and --tls-key, or say --behind-tls-proxy"
        )
    if not tokens.has_any():
        raise UsageError(
            f"{host} can be reached from other machines: 'karat serve token add NAME --role admin' makes a token first"
        )


def _ask_for_names(host: str, names: Sequence[str]) -> str:
    """Return that the server has to know by which names others reach it, if it listens at every address."""
    if host not in _EVERY or names:
        return ""
    return (
        "other machines are refused until the server knows the name or address that people type: add --allow-host NAME"
    )


def _list_hosts(host: str, port: int, names: Sequence[str], *, is_proxied: bool, is_secure: bool) -> list[str]:
    """Return what the header Host may be."""
    own = {host, *names}
    if host in (*_EVERY, *_LOOPBACK):
        own |= {*_LOOPBACK}
    shown = [f"[{name}]" if ":" in name and not name.startswith("[") and name.count(":") > 1 else name for name in own]
    hosts = [f"{name}:{port}" for name in shown]
    if is_proxied or port == (443 if is_secure else 80):
        hosts += shown
    return [*hosts, *(name for name in names if ":" in name)]


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; an address that is taken, or not this machine's, is an error of infrastructure."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named, or asyncio would not switch off Nagle's algorithm for the connections that come in: the
    # body of an answer would wait for the client to acknowledge its head, which many put off by 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        hint = "; choose another with --port, or 0 for a free one" if error.errno == errno.EADDRINUSE else ""
        raise SystemFailed(f"cannot listen on {host} port {port}: {error.strerror or error}{hint}") from None
    return listener


def _run(
    place: Path,
    gate: Any,
    listener: socket.socket,
    start: ServerStart,
    certificate: str | None,
    key: str | None,
    store: str,
    on_start: Callable[[ServerStart], None],
) -> None:
    import uvicorn

    from karat.server._app import Application
    from karat.server._connections import Connection
    from karat.server._pages import ACTIONS, PAGES
    from karat.server._watching import Watcher

    watcher = Watcher(place, store)

    class _Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            watcher.hub.close()  # or those who listen would keep it from ending
            super().handle_exit(sig, frame)

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                on_start(start)

    try:
        config = uvicorn.Config(
            Application(place, gate, watcher, PAGES, ACTIONS, store).make(),
            ssl_certfile=certificate,
            ssl_keyfile=key,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            http=Connection,
            ws="none",
            limit_concurrency=_CONNECTIONS,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=5,
            h11_max_incomplete_event_size=64 * 1024,
        )
        server = _Server(config)
        with _quiet_signals():
            server.run(sockets=[listener])
    except OSError as error:  # as of a certificate that is none
        raise InputError(f"cannot be used: {error.strerror or error}", source=certificate or start.address) from None


@contextmanager
def _quiet_signals() -> Any:
    """Let the server end without an exception when it is interrupted: it passes on the signal once it has ended."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: None) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
