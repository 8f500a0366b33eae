"""Threads that ask: questions with a time limit, or several at the same time.

Waking a thread takes more CPU time than a fast system needs for an answer. A single worker therefore asks until two
milliseconds have passed, and hands over what it has; then it waits, so that nothing else runs while an answer is timed.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from karat.core import Hit, Stage
from karat.systems import ReadAnswer

_POLL = 0.02  # seconds between checks of a job that no worker has started
_SLICE = 0.002  # seconds after which a worker hands over its answers
_LONGEST_PAUSE = 1.0  # seconds between looks at what a worker has answered
_AT_ONCE = 64  # calls that a single worker gets together


@dataclass(slots=True)
class Response:
    """What a system returned for a question, and how long it took."""

    hits: Sequence[Hit] = ()
    milliseconds: float = 0.0
    timings: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds by stage, if the system reports them."""
    stages: tuple[Stage, ...] = ()
    """The lists after each stage, if the system records them."""
    telemetry: Mapping[str, Any] = field(default_factory=dict)
    answer: ReadAnswer | None = None
    """The text that the system made from the hits, if it answers."""
    error: str = ""
    failure: BaseException | None = None
    """The exception behind the error."""


Ask = Callable[[Sequence[Any]], Sequence[Response]]
"""Makes one call of the system: with a single question, or with a batch."""


@dataclass(slots=True)
class _Job:
    calls: Sequence[Sequence[Any]]
    responses: list[Sequence[Response]] = field(default_factory=list)
    """What the first calls returned."""
    current: tuple[int, float] | None = None
    """The number of the call that is being made, and when it was started."""
    over: bool = False
    """Whether no more calls are made for this job."""


class Workers:
    """Threads that work on jobs. A thread that exceeds the timeout is abandoned and replaced."""

    def __init__(self, ask: Ask, concurrency: int, timeout: float | None) -> None:
        self._ask, self._concurrency, self._timeout = ask, concurrency, timeout
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._over: queue.SimpleQueue[None] = queue.SimpleQueue()
        """An item for each job that a worker has finished, for which the caller waits."""
        self._settling = threading.Lock()
        self._stopped = threading.Event()

    def run(self, calls: Iterable[Sequence[Any]]) -> Iterator[Response]:
        """Make the calls, and yield the responses in their order."""
        size, ahead = (_AT_ONCE, 1) if self._concurrency == 1 else (1, 2 * self._concurrency)
        remaining = iter(calls)
        for _ in range(self._concurrency):
            self._start()
        window: deque[_Job] = deque()
        left: Sequence[Sequence[Any]] = ()
        try:
            while True:
                while len(window) < ahead and (batch := [*left, *islice(remaining, size - len(left))]):
                    left = ()
                    window.append(_Job(batch))
                    self._jobs.put(window[-1])
                if not window:
                    return
                job = window.popleft()
                for responses in self._collect(job):
                    yield from responses
                left = job.calls[len(job.responses) :]
        finally:
            self._stopped.set()  # jobs that are still in the queue are not asked
            for _ in range(self._concurrency):
                self._jobs.put(None)

    def _start(self) -> None:
        # A daemon, so that a system that hangs does not keep karat from exiting.
        threading.Thread(target=self._work, name="karat-ask", daemon=True).start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None and not self._stopped.is_set():
            begun = time.perf_counter()
            for number, items in enumerate(job.calls):
                job.current = (number, time.perf_counter())
                responses = self._ask(items)
                total = sum([response.milliseconds for response in responses])
                late = self._timeout is not None and total > self._timeout * 1000
                if not self._settle(job, number, self._make_timeouts(items) if late else responses):
                    return  # the call timed out, and another thread has replaced this one
                failed = any(response.error for response in responses)  # the caller may want to stop
                if failed or self._stopped.is_set() or time.perf_counter() - begun > _SLICE:
                    break
            job.over = True
            self._over.put(None)

    def _collect(self, job: _Job) -> Iterator[Sequence[Response]]:
        """Yield what each call of a job returned: fast answers together, others as soon as they are there.

        On a busy machine a worker may begin late, answer some more after the first look, and then meet a question that
        hangs. What it has by then may not wait for that, so it is looked for again, ever less often.
        """
        pause, count = 2 * _SLICE, 0
        self._wait(job, pause)
        while True:
            is_over = job.over  # before the responses, of which there are no more then
            ready = job.responses[count:]
            yield from ready
            count += len(ready)
            if is_over:
                return
            pause, current = min(2 * pause, _LONGEST_PAUSE), job.current
            if current is None or self._timeout is None:
                self._wait(job, min(pause, _POLL) if current is None else pause)
                continue
            number, started = current
            self._wait(job, min(pause, started + self._timeout - time.perf_counter()))
            if time.perf_counter() >= started + self._timeout:
                self._give_up(job, number)

    def _wait(self, job: _Job, seconds: float) -> None:
        """Wait until a job is over, or another one is, but no longer than some seconds."""
        if job.over:
            return
        with suppress(queue.Empty):
            self._over.get(timeout=max(seconds, 0.0))

    def _give_up(self, job: _Job, number: int) -> None:
        """End a job whose call takes too long, unless it was answered meanwhile."""
        if not job.over and self._settle(job, number, self._make_timeouts(job.calls[number]), last=True):
            self._start()

    def _settle(self, job: _Job, number: int, responses: Sequence[Response], *, last: bool = False) -> bool:
        """Set the responses of a call, and return whether they were not set before."""
        with self._settling:
            if len(job.responses) != number:
                return False
            job.responses.append(responses)
            job.over = last
            return True

    def _make_timeouts(self, items: Sequence[Any]) -> list[Response]:
        assert self._timeout is not None
        share = self._timeout * 1000 / len(items)
        return [Response(milliseconds=share, error=f"no answer within {self._timeout:g} s") for _ in items]
