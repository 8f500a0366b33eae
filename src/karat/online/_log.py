"""The log that a host writes to: queries, what came back, and feedback. It costs microseconds and never raises."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from time import time, time_ns
from typing import TYPE_CHECKING, Any, TypeVar, overload

from karat.online._asked import Asked, find_text, take_result
from karat.online._drafts import Draft, EventDraft
from karat.online._follow import Ingester
from karat.online._hit_rows import to_text
from karat.online._journal import Journal
from karat.online._paths import Paths
from karat.online._privacy import Redaction, make_sampler
from karat.online._writing import Writer

if TYPE_CHECKING:
    from karat.config import TelemetryConfig

F = TypeVar("F", bound=Callable[..., Any])

_NOT_LOGGED = "~"
"""The end of the id of a query that is not in the sample: feedback that names it is not logged either."""
_session: ContextVar[tuple[Any, Any]] = ContextVar("karat.online.session", default=(None, None))
_RESULTS = ("channels", "stages", "weights", "quality", "count")


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What answers the queries of a log, unless a query says something else."""

    system: str = ""
    build: str = ""
    index: str = ""
    normaliser: str = ""


class Log:
    """A log of queries beside a store; :func:`open` makes one."""

    def __init__(
        self,
        paths: Paths,
        journal: Journal,
        redact: Redaction | None,
        *,
        key: bytes | None,
        rate: float,
        origin: Origin,
    ) -> None:
        names = origin.system, origin.build, origin.index, origin.normaliser
        self._paths, self._journal, self._writer = paths, journal, Writer(journal, redact, key, 1 / rate, names)
        self._rate, self._weight, self._choose = rate, 1 / rate, make_sampler(rate)
        self._blanks, self._new_id = self._writer.blanks, journal.new_id
        self._ingester: Ingester | None = None

    @property
    def path(self) -> Path | str:
        """The store that records end up in."""
        return self._paths.store

    @property
    def dropped(self) -> dict[str, int]:
        """How many records this process dropped, or wrote without a field, by reason or field."""
        return dict(self._journal.dropped)

    def query(
        self,
        text: str,
        *,
        session: Any = None,
        user: Any = None,
        intent: Any = "",
        mode: Any = "",
        tool: Any = "",
        system: Any = None,
        trace: Any = "",
        build: Any = None,
        index: Any = None,
        normaliser: Any = None,
        flags: Any = None,
        **attributes: Any,
    ) -> Asked:
        """Return a query for ``with`` or ``async with``; its time is taken, and it is written at the end.

        ``tool`` is what asked, ``system`` the version or fingerprint of what answers, if it is not the log's, ``trace``
        the id of the trace in a tracing tool. ``build``, ``index`` and ``normaliser`` are those of the log, if they are
        not given; ``flags`` has the variants that are served, by the keys of their flags.
        """
        if session is None or user is None:
            around = _session.get()
            session, user = (around[0] if session is None else session), (around[1] if user is None else user)
        blank = None
        if (
            system is build is index is normaliser is flags is None
            and not attributes
            and type(trace) is str
            and not trace
        ):
            try:
                blank = self._blanks.get((intent, mode, tool))
            except Exception:  # a label that has no hash
                blank = None
        query = Asked()
        moment = time()
        query.id = name = self._new_id(moment)
        query._usual, query._plain, query._start, query._sink, query.logged = True, True, 0.0, self._writer, True
        if blank is None:
            rest = {"trace": trace, "flags": flags, "attributes": attributes or None}
            query._record = self._writer.make_record(intent, mode, tool, (system, build, index, normaliser), rest)
            query._usual = False
        else:
            query._record = blank.copy()
        query._record[1:6] = name, moment, text, session, user
        if self._rate < 1 and not self._is_chosen(session, name):
            query.id, query.logged = name + _NOT_LOGGED, False
        return query

    def record(
        self, text: str, hits: Any = None, *, answer: Any = None, citations: Any = (), error: Any = "", **fields: Any
    ) -> str:
        """Write a query that is over, in one call; return its id. Without hits nothing is known of what came back.

        Fields are those of :meth:`query` and :meth:`Asked.results`, and ``time`` and ``latency``; any other is an
        attribute.
        """
        results = {name: fields.pop(name) for name in _RESULTS if name in fields}
        times = {name: fields.pop(name) for name in ("time", "latency") if name in fields}
        query = self.query(text, **fields)
        if hits is not None:
            query.results(hits, **results)
        if answer is not None:
            query.answer(answer, citations)
        if _is_given(error):
            query.fail(error)
        query.finish(**times)
        return query.id

    def feedback(
        self,
        event: str,
        session: Any = None,
        document: Any = None,
        *,
        user: Any = None,
        query: Any = None,
        rank: int | None = None,
        value: float | None = None,
        time: float | None = None,
        **attributes: Any,
    ) -> str:
        """Write what somebody did: one of ``EVENT_KINDS``, or a free action; return the id of the event.

        ``query`` is the id of the query that it belongs to, if the host knows it, ``rank``, from 1, where the document
        was shown, and ``value`` a number such as the outcome of a task.
        """
        session, user = _find_ids(session, user)
        name = self.new_id()
        if self._rate < 1 and not self._is_chosen(session, name, _to_text_or_none(query)):
            return name + _NOT_LOGGED
        moment = time_ns() / 1e9 if time is None else time
        self.write(
            EventDraft(name, moment, event, session, user, query, document, rank, value, self._weight, attributes)
        )
        return name

    @contextmanager
    def session(self, session: Any, user: Any = None) -> Iterator[None]:
        """Set the session and the user of all queries and feedback in a block, in this thread or task only."""
        token = _session.set((session, user))
        try:
            yield
        finally:
            _session.reset(token)

    @overload
    def logged(self, function: F, /) -> F: ...

    @overload
    def logged(self, function: None = None, /, **fields: Any) -> Callable[[F], F]: ...

    def logged(self, function: Any = None, /, **fields: Any) -> Any:
        """Return a decorator for a function, or a coroutine function, that takes a query first and returns hits.

        ``@log.logged`` and ``@log.logged(tool="search")`` also take what returns a :class:`karat.core.Answer`. The
        result is returned as it is; an iterator is not read, so that nothing is known of what came back.
        """

        def decorate(function: F) -> F:
            @wraps(function)
            def call(*arguments: Any, **options: Any) -> Any:
                with self.query(find_text(arguments, options), **fields) as query:
                    return take_result(query, function(*arguments, **options))

            @wraps(function)
            async def call_async(*arguments: Any, **options: Any) -> Any:
                with self.query(find_text(arguments, options), **fields) as query:
                    return take_result(query, await function(*arguments, **options))

            chosen: Any = call_async if inspect.iscoroutinefunction(function) else call
            return chosen  # type: ignore[no-any-return]

        return decorate if function is None else decorate(function)

    def start_ingester(self, telemetry: TelemetryConfig | None = None) -> None:
        """Start a thread that brings records into the store until the log is closed.

        Queries are sent to a collector, if ``telemetry`` or the variables of OpenTelemetry name one.
        """
        if self._ingester is None:
            self._ingester = Ingester(self._paths.store, telemetry)

    def close(self) -> None:
        """Close the journal. Records that come later are dropped, and counted."""
        self._journal.close()
        if self._ingester is not None:
            self._ingester.stop()
            self._ingester = None

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, draft: Draft) -> None:
        """Write a record: redacted, with hashes for ids. What cannot be encoded is dropped and counted."""
        self._writer.write(draft)

    def new_id(self) -> str:
        """Return a unique id, in order after all before it in this process, even if the clock goes backwards."""
        return self._journal.new_id(time())

    def around(self) -> tuple[Any, Any]:
        """Return the session and the user of the block around; None where there is none."""
        return _session.get()

    def warn(self, what: str, error: Exception) -> None:
        """Warn once, in the host's log, of something that was recorded and could not be understood."""
        self._writer.warn(what, error)

    def _is_chosen(self, session: Any, id: str, query: str = "") -> bool:
        """Return whether a record is in the sample: whole sessions are, with their feedback."""
        if query:
            return not query.endswith(_NOT_LOGGED)
        return self._choose(_to_text_or_none(session) or id)


def _find_ids(session: Any, user: Any) -> tuple[Any, Any]:
    """Return the ids of a session and a user, those around where none is given."""
    around = _session.get()
    return (around[0] if session is None else session), (around[1] if user is None else user)


def _to_text_or_none(value: Any) -> str:
    """Return a value as text, the empty one if it cannot be: the record is dropped and counted when it is written."""
    try:
        return to_text(value)
    except Exception:
        return ""


def _is_given(error: Any) -> bool:
    try:
        return bool(error)
    except Exception:
        return True
