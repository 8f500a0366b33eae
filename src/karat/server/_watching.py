"""Keeping the index up to date while the server runs: files are looked at each second, and read by another process."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import msgspec

from karat.core import KaratError
from karat.index import Signature, open_index
from karat.pages import sign_traffic
from karat.schema.pages import WorkProgress
from karat.server._page import Job
from karat.work import FOLDER, list_work

_PERIOD = 1.0  # seconds between two looks
_IDLE = 10.0  # seconds without work after which the process that indexes ends, and frees its memory
_PAUSE = 5.0  # seconds before it is started again, if it died
_QUEUE = 16  # events that a slow listener may be behind
_WANTED = 600.0  # seconds for which a page that somebody looked at is kept up to date
_WORKS = 5  # pieces of work that are followed: one runs at a time
_REST, _SHARE = 10.0, 10  # seconds between two looks at live traffic, and how many times longer than a look takes


class Hub:
    """Passes on to all listeners what has changed."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Queue[str | None]] = set()
        self._is_closed = False

    def tell(self, event: str) -> None:
        """Pass an event to all listeners; one that is far behind misses some, and looks at everything when it can."""
        for queue in self._listeners:
            with suppress(asyncio.QueueFull):
                queue.put_nowait(event)

    def close(self) -> None:
        """Let all listeners go."""
        self._is_closed = True
        for queue in self._listeners:
            with suppress(asyncio.QueueFull):
                queue.put_nowait(None)

    async def listen(self, heartbeat: float = 15.0) -> AsyncIterator[str]:
        """Yield what changes from now on, and an empty text now and then, so that a dead connection is noticed."""
        queue: asyncio.Queue[str | None] = asyncio.Queue(_QUEUE)
        self._listeners.add(queue)
        try:
            while not self._is_closed:
                try:
                    event = await asyncio.wait_for(queue.get(), heartbeat)
                except TimeoutError:
                    event = ""
                if event is None:
                    return
                yield event
        finally:
            self._listeners.discard(queue)


