"""Threads that share the batches, each with a core to itself.

NumPy lets go of Python's lock while it computes, so threads are enough. But OpenBLAS would start threads of its own for
each product; they wait for one another, and burn the cores while they do. So it uses one while batches run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_MOST = 16  # a batch takes some 20 MB, and memory is shared


def spread(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Give ``function(item)`` for all items, in their order, computed on all cores.

    As many threads run as BLAS would start: OPENBLAS_NUM_THREADS and its like still say how many. Without threadpoolctl
    it is one, and BLAS does as it likes. After an error, or Ctrl-C, what has not begun is left out.

    >>> spread(len, ["a", "bcd"])
    [1, 3]
    """
    blas = _blas()
    if blas is None:
        return [function(item) for item in items]
    threads = min(blas.threads, len(items), _MOST)
    with blas:
        if threads <= 1:
            return [function(item) for item in items]
        pool = ThreadPoolExecutor(threads, "karat-embed", initializer=blas.limit_this_thread)
        try:
            return list(pool.map(function, items))
        finally:
            pool.shutdown(cancel_futures=True)


class SingleThreadedBlas:
    """While anyone is inside, BLAS computes in the thread that calls it.

    The setting belongs to the process, so the first who enters changes it, and the last who leaves puts it back. That
    may be two threads, but threadpoolctl wants it to be one: so a third holds the setting in between.
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
            self._entered.set()  # nobody waits for what has failed

    def limit_this_thread(self) -> None:
        """Do it also for a BLAS that knows a setting for each thread."""
        self._controller.limit(limits=1)


@cache
def _blas() -> SingleThreadedBlas | None:
    try:
        return SingleThreadedBlas()
    except ImportError:
        return None
