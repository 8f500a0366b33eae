"""A query that is being asked: the host tells what came back, and the record is written when it ends."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter, time
from types import TracebackType
from typing import Any, Protocol

from karat.core import Answer
from karat.online._drafts import QueryDraft, take_channels, take_hits
from karat.online._hit_rows import are_plain, to_ids

_PLACES = {name: place for place, name in enumerate(("tag", *QueryDraft.__struct_fields__))}
TIME, TEXT, SESSION, USER = (_PLACES[name] for name in ("time", "text", "session", "user"))
HITS, CHANNELS, STAGES, WEIGHTS = (_PLACES[name] for name in ("hits", "channels", "stages", "weights"))
ANSWER, CITATIONS, ERROR, LATENCY = (_PLACES[name] for name in ("answer", "citations", "error", "latency"))
_NUMBERS = frozenset((float, int, type(None)))
QUALITY, ATTRIBUTES, COUNT = (_PLACES[name] for name in ("quality", "attributes", "count"))


class Sink(Protocol):
    """What a query is written to."""

    def write_query(self, query: Asked) -> None:
        """Write the record of a query that is over."""
        ...

    def leave_out(self, field: str, error: Exception) -> None:
        """Count a field that a record is written without, because it cannot be understood."""
        ...

    def warn(self, what: str, error: Exception) -> None:
        """Warn of something that cannot be understood."""
        ...


class Asked:
    """A query of ``with log.query(...) as q``, or ``async with``. No method of it raises.

    :meth:`karat.online.Log.query` makes it and sets every field: there is no ``__init__``, for which a user would wait.
    """

    __slots__ = ("_plain", "_record", "_sink", "_start", "_usual", "id", "logged")

    id: str
    """The id that feedback names."""
    logged: bool
    """Whether it is in the sample."""
    _record: list[Any]
    """What a :class:`QueryDraft` has, with its tag: the list that is encoded, so that it is built only once."""
    _plain: bool
    """Whether hits and channels have short ids only, and need not be looked at again."""
    _usual: bool
    """Whether its labels are known, and it has no field that few queries have."""
    _sink: Sink
    _start: float

    def __repr__(self) -> str:
        return f"Asked({self.id!r})"  # nothing that was asked

    def results(
        self,
        hits: Any,
        *,
        channels: Any = None,
        stages: Any = None,
        weights: Any = None,
        quality: float | None = None,
        count: int | None = None,
    ) -> None:
        """Record what came back, best first: ids, pairs of id and score, mappings with both, or hits of karat.

        ``channels`` has the ids that each channel returned, ``stages`` milliseconds by stage, ``weights`` those of the
        fusion; ``count`` is how many came back, if ``hits`` are only the first of them.
        """
        if not self.logged:
            return
        record, plain = self._record, False
        try:
            kind = type(hits)
            plain = (kind is list or kind is tuple) and are_plain(hits)
            record[HITS] = hits = tuple(hits) if plain else take_hits(hits)  # the host may change its list
            record[COUNT] = len(hits) if count is None else count
            if count is not None and type(count) is not int:
                self._usual = False
        except Exception as error:
            self._sink.leave_out("hits", error)
        if stages is not None:
            record[STAGES] = stages.copy() if type(stages) is dict else self._copy(stages)
        if weights is not None:
            record[WEIGHTS] = weights.copy() if type(weights) is dict else self._copy(weights)
        if quality is not None:
            self._set(QUALITY, quality)
        self._plain = plain and not record[CHANNELS]  # those of a call before stay
        if channels is not None:
            self._plain = False
            try:
                record[CHANNELS], short = take_channels(channels)
                self._plain = plain and short
            except Exception as error:
                self._sink.leave_out("channels", error)

    def _copy(self, values: Any) -> Any:
        """Return a copy of what is no dict; anything that is no mapping as it is: the writer leaves it out."""
        self._usual = False
        try:
            return dict(values)
        except Exception:
            return values

    def _set(self, place: int, value: Any) -> None:
        """Set a field that few queries have."""
        self._record[place], self._usual = value, False

    def answer(self, text: str, citations: Any = ()) -> None:
        """Record the text that was generated, and the ids that it cites."""
        try:
            self._set(ANSWER, text)
            self._set(CITATIONS, to_ids(citations))
        except Exception as error:
            self._sink.leave_out("citations", error)

    def fail(self, error: object) -> None:
        """Record that the query failed, and why."""
        try:
            name = f"{type(error).__name__}: " if isinstance(error, BaseException) else ""
            self._set(ERROR, f"{name}{error}" or "failed")
        except Exception as problem:
            self._set(ERROR, "failed")
            self._sink.warn("the error", problem)

    def note(self, **attributes: Any) -> None:
        """Record anything else, as JSON values."""
        self._set(ATTRIBUTES, {**(self._record[ATTRIBUTES] or {}), **attributes})

    def begin(self) -> None:
        """Start the clock; ``with`` does it."""
        self._record[TIME] = time()
        self._start = perf_counter()

    def finish(self, *, time: float | None = None, latency: float | None = None) -> None:
        """Write the record; leaving ``with`` does it. Seconds since 1970 and milliseconds may be given instead."""
        if not self.logged:
            return
        if time is not None:
            self._record[TIME] = time
            if type(time) is not float:
                self._usual = False
        measured = self._start and latency is None
        self._record[LATENCY] = (perf_counter() - self._start) * 1000 if measured else latency
        if type(self._record[LATENCY]) not in _NUMBERS:
            self._usual = False
        self._sink.write_query(self)

    def __enter__(self) -> Asked:
        self._start = perf_counter()
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is not None:
            self.fail(error)
        if self.logged:  # as finish() does
            self._record[LATENCY] = (perf_counter() - self._start) * 1000
            self._sink.write_query(self)

    async def __aenter__(self) -> Asked:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)


def find_text(arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    """Return the query of a call: the first text, or what is called query, text or q."""
    named = [options[name] for name in ("query", "text", "q", "question") if name in options]
    return next((value for value in (*named, *arguments) if isinstance(value, str)), "")


def take_result(query: Asked, result: Any) -> Any:
    """Record what a function returned, hits or an answer, and return it as it is."""
    if isinstance(result, Answer):
        query.results(result.hits)
        query.answer(result.text, result.citations)
    else:
        query.results(result)
    return result
