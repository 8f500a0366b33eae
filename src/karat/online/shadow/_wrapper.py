"""A control that answers, and a treatment that is asked the same in its shadow."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import inspect
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextvars import ContextVar, copy_context
from time import monotonic, perf_counter, time
from typing import Any, Literal, Protocol

from karat.core import UsageError, is_number, is_text
from karat.online._shadow_records import (
    ANSWERED,
    CONTROL_FAILED,
    CONTROL_UNREADABLE,
    FAILED,
    TIMEOUT,
    UNFINISHED,
    ShadowDraft,
)
from karat.online.flags import LiveFlags
from karat.online.shadow._breaker import Breaker
from karat.online.shadow._job import (
    DROPPED,
    LEFT_ALONE,
    Job,
    Outcome,
    copy_arguments,
    describe,
    find_text,
    list_ids,
    mirror_answer,
)
from karat.online.shadow._limits import EMPTY_FEATURE, Limits
from karat.online.shadow._sampling import follow_flag, make_chooser
from karat.online.shadow._tasks import Tasks
from karat.online.shadow._threads import Threads

_around: ContextVar[tuple[Any, Any, Any]] = ContextVar("karat.online.shadow", default=("", None, None))
_LOOK = 0.01  # seconds between looks at whether calls are pending
_open: weakref.WeakSet[Shadow] = weakref.WeakSet()
ERRORS = "errors"
"""The count of calls whose shadow failed in karat's own code; the control answered as always."""


class ShadowLog(Protocol):
    """What shadow runs are written to: a :class:`karat.online.Log`."""

    def new_id(self) -> str:
        """Return a new id for a record."""
        ...

    def around(self) -> tuple[Any, Any]:
        """Return the session and the user of the block around."""
        ...

    def write(self, draft: Any) -> None:
        """Write a record."""
        ...