class Watcher:
    """Looks at the files of a project, and lets a process of low priority read what has changed."""

    def __init__(self, folder: Path, store: str = "") -> None:
        self.folder, self.hub, self._store = folder, Hub(), store
        self._process: asyncio.subprocess.Process | None = None
        self._jobs: dict[Job, asyncio.Future[str]] = {}
        self._task: asyncio.Task[None] | None = None
        self._last_work = 0.0
        self._is_updating = False
        self._died = 0.0
        self._tried: Signature | None = None
        self._wanted: dict[Job, float] = {}
        self._traffic = ""
        self._rests_until = 0.0
        self._works: dict[str, str] = {}
        self._far: dict[str, WorkProgress] = {}

    def want(self, job: Job) -> None:
        """Keep what a job computes up to date for a while: somebody looks at it."""
        self._wanted[job] = asyncio.get_running_loop().time()

    async def start(self) -> None:
        """Begin to look."""
        self._task = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        """End, with the process that indexes; what it was about to write is written the next time."""
        self.hub.close()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        process = self._process
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                process.terminate()
            await process.wait()

    async def work(self, job: Job, patience: float) -> str | None:
        """Let the process do a job, once for all who want it.

        Return its error, or an empty text if there is none, or None if it takes longer than the patience.
        """
        future = await self.begin(job)
        try:
            return await asyncio.wait_for(asyncio.shield(future), patience)
        except TimeoutError:
            return None

    async def begin(self, job: Job) -> asyncio.Future[str]:
        """Let the process do a job, once for all who want it, and return what will have its error."""
        future = self._jobs.get(job)
        if future is None:
            future = self._jobs[job] = asyncio.get_running_loop().create_future()
            if not await self._send(list(job)):
                self._finish(job, "the process that reads runs cannot be started")
        return future

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            has_rested = not self._died or loop.time() - self._died >= _PAUSE
            if (
                not self._is_updating
                and has_rested
                and (signature := await asyncio.to_thread(self._find_change)) is not None
            ):
                self._is_updating = await self._send(["update"])
                self._tried = signature if self._is_updating else None
            await self._follow_traffic()
            await self._follow_work()
            process = self._process
            is_idle = not self._is_updating and not self._jobs and loop.time() - self._last_work > _IDLE
            if process is not None and process.stdin is not None and is_idle:
                process.stdin.close()
            await asyncio.sleep(_PERIOD)

    async def _follow_traffic(self) -> None:
        """Look at live traffic again if the log has changed and somebody looks at a page about it."""
        loop = asyncio.get_running_loop()
        self._wanted = {job: at for job, at in self._wanted.items() if loop.time() - at < _WANTED}
        if not self._wanted or self._is_updating or self._jobs or loop.time() < self._rests_until:
            return
        signature = await asyncio.to_thread(self._sign_traffic)
        if signature == self._traffic:
            return
        begin, self._traffic = loop.time(), signature
        for job in list(self._wanted) if signature else ():
            await self.work(job, _WANTED)
        self._rests_until = loop.time() + max(_REST, _SHARE * (loop.time() - begin))

    async def _follow_work(self) -> None:
        """Pass on how far work is that runs, and what has begun or ended."""
        if not (self.folder / FOLDER).is_dir():
            return
        lines = await asyncio.to_thread(list_work, self.folder, _WORKS)
        states: dict[str, str] = {line.head.id: line.state for line in lines}
        if self._works and states != self._works:
            self.hub.tell("work")
        self._works = states or {"": ""}
        for line in lines:
            if line.state == "running" and line.progress is not None and line.progress != self._far.get(line.head.id):
                self._far = {line.head.id: line.progress}
                facts = {"id": line.head.id, **msgspec.to_builtins(line.progress)}
                self.hub.tell(json.dumps(facts))

    def _sign_traffic(self) -> str:
        try:
            return sign_traffic(self.folder, self._store)
        except (KaratError, OSError):  # a page that looks at it says why
            return ""

    def _find_change(self) -> Signature | None:
        """Return what the files look like if the index is behind them; None if it is not.

        What was tried once, and did not help, is not tried again until a file changes or the index is lost.
        """
        with open_index(self.folder) as index:
            signature = index.sign()
            is_behind = bool(index.find_state(signature).waiting)
            is_lost = "signature" not in index.meta
        return signature if is_behind and (is_lost or signature != self._tried) else None

    async def _send(self, message: list[str]) -> bool:
        """Pass a message to the process, which is started if need be; return whether that was possible."""
        loop = asyncio.get_running_loop()
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "karat.server._worker",
                str(self.folder),
                self._store,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
            self._reader = asyncio.create_task(self._read(self._process))
        assert self._process.stdin is not None
        self._last_work = loop.time()
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            await self._process.stdin.drain()
        except (ConnectionError, RuntimeError):  # it is about to end; the next look finds it gone
            return False
        return True

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        """Pass on what the process says, until it ends."""
        assert process.stdout is not None
        loop = asyncio.get_running_loop()
        async for line in process.stdout:
            self._last_work = loop.time()
            message = json.loads(line)
            if message["kind"] == "changed":
                self.hub.tell(message["what"])
            elif message["job"] == ["update"]:
                self._is_updating = False
                if message["error"]:  # as when the index was removed meanwhile: it is tried again
                    self._tried, self._died = None, loop.time()
            else:
                self._finish(tuple(message["job"]), message["error"])
                self.hub.tell(message["job"][0])
        code = await process.wait()
        self._process, self._is_updating = None, False
        if code:
            self._tried, self._died = None, loop.time()
        for job in list(self._jobs):
            self._finish(job, "the process that reads runs has ended; ask again")

    def _finish(self, job: Job, error: str) -> None:
        future = self._jobs.pop(job, None)
        if future is not None and not future.done():
            future.set_result(error)
