"""Calls from the side of the server: each is a process, which is ended with the call."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import anyio
import msgspec
from anyio.abc import Process

from karat.core import KaratError
from karat.mcp._messages import Message, Request

_PATIENCE = 5.0  # seconds until a process that does not end is killed
_COMMAND = "from karat.mcp import work; work()"
_AT_ONCE = 4

Report = Callable[[float, str], Awaitable[None]]


class CallFailed(KaratError):
    """A call that ended with an error; ``lines`` is what the process said."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        super().__init__("\n".join(lines))
        self._lines = lines

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the error."""
        return self._lines


class Calls:
    """Runs calls, a few at once; those that ask the system one after the other, since they would share what it uses."""

    def __init__(self) -> None:
        self._room = anyio.CapacityLimiter(_AT_ONCE)
        self._asking = anyio.Lock()

    async def run(self, request: Request, report: Report, *, asks: bool = False) -> tuple[bytes, list[str]]:
        """Return the JSON of the document that a request ends with, and notes; raise CallFailed if it fails.

        ``report`` is called with a number that grows, and with words on what is done.
        """
        if asks:
            async with self._asking:
                return await self._run(request, report)
        return await self._run(request, report)

    async def _run(self, request: Request, report: Report) -> tuple[bytes, list[str]]:
        notes: list[str] = []
        stages: dict[str, int] = {}
        highest = -1.0
        async with self._room, _start(request) as messages:
            async for message in messages:
                if message.error:
                    raise CallFailed(message.error)
                if message.note:
                    notes.append(message.note)
                elif message.stage:
                    far = stages.setdefault(message.stage, len(stages)) + message.done / max(message.total, 1)
                    if far > highest:  # the protocol wants a number that grows
                        highest = far
                        await report(far, f"{message.stage} {message.done:,} of {message.total:,}")
                else:
                    return bytes(message.document), notes
        raise CallFailed(("the process ended without a result; standard error of karat mcp may say why",))


@asynccontextmanager
async def _start(request: Request) -> AsyncIterator[AsyncIterator[Message]]:
    """Start the process of a call, and end it with the context, however that is left."""
    command = [sys.executable, "-P", "-c", _COMMAND]
    process = await anyio.open_process(command, stderr=None, start_new_session=True)
    try:
        assert process.stdin is not None
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await process.stdin.send(msgspec.json.encode(request) + b"\n")
        yield _read(process)
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)


async def _read(process: Process) -> AsyncIterator[Message]:
    assert process.stdout is not None
    pieces: list[bytes] = []  # of a line; a document may have many, and to join them each time would copy all of them
    async for data in process.stdout:
        first, *lines = data.split(b"\n")
        pieces.append(first)
        for line in lines:
            yield msgspec.json.decode(b"".join(pieces), type=Message)
            pieces = [line]


async def _end(process: Process) -> None:
    """End a process with all that it has started: ask it first, by closing its standard input."""
    with suppress(OSError, anyio.BrokenResourceError):
        await process.stdin.aclose()  # type: ignore[union-attr]
    with anyio.move_on_after(_PATIENCE):
        await process.wait()
    _kill(process)
    await process.wait()
    await process.aclose()


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)  # also what a process that has ended left behind
        elif process.returncode is None:  # Windows
            process.kill()
