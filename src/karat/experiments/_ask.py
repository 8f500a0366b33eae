"""Asking many questions: bounded concurrency, time limits, answers in the order of the questions."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from karat.core import Hit, SystemFailed
from karat.systems import System, TenantMixed, hits_of

_POLL = 0.02  # seconds between looks at a job whose worker has not begun it


@dataclass(slots=True)
class Answer:
    """What came back for a question, and how long it took."""

    hits: tuple[Hit, ...] = ()
    milliseconds: float = 0.0
    stages: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds by stage, where the system tells them."""
    error: str = ""
    failure: BaseException | None = None


@dataclass(slots=True)
class _Job:
    text: str
    answer: Answer = field(default_factory=Answer)
    done: threading.Event = field(default_factory=threading.Event)
    begun: float = 0.0


def ask_all(
    system: System, texts: Iterable[str], k: int, *, concurrency: int = 1, timeout: float | None = None
) -> Iterator[Answer]:
    """Ask every text, at most ``concurrency`` at once, and give the answers in the order of the texts.

    A failure is an answer with an error. One that does not come within ``timeout`` seconds is given up: its thread is
    left behind, and another takes its place.
    """
    call = _caller(system, k)
    if concurrency <= 1 and timeout is None:
        for text in texts:
            answer = Answer()
            _ask(call, text, answer, k, system.tenant)
            yield answer
        return
    yield from _Workers(call, k, system.tenant, max(1, concurrency), timeout).run(texts)


def _caller(system: System, k: int) -> Callable[[str], Any]:
    """Give a plain function; the coroutines of a system that is async run in one loop, in a thread of its own."""
    if not system.is_async:
        return lambda text: system.retrieve(text, k)
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="karat-loop", daemon=True).start()
    retrieve: Any = system.retrieve
    return lambda text: asyncio.run_coroutine_threadsafe(retrieve(text, k), loop).result()


def _ask(call: Callable[[str], Any], text: str, answer: Answer, k: int, tenant: str) -> None:
    """Ask one question; the clock runs around the system only, not around the checks."""
    start = time.perf_counter()
    try:
        given = call(text)
        answer.milliseconds = (time.perf_counter() - start) * 1000
        answer.hits = hits_of(given, k, tenant)
        answer.stages = getattr(given, "timings", {})
    except TenantMixed as error:
        answer.failure = error
        answer.error = str(error)
    except SystemFailed as error:
        answer.error = str(error)
    except Exception as error:  # whatever a system raises is its answer, in its own words
        answer.milliseconds = (time.perf_counter() - start) * 1000
        answer.error = f"{type(error).__name__}: {error}"
        answer.failure = error


class _Workers:
    """Threads that take jobs; those that hang are replaced."""

    def __init__(
        self, call: Callable[[str], Any], k: int, tenant: str, concurrency: int, timeout: float | None
    ) -> None:
        self._call, self._k, self._tenant = call, k, tenant
        self._concurrency, self._timeout = concurrency, timeout
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()

    def run(self, texts: Iterable[str]) -> Iterator[Answer]:
        waiting = iter(texts)
        for _ in range(self._concurrency):
            self._start()
        window: deque[_Job] = deque()
        try:
            self._fill(window, waiting, 2 * self._concurrency)
            while window:
                job = window.popleft()
                self._wait(job)
                yield job.answer
                self._fill(window, waiting, 1)
        finally:
            for _ in range(self._concurrency):
                self._jobs.put(None)

    def _fill(self, window: deque[_Job], waiting: Iterator[str], count: int) -> None:
        for text in islice(waiting, count):
            job = _Job(text)
            window.append(job)
            self._jobs.put(job)

    def _start(self) -> None:
        # Daemons: a system that hangs must not keep karat from ending.
        threading.Thread(target=self._work, name="karat-ask", daemon=True).start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            answer = Answer()
            job.begun = time.perf_counter()
            _ask(self._call, job.text, answer, self._k, self._tenant)
            if job.done.is_set():
                return  # given up meanwhile, and replaced
            job.answer = answer
            job.done.set()

    def _wait(self, job: _Job) -> None:
        if self._timeout is None:
            job.done.wait()
            return
        while not job.done.is_set():
            begun = job.begun
            left = begun + self._timeout - time.perf_counter() if begun else _POLL
            if job.done.wait(max(left, 0.0)) or not begun:
                continue
            job.answer = Answer(milliseconds=self._timeout * 1000, error=f"no answer within {self._timeout:g} s")
            job.done.set()
            self._start()
