"""One event loop for everything async, in a thread of its own.

A client creates its connections and locks in the loop of its first call, and every later call needs them there. So
there is one loop for the whole process.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Awaitable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from karat.core import SystemFailed
from karat.net._secrets import hide_secrets

if TYPE_CHECKING:  # imported when something is awaited: most systems are not async
    import asyncio

_LOCK = threading.Lock()


def resolve(value: Any, timeout: float | None = None) -> Any:
    """Return a plain value unchanged, and the result of an awaitable one.

    An awaitable that takes longer than ``timeout`` seconds is cancelled, and SystemFailed is raised.

    >>> async def later():
    ...     return 3
    >>> resolve(later()), resolve(3)
    (3, 3)
    """
    if type(value) is list or not inspect.isawaitable(value):  # nearly all systems return a list
        return value
    import asyncio

    future = asyncio.run_coroutine_threadsafe(_await(value), _get_loop())
    try:
        error = future.exception(None if timeout is None else min(timeout, threading.TIMEOUT_MAX))
    except TimeoutError:  # ours: exception() returns the awaitable's own errors, and does not raise them
        raise SystemFailed(f"no answer within {timeout:g} s") from None
    finally:
        future.cancel()  # releases what a hanging awaitable holds; does nothing if it is done
    if isinstance(error, SystemExit | KeyboardInterrupt):
        raise SystemFailed(describe_error(error)) from error
    return future.result()


def describe_error(error: BaseException) -> str:
    """Return the type and the text of an error without secrets, even if reading its text raises.

    >>> describe_error(ValueError("no such shard")), describe_error(KeyboardInterrupt())
    ('ValueError: no such shard', 'KeyboardInterrupt')
    """
    try:
        text = str(error)
    except Exception as another:
        text = f"(its text raises {type(another).__name__})"
    return f"{type(error).__name__}: {hide_secrets(text)}" if text else type(error).__name__


async def _await(value: Awaitable[Any]) -> Any:
    return await value


def _get_loop() -> asyncio.AbstractEventLoop:
    with _LOCK:  # several threads may ask for it first
        return _start_loop()


@lru_cache(maxsize=1)
def _start_loop() -> asyncio.AbstractEventLoop:
    import asyncio

    loop = asyncio.new_event_loop()
    # A daemon: a coroutine that hangs must not keep karat from ending.
    threading.Thread(target=_run_forever, args=(loop,), name="karat-loop", daemon=True).start()
    return loop


def _run_forever(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop forever. A task that raises SystemExit or KeyboardInterrupt ends itself, but not the loop."""
    while True:
        try:
            loop.run_forever()
        except (SystemExit, KeyboardInterrupt):
            continue
