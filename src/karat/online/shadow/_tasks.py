"""Workers that ask an async treatment as tasks of the loop in which the control was awaited."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any
from weakref import WeakKeyDictionary

from karat.core import count_things
from karat.online._shadow_records import FAILED, NO_WORKER, UNFINISHED
from karat.online.shadow._job import Job, Outcome, describe, read_outcome, time_out
from karat.online.shadow._limits import Limits


@dataclass(slots=True)
class _Lane:
    """The jobs of one loop; only its own thread touches them."""

    waiting: deque[Job] = field(default_factory=deque)
    watchers: set[asyncio.Task[None]] = field(default_factory=set)
    hung: set[asyncio.Task[Outcome]] = field(default_factory=set)


class Tasks:
    """A bounded queue of jobs for each loop, and the tasks that do them."""

    def __init__(
        self,
        treatment: Callable[..., Any],
        limits: Limits,
        admit: Callable[[Job], Outcome | None],
        finish: Callable[[Job, Outcome], None],
    ) -> None:
        self._treatment, self._limits, self._admit, self._finish = treatment, limits, admit, finish
        self.begin()

    def begin(self) -> None:
        """Start with nothing."""
        self._lanes: WeakKeyDictionary[asyncio.AbstractEventLoop, _Lane] = WeakKeyDictionary()

    @property
    def hung(self) -> int:
        """How many calls hang at the moment."""
        return sum(len(lane.hung) for lane in list(self._lanes.values()))

    def is_here(self) -> bool:
        """Return whether there are jobs in the loop that runs in this thread."""
        try:
            lane = self._lanes.get(asyncio.get_running_loop())
        except RuntimeError:  # there is none
            return False
        return lane is not None and bool(lane.watchers)

    def is_full(self) -> bool:
        """Return whether a job would have to be dropped."""
        return len(self._lane().waiting) >= self._limits.queue

    def submit(self, job: Job) -> None:
        """Let a task do a job, now or when another one has ended."""
        lane = self._lane()
        if len(lane.watchers) < self._limits.workers:
            self._start(lane, job)
        else:
            lane.waiting.append(job)

    def stop(self) -> None:
        """Nothing is to be stopped: tasks end with their loop."""

    def _lane(self) -> _Lane:
        loop = asyncio.get_running_loop()
        lane = self._lanes.get(loop)
        if lane is None:
            lane = self._lanes[loop] = _Lane()
        return lane

    def _start(self, lane: _Lane, job: Job) -> None:
        watcher = asyncio.get_running_loop().create_task(self._watch(lane, job), name="karat-shadow")
        lane.watchers.add(watcher)
        watcher.add_done_callback(lambda task: self._follow(lane, task))

    def _follow(self, lane: _Lane, watcher: asyncio.Task[None]) -> None:
        """Start the next job when one has ended; at the end of the loop there is none."""
        lane.watchers.discard(watcher)
        if watcher.cancelled():
            while lane.waiting:
                self._finish(lane.waiting.popleft(), Outcome(status=UNFINISHED, error="the event loop ended"))
        elif lane.waiting:
            self._start(lane, lane.waiting.popleft())

    async def _watch(self, lane: _Lane, job: Job) -> None:
        outcome: Outcome | None = self._admit(job)
        if outcome is None and len(lane.hung) >= self._limits.hung:
            outcome = Outcome(status=NO_WORKER, error=count_things(len(lane.hung), "call hangs", "calls hang"))
        try:
            if outcome is None:
                outcome = await self._run(lane, job)
        finally:  # cancelled, at the end of the loop
            ended = Outcome(status=UNFINISHED, error="the event loop ended")
            self._finish(job, ended if outcome is None else outcome)

    async def _run(self, lane: _Lane, job: Job) -> Outcome:
        task = asyncio.create_task(self._ask(job), name="karat-shadow-runner")
        try:
            await asyncio.wait({task}, timeout=self._limits.timeout)
        finally:
            if not task.done():
                task.cancel()
        if task.done() and not task.cancelled():
            return task.result()
        lane.hung.add(task)  # until it has ended: it may pay no attention to being cancelled
        task.add_done_callback(lane.hung.discard)
        return time_out(self._limits.timeout)

    async def _ask(self, job: Job) -> Outcome:
        start = perf_counter()
        try:
            return read_outcome(await self._treatment(*job.arguments, **job.options), start, job.draft.k)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return Outcome(status=FAILED, latency=(perf_counter() - start) * 1000, error=describe(error))
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # the last two would end the host's loop
            return Outcome(status=FAILED, latency=(perf_counter() - start) * 1000, error=describe(error))
