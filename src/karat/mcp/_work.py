"""The process of one call: it does what a tool or a resource asks for in a project, and writes messages to the server.

A call has a process of its own, so that it sees the code of the project as it is now, can be ended at any time, and
shares nothing with other calls. Its standard input is a line with what to do; when that is closed, the call was
cancelled or the server has ended, and it ends, too.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from karat.core import KaratError
from karat.files import record_reads
from karat.mcp._messages import Message, Request

_PATIENCE = 3.0  # seconds in which a system may close what it has opened
_STEPS = 100  # messages about the progress of a stage


def perform(
    request: Request,
    *,
    say: Callable[[str], None] | None = None,
    progress: Callable[..., None] | None = None,
) -> Any:
    """Do what a request asks for, and return the document; a mistake raises an error of karat's own.

    ``say`` is called with notes, and ``progress`` with a stage, what is done of it, and all of it.
    """
    from karat.mcp._actions import ACTIONS
    from karat.mcp._arguments import read_arguments
    from karat.mcp._place import Place

    kind, function = ACTIONS[request.action]
    place = Place(
        folder=Path(request.folder),
        agent=request.agent,
        say=say or (lambda _: None),
        progress=progress or (lambda *_: None),
    )
    arguments = read_arguments(kind, request.arguments)
    with record_reads():
        return function(place, arguments)


def work() -> None:
    """Do what the line of standard input asks for; messages go to standard output, and prints to standard error."""
    wire = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the system under test prints, in whatever language, is not part of the results
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(0, 2**16)
        if not piece:
            return
        line += piece
    request = msgspec.json.decode(line, type=Request)
    over = threading.Event()
    threading.Thread(target=_watch, args=(over, os._exit), daemon=True).start()
    try:
        message = _answer(request, wire)
    finally:
        over.set()
    _send(wire, message)


def _answer(request: Request, wire: BinaryIO) -> Message:
    try:
        document = perform(request, say=lambda note: _send(wire, Message(note=note)), progress=_Progress(wire))
        return Message(document=msgspec.Raw(msgspec.json.encode(document)))
    except KaratError as error:
        return Message(error=error.lines)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BaseException as error:  # a system may raise anything
        traceback.print_exc()
        hint = "the traceback is on standard error of karat mcp"
        return Message(error=(f"it ended with {type(error).__name__}, which nobody expected; {hint}",))


def _watch(over: threading.Event, end: Callable[[int], Any]) -> None:
    """Interrupt this process when standard input is closed, and end it if that does not help."""
    while os.read(0, 2**16):
        continue
    if over.is_set():
        return
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(_PATIENCE)
    end(130)


class _Progress:
    """Sends how far a stage is, a hundred times at most."""

    def __init__(self, wire: BinaryIO) -> None:
        self._wire = wire
        self._last: tuple[str, int] = ("", -1)

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:  # noqa: ARG002 (of the terminal)
        now = stage, done * _STEPS // max(total, 1)
        if now != self._last:
            self._last = now
            _send(self._wire, Message(stage=stage, done=done, total=total))


def _send(wire: BinaryIO, message: Message) -> None:
    try:
        wire.write(msgspec.json.encode(message) + b"\n")
        wire.flush()
    except BrokenPipeError:  # the server has ended
        raise SystemExit(130) from None