class Shadow:
    """A system that answers as the control does, at once and always, while the treatment is asked in its shadow.

    Control and treatment are functions, objects with ``retrieve`` or ``answer``, or async ones of both; the shadow is
    called as the control is. Of ``percent`` of the sessions (or of the queries, with ``unit="query"`` or where no
    session is known) every call is compared, always of the same ones.
    """

    def __init__(
        self,
        control: Any,
        treatment: Any,
        *,
        log: ShadowLog,
        feature: str,
        percent: float = 10,
        flags: LiveFlags | None = None,
        k: int = 10,
        unit: Literal["session", "query"] = "session",
        level: Literal["full", "diff"] = "full",
        isolate: bool = False,
        limits: Limits | None = None,
    ) -> None:
        """Check the settings; nothing is started before the first call.

        With ``flags``, the flag of the feature's name says the share of shadow runs, and switches them off; without
        such a flag there are none, and ``percent`` is not used. Lists are compared down to rank ``k``. ``level="diff"``
        stores how they differ, and not the lists. ``isolate`` runs an async treatment in a loop of karat's own, even if
        the control is async, so that one that blocks cannot stop the host's loop. ``limits`` are those of
        :class:`Limits`.
        """
        if limits is not None and not isinstance(limits, Limits):
            raise UsageError(f"limits={limits!r} are no karat.online.shadow.Limits")
        if flags is not None and not isinstance(flags, LiveFlags):
            raise UsageError(f"flags={flags!r} is no karat.online.flags.LiveFlags")
        if not callable(getattr(log, "write", None)):
            raise UsageError(f"log={log!r} is not a log; pass what karat.online.open returns")
        if not is_text(feature):
            raise UsageError(EMPTY_FEATURE)
        if not is_number(k) or k < 1:
            raise UsageError(f"k={k!r} is not a rank; use 1 or more")
        if unit not in ("session", "query") or level not in ("full", "diff"):
            raise UsageError(f"unit={unit!r} is 'session' or 'query', and level={level!r} is 'full' or 'diff'")
        self.feature = feature
        self._control, self._log, self._k, self._by_session = find_call(control), log, k, unit == "session"
        self._choose = make_chooser(feature, percent) if flags is None else follow_flag(flags, feature)
        self._lists, self._limits = level == "full", limits or Limits()
        self._systems = (name_system(control), name_system(treatment))
        call = find_call(treatment)
        self._pool: Threads | Tasks
        if is_async(self._control) and is_async(call) and not isolate:
            self._pool = Tasks(call, self._limits, self._admit, self._finish)
        else:
            self._pool = Threads(call, self._limits, self._admit, self._finish)
        self.retrieve = self._call_async if is_async(self._control) else self._call
        self._closed = False
        self._begin()
        _open.add(self)

    retrieve: Callable[..., Any]
    """What the control is asked by: a coroutine function if the control is one."""

    def _begin(self) -> None:
        """Start with nothing: in a new shadow, and in the child of a fork."""
        self._mutex = threading.RLock()  # a condition is entered by calls of Python's, for which the caller waits
        self._lock = threading.Condition(self._mutex)
        self._counts: dict[str, int] = {"calls": 0, "sampled": 0}
        self._pending: dict[str, Job] = {}
        self.breaker = Breaker(self._limits.failures, self._limits.pause)
        self._pool.begin()

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Return what the control returns; raise what it raises."""
        return self.retrieve(*arguments, **options)

    @contextlib.contextmanager
    def within(self, *, query: Any = "", session: Any = None, user: Any = None) -> Iterator[None]:
        """Set the id of the logged query, the session and the user of the calls in a block, in this thread or task."""
        token = _around.set((query, session, user))
        try:
            yield
        finally:
            _around.reset(token)

    @property
    def counts(self) -> dict[str, int]:
        """How many calls there were in this process, how many of them were sampled, and what became of those."""
        with self._lock:
            return dict(self._counts)

    @property
    def pending(self) -> int:
        """How many calls wait for the treatment, or for its answer."""
        return len(self._pending)

    @property
    def hung(self) -> int:
        """How many calls of the treatment are still running beyond their timeout."""
        return self._pool.hung

    def drain(self, seconds: float = 60.0) -> bool:
        """Wait until no call is pending; return False if some still are.

        In a coroutine, use :meth:`drain_async`. In a loop whose tasks ask the treatment, this does not wait: they could
        not go on before it returns.
        """
        with self._lock:
            return self._lock.wait_for(lambda: not self._pending, 0.0 if self._pool.is_here() else seconds)

    async def drain_async(self, seconds: float = 60.0) -> bool:
        """Wait as :meth:`drain` does, and let the loop go on meanwhile."""
        deadline = monotonic() + seconds
        while self._pending and monotonic() < deadline:
            await asyncio.sleep(_LOOK)
        return not self._pending

    def close(self) -> None:
        """Ask the treatment no more. The control goes on to answer."""
        self._closed = True
        self._pool.stop()

    def __enter__(self) -> Shadow:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _call(self, *arguments: Any, **options: Any) -> Any:
        job = self._prepare(arguments, options)
        if job is None:
            return self._control(*arguments, **options)
        start = perf_counter()
        try:
            result = self._control(*arguments, **options)
        except BaseException as error:
            self._note_failure(job, error, start)
            raise
        self._mirror(job, result, start)
        return result

    async def _call_async(self, *arguments: Any, **options: Any) -> Any:
        job = self._prepare(arguments, options)
        if job is None:
            return await self._control(*arguments, **options)
        start = perf_counter()
        try:
            result = await self._control(*arguments, **options)
        except BaseException as error:
            self._note_failure(job, error, start)
            raise
        self._mirror(job, result, start)
        return result

    def _prepare(self, arguments: tuple[Any, ...], options: dict[str, Any]) -> Job | None:
        """Return the job of a call that is sampled, with arguments of its own. Nothing is ever raised."""
        try:
            text = find_text(arguments, options)
            session, user = self._log.around()
            query, own_session, own_user = _around.get()
            session = session if own_session is None else own_session
            has_session = self._by_session and session is not None and session != ""
            weight = 0.0 if self._closed else self._choose(str(session) if has_session else text)
            with self._mutex:
                self._counts["calls"] += 1
                self._counts["sampled"] += weight > 0
            if not weight:
                return None
            user = user if own_user is None else own_user
            draft = ShadowDraft(
                self._log.new_id(),
                time(),
                self.feature,
                text,
                session,
                user,
                query,
                k=self._k,
                weight=weight,
                lists=self._lists,
                systems=self._systems,
            )
            return Job(draft, *copy_arguments(arguments, options))
        except Exception:
            self._count(ERRORS)
            return None

    def _note_failure(self, job: Job, error: BaseException, start: float) -> None:
        with contextlib.suppress(Exception):
            job.draft.control_latency = (perf_counter() - start) * 1000
            self._write(job, Outcome(status=CONTROL_FAILED, error=describe(error)))

    def _mirror(self, job: Job, result: Any, start: float) -> None:
        """Let the treatment do what the control has done. Nothing is ever raised."""
        try:
            draft = job.draft
            draft.control_latency = (perf_counter() - start) * 1000
            if self._pool.is_full():
                self._write(job, DROPPED)
                return
            try:
                draft.control = list_ids(result)  # before the host gets the list, and may change it
                if self._lists and type(result) is not list:
                    draft.answers = mirror_answer(result, self._k), None
            except Exception as error:
                self._write(job, Outcome(status=CONTROL_UNREADABLE, error=describe(error)))
                return
            admitted = self.breaker.admit()
            if admitted is None:
                self._write(job, LEFT_ALONE)
                return
            job.trial, job.context = admitted == "trial", copy_context()
            self._pending[draft.id] = job
            self._pool.submit(job)
        except Exception:
            self._pending.pop(job.draft.id, None)
            self._count(ERRORS)

    def _admit(self, job: Job) -> Outcome | None:
        """Return why a job that has waited is not to be done; None if it is."""
        if self.breaker.state != "closed" and not job.trial:
            return LEFT_ALONE
        return None

    def _finish(self, job: Job, outcome: Outcome) -> None:
        """Write what became of a job that was pending, once. Nothing is ever raised."""
        try:
            with self._mutex:
                if job.done:
                    return
                job.done = True
            if outcome.status == ANSWERED:
                self.breaker.succeed()
            elif outcome.status in (FAILED, TIMEOUT):
                self.breaker.fail()
            self._write(job, outcome)
        except Exception:
            self._count(ERRORS)
        finally:
            with self._lock:
                self._pending.pop(job.draft.id, None)
                self._lock.notify_all()

    def _write(self, job: Job, outcome: Outcome) -> None:
        draft = job.draft
        draft.status, draft.treatment, draft.error = outcome.status, outcome.ids, outcome.error
        draft.treatment_latency = outcome.latency
        if outcome.answer is not None and self._lists:
            draft.answers = draft.answers[0], outcome.answer
        self._log.write(draft)
        self._count(outcome.status)

    def _count(self, what: str) -> None:
        with self._mutex:
            self._counts[what] = self._counts.get(what, 0) + 1

    def abandon(self) -> None:
        """Record the pending calls as unfinished: the process ends."""
        self._closed = True
        for job in list(self._pending.values()):
            self._finish(job, Outcome(status=UNFINISHED, error="the process ended"))

    def leave(self) -> None:
        """Leave the pending calls to the parent, in the child of a fork."""
        self._begin()


def find_call(system: Any) -> Callable[..., Any]:
    """Return what a system is called by: its ``answer``, its ``retrieve``, or itself."""
    for name in ("answer", "retrieve"):
        if callable(call := getattr(system, name, None)):
            return call  # type: ignore[no-any-return]
    if not callable(system):
        raise UsageError(
            f"{type(system).__name__} is not a system; pass an object with retrieve(query, k), or a function"
        )
    return system  # type: ignore[no-any-return]


def is_async(call: Callable[..., Any]) -> bool:
    """Return whether a function returns something to await."""
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(vars(type(call)).get("__call__"))


def name_system(system: Any) -> str:
    """Return the name of a system."""
    return str(getattr(system, "name", None) or getattr(system, "__name__", None) or type(system).__name__)


def _leave_all() -> None:
    for shadow in list(_open):
        shadow.leave()


def _abandon_all() -> None:
    for shadow in list(_open):
        shadow.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all)
atexit.register(_abandon_all)
