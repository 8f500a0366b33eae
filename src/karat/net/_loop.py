"""The event loop in which all that is async runs: one for the process, in a thread of its own.

One, because what a client makes at its first question (connections, locks) belongs to the loop of that question, and
every later one needs it.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable
from functools import lru_cache
from typing import Any

from karat.core import SystemFailed

_LOCK = threading.Lock()


def finished(value: Any, timeout: float | None = None) -> Any:
    """Give a value as it is; of something awaitable, what it comes to, or else it is cancelled and has failed.

    >>> async def later():
    ...     return 3
    >>> finished(later()), finished(3)
    (3, 3)
    """
    if not inspect.isawaitable(value):
        return value
    future = asyncio.run_coroutine_threadsafe(_awaited(value), _the_loop())
    try:
        error = future.exception(None if timeout is None else min(timeout, threading.TIMEOUT_MAX))
    except TimeoutError:  # not one of the system's own: those are given, not raised
        raise SystemFailed(f"no answer within {timeout:g} s") from None
    finally:
        future.cancel()  # so that one that hangs gives back what it holds; does nothing to one that is done
    if isinstance(error, SystemExit | KeyboardInterrupt):
        raise SystemFailed(words(error)) from error
    return future.result()


def words(error: BaseException) -> str:
    """Give the type and the text of an error, whatever its text does when it is asked for.

    >>> words(ValueError("no such shard")), words(KeyboardInterrupt())
    ('ValueError: no such shard', 'KeyboardInterrupt')
    """
    try:
        text = str(error)
    except Exception as another:
        text = f"(its text raises {type(another).__name__})"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


def _the_loop() -> asyncio.AbstractEventLoop:
    with _LOCK:  # several questions may be the first
        return _started()


@lru_cache(maxsize=1)
def _started() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    # A daemon: a coroutine that hangs must not keep karat from ending.
    threading.Thread(target=_spin, args=(loop,), name="karat-loop", daemon=True).start()
    return loop


def _spin(loop: asyncio.AbstractEventLoop) -> None:
    """Run for ever; a task that exits or interrupts ends itself, and not the loop of all the others."""
    while True:
        try:
            loop.run_forever()
        except (SystemExit, KeyboardInterrupt):
            continue
