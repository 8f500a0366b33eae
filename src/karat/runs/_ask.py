"""Asking many questions: bounded concurrency, time limits, responses in the order of the questions."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from typing import Any

from karat.core import Context, Document, Stage, SystemFailed, UsageError, shorten
from karat.net import describe_error, hide_secrets, resolve
from karat.runs._workers import Response, Workers
from karat.schema import LONGEST
from karat.systems import (
    Retrieved,
    System,
    list_hits,
    open_answer,
    read_answer,
    read_stages,
    read_telemetry,
)

_DIGITS = 4  # decimals of milliseconds; rounded here, so that a run does not change when it is written and read

Wording = tuple[str, Context] | tuple[str, Context, AbstractContextManager[None]]
"""The text of a question, its context, and what is entered while it is asked, if anything is."""
Preparation = tuple[Context, Sequence[Document], bool]
"""A turn of a session, the memories that are stored before it, and whether the session starts with it."""


def ask_all(
    system: System,
    questions: Iterable[Wording],
    k: int,
    *,
    concurrency: int = 1,
    timeout: float | None = None,
    batch: int = 1,
) -> Iterator[Response]:
    """Ask a system every question, at most ``concurrency`` at a time, and yield the responses in the same order.

    A question that fails has a response with an error, and so has one that takes longer than ``timeout`` seconds: its
    coroutine is cancelled; its thread is abandoned and replaced. With ``batch`` the system gets that many questions in
    one call of ``retrieve_many``; they share its time, and its error if it fails.
    """
    call = _call_many(system, k, batch, timeout) if batch > 1 else _call_one(system, k, timeout)

    def ask(wordings: Sequence[Wording]) -> Sequence[Response]:
        return _ask_batch(call, wordings, k, system.tenant) if batch > 1 else (_ask(call, wordings, k, system.tenant),)

    yield from _work_off(ask, _split(questions, batch), concurrency, timeout)


def prepare_all(
    system: System, turns: Iterable[Preparation], *, concurrency: int = 1, timeout: float | None = None
) -> Iterator[Response]:
    """Start sessions and store memories, as many at a time and as long as questions are asked.

    The responses are in the order of the turns, and have nothing but an error where that failed.
    """

    def prepare(items: Sequence[Preparation]) -> Sequence[Response]:
        context, memories, starts = items[0]
        response = Response()
        with _recording_failure([response]), _timing([response]):
            if starts and system.start_session is not None:
                system.start_session(context)
            if memories and system.remember is not None:
                system.remember(memories, context)
        return (response,)

    yield from _work_off(prepare, ((turn,) for turn in turns), concurrency, timeout)


def _work_off(
    ask: Callable[[Sequence[Any]], Sequence[Response]],
    calls: Iterable[Sequence[Any]],
    concurrency: int,
    timeout: float | None,
) -> Iterator[Response]:
    if concurrency <= 1 and timeout is None:
        for items in calls:
            yield from ask(items)
        return
    yield from Workers(ask, max(1, concurrency), timeout).run(calls)


def _call_one(system: System, k: int, timeout: float | None) -> Callable[[Sequence[Wording]], Any]:
    def call(wordings: Sequence[Wording]) -> Any:
        text, context, *around = wordings[0]
        if around:
            with around[0]:
                return call(((text, context),))
        return resolve(system.retrieve(text, k, **({"context": context} if system.takes_context else {})), timeout)

    return call


def _call_many(system: System, k: int, batch: int, timeout: float | None) -> Callable[[Sequence[Wording]], Any]:
    many = system.retrieve_many
    if many is None:
        raise UsageError(f"batch={batch}, but {system.name} has no retrieve_many(queries, k)")
    if system.takes_context and not system.takes_contexts:
        raise UsageError(
            f"batch={batch}, but retrieve_many of {system.name} has no parameter contexts, while its retrieve takes a "
            "context; add it, or ask without --batch"
        )

    def call(wordings: Sequence[Wording]) -> Any:
        contexts = {"contexts": [context for _, context, *_ in wordings]} if system.takes_contexts else {}
        return resolve(many([text for text, *_ in wordings], k, **contexts), timeout)

    return call


def _split(questions: Iterable[Wording], size: int) -> Iterator[Sequence[Wording]]:
    remaining = iter(questions)
    while batch := tuple(islice(remaining, size)):
        yield batch


def _ask(call: Callable[[Sequence[Wording]], Any], wordings: Sequence[Wording], k: int, tenant: str) -> Response:
    """Ask one question."""
    response = Response()
    # Written out, since entering and leaving two contexts takes longer than the rest.
    try:
        start = time.perf_counter()
        try:
            result = _read(call(wordings), response, k, tenant)
        finally:
            response.milliseconds = round((time.perf_counter() - start) * 1000, _DIGITS)
        if isinstance(result, Retrieved) and result.milliseconds is not None:
            response.milliseconds = round(max(result.milliseconds, response.milliseconds), _DIGITS)
    except BaseException as error:
        _record_failure(error, [response])
    return response


def _ask_batch(
    call: Callable[[Sequence[Wording]], Any], wordings: Sequence[Wording], k: int, tenant: str
) -> list[Response]:
    """Ask several questions in one call; each response has an equal share of the time."""
    responses = [Response() for _ in wordings]
    with _recording_failure(responses), _timing(responses):
        result = call(wordings)
        is_list = isinstance(result, Iterable) and not isinstance(result, str | bytes | Mapping)
        lists = list(islice(result, len(wordings) + 1)) if is_list else None
        if lists is None or len(lists) != len(wordings):
            answer = shorten(result if lists is None else lists)
            raise SystemFailed(f"retrieve_many returned {answer} for {len(wordings)} questions, not a list for each")
        for response, hits in zip(responses, lists, strict=True):
            with _recording_failure([response]):
                _read(hits, response, k, tenant)
    return responses


def _read(result: object, response: Response, k: int, tenant: str) -> object:
    """Read what the system returned for a question into the response, and return the hits as they came."""
    if type(result) is list:  # which has nothing but hits
        response.hits = list_hits(result, k, tenant)
        return result
    answer = open_answer(result)
    if answer is not None:
        result = answer.hits
    response.hits = list_hits(result, k, tenant)
    response.stages = read_stages(result)
    response.timings = {**_sum_times(response.stages), **_read_timings(result)}
    response.telemetry = read_telemetry(result)
    if answer is not None:
        response.answer = read_answer(answer, tuple(response.hits))
    return result


def _sum_times(stages: Iterable[Stage]) -> dict[str, float]:
    times: dict[str, float] = {}
    for stage in stages:
        if stage.milliseconds is not None:
            times[stage.label] = times.get(stage.label, 0.0) + stage.milliseconds
    return times


@contextmanager
def _timing(responses: Sequence[Response]) -> Iterator[None]:
    """Record in each response its share of the time.

    Hits are read in that time: a generator, a lazy list or a lazy hit does its work only when it is read.
    """
    start = time.perf_counter()
    try:
        yield
    finally:
        milliseconds = (time.perf_counter() - start) * 1000
        for response in responses:
            response.milliseconds = round(milliseconds / len(responses), _DIGITS)


@contextmanager
def _recording_failure(responses: Sequence[Response]) -> Iterator[None]:
    """Record whatever a system raises as the error of its responses."""
    try:
        yield
    except BaseException as error:
        _record_failure(error, responses)


def _record_failure(error: BaseException, responses: Sequence[Response]) -> None:
    """Record an exception as the error of some responses; raise it again if the system did not raise it."""
    if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
        raise error  # Ctrl-C, which only the main thread gets
    for response in responses:
        response.hits, response.answer = (), None
        own = isinstance(error, SystemFailed) and str(error)
        response.error = hide_secrets(own) if own else describe_error(error)
        response.failure = error


def _read_timings(result: object) -> dict[str, float]:
    timings = getattr(result, "timings", {})
    try:
        stages = {str(stage): round(float(value), _DIGITS) for stage, value in timings.items()}
    except (AttributeError, TypeError, ValueError, OverflowError):
        stages = {"": math.nan}
    if not all(abs(value) <= LONGEST for value in stages.values()):
        raise SystemFailed(f"the system reports {shorten(timings)} as its timings, not milliseconds by stage")
    return stages
