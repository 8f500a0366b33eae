"""Asking many questions: bounded concurrency, time limits, answers in the order of the questions."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from karat.core import Hit, SystemFailed, UsageError, shorten
from karat.net import finished, words
from karat.systems import System, hits_of

_POLL = 0.02  # seconds between looks at a job whose worker has not begun it
_DIGITS = 4  # of milliseconds; rounded here, so that a run is the same before and after it was a file


@dataclass(slots=True)
class Answer:
    """What came back for a question, and how long it took."""

    hits: tuple[Hit, ...] = ()
    milliseconds: float = 0.0
    stages: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds by stage, where the system tells them."""
    error: str = ""
    failure: BaseException | None = None


Texts = tuple[str, ...]
"""The questions of one call: one, or as many as a batch has."""


@dataclass(slots=True)
class _Job:
    texts: Texts
    answers: Sequence[Answer] = ()
    done: threading.Event = field(default_factory=threading.Event)
    begun: float = 0.0


def ask_all(
    system: System,
    texts: Iterable[str],
    k: int,
    *,
    concurrency: int = 1,
    timeout: float | None = None,
    batch: int = 1,
) -> Iterator[Answer]:
    """Ask every text, at most ``concurrency`` at once, and give the answers in the order of the texts.

    A failure is an answer with an error. One that does not come within ``timeout`` seconds is given up: a coroutine is
    cancelled; a thread is left behind, and another takes its place. With ``batch`` a system that takes several
    questions in one call gets so many; they share its time, and its failure.
    """
    if batch > 1 and system.retrieve_many is None:
        raise UsageError(f"batch={batch}, but {system.name} has no retrieve_many(queries, k)")
    many: Any = system.retrieve_many

    def call(texts: Texts) -> Any:
        return finished(many(list(texts), k) if batch > 1 else system.retrieve(texts[0], k), timeout)

    def ask(texts: Texts) -> Sequence[Answer]:
        return _asked_together(call, texts, k, system.tenant) if batch > 1 else (_asked(call, texts, k, system.tenant),)

    calls = _batches(texts, batch)
    if concurrency <= 1 and timeout is None:
        for one in calls:
            yield from ask(one)
        return
    yield from _Workers(ask, max(1, concurrency), timeout).run(calls)


def _batches(texts: Iterable[str], size: int) -> Iterator[Texts]:
    waiting = iter(texts)
    while batch := tuple(islice(waiting, size)):
        yield batch


def _asked(call: Callable[[Texts], Any], texts: Texts, k: int, tenant: str) -> Answer:
    """Ask one question; the clock runs around the system only, not around the checks."""
    answer = Answer()
    with _failing_in([answer]):
        given = _timed(call, texts, answer, k)
        answer.hits = hits_of(given, k, tenant)
        answer.stages = _stages(given)
    return answer


def _asked_together(call: Callable[[Texts], Any], texts: Texts, k: int, tenant: str) -> list[Answer]:
    """Ask several questions in one call; each has its share of the time."""
    whole, answers = Answer(), [Answer() for _ in texts]
    with _failing_in(answers):
        try:
            given = _timed(call, texts, whole, len(texts) + 1)
        finally:
            for answer in answers:
                answer.milliseconds = round(whole.milliseconds / len(texts), _DIGITS)
        lists = list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping) else None
        if lists is None or len(lists) != len(texts):
            raise SystemFailed(
                f"retrieve_many returned {shorten(given)} for {len(texts)} questions, not a list for each"
            )
        for answer, one in zip(answers, lists, strict=True):
            with _failing_in([answer]):
                answer.hits = hits_of(one, k, tenant)
                answer.stages = _stages(one)
    return answers


def _timed(call: Callable[[Texts], Any], texts: Texts, answer: Answer, most: int) -> Any:
    start = time.perf_counter()
    try:
        given = call(texts)
        # A generator works while it is read.
        return list(islice(given, most)) if isinstance(given, Iterator) else given
    finally:
        answer.milliseconds = round((time.perf_counter() - start) * 1000, _DIGITS)


@contextmanager
def _failing_in(answers: Sequence[Answer]) -> Iterator[None]:
    """Whatever a system raises is its answer, in its own words."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            raise  # not the system's: Ctrl-C, which only the main thread hears
        for answer in answers:
            answer.hits = ()
            answer.error = str(error) if isinstance(error, SystemFailed) and str(error) else words(error)
            answer.failure = error


def _stages(given: object) -> dict[str, float]:
    timings = getattr(given, "timings", {})
    try:
        stages = {str(stage): round(float(value), _DIGITS) for stage, value in timings.items()}
    except (AttributeError, TypeError, ValueError):
        stages = {"": math.nan}
    if not all(map(math.isfinite, stages.values())):
        raise SystemFailed(f"the system tells {shorten(timings)} as its timings, not milliseconds by stage")
    return stages


class _Workers:
    """Threads that take jobs; those that hang are replaced."""

    def __init__(self, ask: Callable[[Texts], Sequence[Answer]], concurrency: int, timeout: float | None) -> None:
        self._ask, self._concurrency, self._timeout = ask, concurrency, timeout
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._settling = threading.Lock()
        self._stopped = False

    def run(self, calls: Iterable[Texts]) -> Iterator[Answer]:
        waiting = iter(calls)
        for _ in range(self._concurrency):
            self._start()
        window: deque[_Job] = deque()
        try:
            self._fill(window, waiting, 2 * self._concurrency)
            while window:
                job = window.popleft()
                self._wait(job)
                yield from job.answers
                self._fill(window, waiting, 1)
        finally:
            self._stopped = True  # what is still waiting is not asked
            for _ in range(self._concurrency):
                self._jobs.put(None)

    def _fill(self, window: deque[_Job], waiting: Iterator[Texts], count: int) -> None:
        for texts in islice(waiting, count):
            job = _Job(texts)
            window.append(job)
            self._jobs.put(job)

    def _start(self) -> None:
        # Daemons: a system that hangs must not keep karat from ending.
        threading.Thread(target=self._work, name="karat-ask", daemon=True).start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None and not self._stopped:
            job.begun = time.perf_counter()
            answers = self._ask(job.texts)
            late = self._timeout is not None and sum(one.milliseconds for one in answers) > self._timeout * 1000
            if not self._settle(job, self._given_up(job) if late else answers):
                return  # given up meanwhile, and replaced

    def _wait(self, job: _Job) -> None:
        if self._timeout is None:
            job.done.wait()
            return
        while not job.done.is_set():
            begun = job.begun
            left = begun + self._timeout - time.perf_counter() if begun else _POLL
            if job.done.wait(min(max(left, 0.0), threading.TIMEOUT_MAX)) or not begun:
                continue
            if self._settle(job, self._given_up(job)):
                self._start()

    def _settle(self, job: _Job, answers: Sequence[Answer]) -> bool:
        """Give a job its answers, unless it has them."""
        with self._settling:
            if job.done.is_set():
                return False
            job.answers = answers
            job.done.set()
            return True

    def _given_up(self, job: _Job) -> list[Answer]:
        assert self._timeout is not None
        share = self._timeout * 1000 / len(job.texts)
        return [Answer(milliseconds=share, error=f"no answer within {self._timeout:g} s") for _ in job.texts]
