"""Threads that share the batches, each on a core of its own.

NumPy releases Python's lock while it computes, so threads are enough. But OpenBLAS would start threads of its own for
each product, which wait for one another in busy loops. So it uses one thread while batches run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_MOST = 16  # threads: each batch takes about 20 MB


def spread(function: Callable[[T], R], items: Sequence[T], *, uses_blas: bool = True) -> list[R]:
    """Return ``function(item)`` for all items, in order, computed on all cores.

    There are as many threads as BLAS would start, so OPENBLAS_NUM_THREADS and the like still apply. Without
    threadpoolctl there is one, and BLAS starts its own. After an error or Ctrl-C no further item is begun. A single
    item of a function that does not use BLAS is computed at once: limiting BLAS takes a millisecond.

    >>> spread(len, ["a", "bcd"])
    [1, 3]
    """
    if len(items) == 1 and not uses_blas:
        return [function(items[0])]
    blas = _blas()
    if blas is None:
        return [function(item) for item in items]
    threads = min(blas.threads, len(items), _MOST)
    with blas:
        if threads <= 1:
            return [function(item) for item in items]
        from concurrent.futures import ThreadPoolExecutor  # kept vectors need none

        pool = ThreadPoolExecutor(threads, "karat-embed", initializer=blas.limit_this_thread)
        try:
            return list(pool.map(function, items))
        finally:
            pool.shutdown(cancel_futures=True)


class SingleThreadedBlas:
    """A context in which BLAS computes in the thread that calls it.

    The setting is that of the process: the first thread that enters changes it, and the last that leaves restores it.
    threadpoolctl wants one thread to do both, so a thread of our own holds the setting.
    """

    def __init__(self) -> None:
        self._controller = import_module("threadpoolctl").ThreadpoolController().select(user_api="blas")
        self.threads = max((library["num_threads"] for library in self._controller.info()), default=1)
        self._lock = threading.Lock()
        self._inside = 0
        self._entered, self._left = threading.Event(), threading.Event()

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._entered, self._left = threading.Event(), threading.Event()
                self._holder = threading.Thread(target=self._hold, name="karat-blas", daemon=True)
                self._holder.start()
                self._entered.wait()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._left.set()
                self._holder.join()

    def _hold(self) -> None:
        try:
            with self._controller.limit(limits=1):
                self._entered.set()
                self._left.wait()
        finally:
            self._entered.set()  # also after an error, so that nobody waits for ever

    def limit_this_thread(self) -> None:
        """Limit the calling thread, for a BLAS that has a setting for each thread."""
        self._controller.limit(limits=1)


@cache
def _blas() -> SingleThreadedBlas | None:
    try:
        return SingleThreadedBlas()
    except ImportError:
        return None
