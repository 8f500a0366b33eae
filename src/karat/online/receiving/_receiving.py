"""``karat online receive``: a server, a receiver and an ingester, until somebody says stop."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from karat.core import SystemFailed, UsageError
from karat.online._follow import Ingester
from karat.online._paths import Paths, find_paths, open_lock
from karat.online._received import read_received
from karat.online.receiving._otlp_http import load
from karat.online.receiving._receiver import PATIENCE, SETTLE, Receiver
from karat.online.receiving._server import Server
from karat.schema import OnlineReceived

HOST, PORT = "127.0.0.1", 4318
_TICK = 0.5


def receive(
    path: str | os.PathLike[str],
    stop: threading.Event,
    *,
    host: str = HOST,
    port: int = PORT,
    names: Sequence[str] = (),
    settle: float = SETTLE,
    patience: float = PATIENCE,
    redact: bool = True,
    keep_ids: bool = False,
    ingest: bool = True,
    on_start: Callable[[str], None] | None = None,
    on_error: Callable[[Exception], None] | None = None,
) -> OnlineReceived:
    """Take OTLP over HTTP into the log beside a store until ``stop`` is set; return what was received so far.

    ``on_start`` is called with the address, ``on_error`` with what goes wrong and is tried again. ``names`` are those
    that requests may give as their host, beside that of this machine. All that was accepted is in the journal at the
    end, and with ``ingest`` in the store.
    """
    load("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    load("google.rpc.status_pb2")
    paths = find_paths(path)
    server = Server(host, port, tuple(names))
    try:
        paths.journal.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (
            _lock(paths),
            _keep_ingesting(paths, ingest),
            Receiver(path, settle=settle, patience=patience, redact=redact, keep_ids=keep_ids) as receiver,
        ):
            server.start(receiver)
            try:
                if on_start is not None:
                    on_start(server.url)
                _settle(receiver, stop, min(_TICK, settle or _TICK), on_error)
            finally:
                server.close()
    finally:
        server.server_close()
    received = read_received(paths.base)
    assert received is not None
    return received


def _settle(
    receiver: Receiver, stop: threading.Event, every: float, on_error: Callable[[Exception], None] | None
) -> None:
    """Write traces that are complete until somebody says stop."""
    while not stop.wait(every):
        try:
            receiver.settle()
        except SystemFailed as error:  # the disk may have room again
            if on_error is not None:
                on_error(error)


@contextmanager
def _keep_ingesting(paths: Paths, ingest: bool) -> Iterator[None]:
    """Bring records into the store meanwhile, and what is left at the end."""
    ingester = Ingester(paths.store) if ingest else None
    try:
        yield
    finally:
        if ingester is not None:
            ingester.stop()


@contextmanager
def _lock(paths: Paths) -> Iterator[None]:
    """Let one process at a time receive for a store."""
    import fcntl

    descriptor = open_lock(paths.journal / "receive.lock")
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another process receives for {paths.store} already; stop it, or name another store"
            ) from None
        yield
    finally:
        os.close(descriptor)
