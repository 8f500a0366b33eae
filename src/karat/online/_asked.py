"""A query that is being asked: the host tells what came back, and the record is written when it ends."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter, time
from types import TracebackType
from typing import Any, Protocol

from msgspec import Struct

from karat.core import Answer
from karat.online._drafts import Draft, QueryDraft, take_channels, take_hits
from karat.online._hit_rows import are_plain, to_ids


class Sink(Protocol):
    """What a query is written to: a log."""

    def write(self, draft: Draft, *, plain: bool = False) -> None:
        """Write a record. ``plain`` says that its hits and channels have short ids only."""
        ...

    def warn(self, what: str, error: Exception) -> None:
        """Warn of something that cannot be understood."""
        ...


class Asked(Struct, eq=False):  # a Struct is made without a call of Python's
    """A query of ``with log.query(...) as q``, or ``async with``. No method of it raises."""

    id: str
    """The id that feedback names."""
    logged: bool
    """Whether it is in the sample."""
    _log: Sink
    _draft: QueryDraft
    _start: float = 0.0
    _plain: bool = False
    """Whether hits and channels have short ids only, and need not be looked at again."""

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
        try:
            draft, kind = self._draft, type(hits)
            plain = (kind is list or kind is tuple) and are_plain(hits)
            draft.hits = hits = tuple(hits) if plain else take_hits(hits)  # the host may change its list
            draft.count = len(hits) if count is None else count
            if channels is not None:
                draft.channels, short = take_channels(channels)
                plain = plain and short
            self._plain = plain and (channels is not None or not draft.channels)  # those of a call before stay
            if stages is not None:
                draft.stages = dict(stages)
            if weights is not None:
                draft.weights = dict(weights)
            if quality is not None:
                draft.quality = quality
        except Exception as error:
            self._log.warn("what came back", error)

    def answer(self, text: str, citations: Any = ()) -> None:
        """Record the text that was generated, and the ids that it cites."""
        try:
            self._draft.answer = text
            self._draft.citations = to_ids(citations)
        except Exception as error:
            self._log.warn("the answer", error)

    def fail(self, error: object) -> None:
        """Record that the query failed, and why."""
        try:
            name = f"{type(error).__name__}: " if isinstance(error, BaseException) else ""
            self._draft.error = f"{name}{error}" or "failed"
        except Exception as problem:
            self._draft.error = "failed"
            self._log.warn("the error", problem)

    def note(self, **attributes: Any) -> None:
        """Record anything else, as JSON values."""
        self._draft.attributes = {**(self._draft.attributes or {}), **attributes}

    def begin(self) -> None:
        """Start the clock; ``with`` does it."""
        self._draft.time = time()
        self._start = perf_counter()

    def finish(self, *, time: float | None = None, latency: float | None = None) -> None:
        """Write the record; leaving ``with`` does it. Seconds since 1970 and milliseconds may be given instead."""
        if not self.logged:
            return
        if time is not None:
            self._draft.time = time
        self._draft.latency = (perf_counter() - self._start) * 1000 if self._start and latency is None else latency
        self._log.write(self._draft, plain=self._plain)

    def __enter__(self) -> Asked:
        self._draft.time = time()  # as begin() does
        self._start = perf_counter()
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is not None:
            self.fail(error)
        if self.logged:  # as finish() does
            self._draft.latency = (perf_counter() - self._start) * 1000
            self._log.write(self._draft, plain=self._plain)

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


def take_result(asked: Asked, result: Any) -> Any:
    """Record what a function returned, hits or an answer, and return it as it is."""
    if isinstance(result, Answer):
        asked.results(result.hits)
        asked.answer(result.text, result.citations)
    else:
        asked.results(result)
    return result
