"""Workers that ask a treatment in threads. A call that hangs is given up, and keeps nobody from ending.

A supervisor takes jobs from the queue and lets a runner do each, for as long as the timeout. A runner that does not
come back is left behind: Python cannot end a thread. All threads are daemons.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from karat.online._shadow_records import NO_WORKER
from karat.online.shadow._job import Job, Outcome, ask, time_out
from karat.online.shadow._limits import Limits


class Runner:
    """A thread that asks the treatment, one job at a time, until it is left behind."""

    def __init__(self, treatment: Callable[..., Any], timeout: float, on_return: Callable[[Runner], None]) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._outcomes: SimpleQueue[Outcome] = SimpleQueue()
        self._treatment, self._timeout, self._on_return = treatment, timeout, on_return
        threading.Thread(target=self._work, name="karat-shadow-runner", daemon=True).start()

    def run(self, job: Job) -> Outcome | None:
        """Return what became of a job; None if it takes too long. Then the runner is of no more use."""
        self._jobs.put(job)
        try:
            return self._outcomes.get(timeout=self._timeout)
        except Empty:
            self.stop()  # when it comes back
            return None

    def stop(self) -> None:
        """Let the thread end after the job that it has."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            context = job.context
            outcome = ask(self._treatment, job, self._timeout) if context is None else context.run(self._ask, job)
            del job, context  # or the arguments of the last call would stay until the next
            self._outcomes.put(outcome)
        self._on_return(self)

    def _ask(self, job: Job) -> Outcome:
        return ask(self._treatment, job, self._timeout)


class Threads:
    """A bounded queue of jobs, and the threads that do them, which start with the first job."""

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
        """Start with nothing: in a new pool, and in the child of a fork, which has no threads."""
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._supervisors = 0
        self._hung: set[Runner] = set()

    @property
    def hung(self) -> int:
        """How many calls hang at the moment."""
        return len(self._hung)

    def is_here(self) -> bool:
        """Return whether jobs wait for this thread: they do not, each has a thread of its own."""
        return False

    def is_full(self) -> bool:
        """Return whether a job would have to be dropped."""
        return self._jobs.qsize() >= self._limits.queue

    def submit(self, job: Job) -> None:
        """Let a worker do a job."""
        self._jobs.put(job)
        if self._supervisors < self._limits.workers:
            with self._lock:
                if self._supervisors < self._limits.workers:
                    with suppress(RuntimeError):  # no more threads: the next call tries again
                        threading.Thread(target=self._supervise, name="karat-shadow", daemon=True).start()
                        self._supervisors += 1

    def stop(self) -> None:
        """Let the threads end when the queue is empty."""
        for _ in range(self._supervisors):
            self._jobs.put(None)

    def _supervise(self) -> None:
        runner: Runner | None = None
        while (job := self._jobs.get()) is not None:
            outcome = self._admit(job)
            if outcome is None:
                runner = runner or self._make_runner()
                if runner is None:
                    outcome = Outcome(status=NO_WORKER, error=f"{self.hung} calls hang")
                else:
                    outcome = runner.run(job)
                    if outcome is None:
                        outcome = time_out(self._limits.timeout)
                        self._hung.add(runner)
                        runner = None
            self._finish(job, outcome)
            del job, outcome
        if runner is not None:
            runner.stop()

    def _make_runner(self) -> Runner | None:
        if len(self._hung) >= self._limits.hung:
            return None
        with suppress(RuntimeError):  # no more threads, or the interpreter ends
            return Runner(self._treatment, self._limits.timeout, self._hung.discard)
        return None
