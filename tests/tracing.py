"""What coverage traces: the calls of the tests that are to be covered, and their fixtures, but nothing of pytest.

A tracer is called at every call of a Python function, of pytest and its plugins too, which doubles the time of a small
test. pytest-cov turns it on for the whole session.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

FIRST_WORKER = (None, "gw0")
NONE = (None, None)


Tracers = tuple[Any, Any]
"""What is called for this thread, and for those that begin."""


def find_tracers() -> Tracers:
    return sys.gettrace(), threading.gettrace()


def install(tracers: Tracers) -> None:
    ours, of_threads = tracers
    sys.settrace(ours)
    threading.settrace(of_threads)


@contextmanager
def tracing(tracers: Tracers) -> Iterator[None]:
    """Let ``tracers`` trace what the block does."""
    before = find_tracers()
    install(tracers)
    try:
        yield
    finally:
        install(before)


class TracedCalls:
    """A plugin by which only what is to be covered is traced."""

    def __init__(self) -> None:
        self._tracers: Tracers = (None, None)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_collection(self) -> Iterator[None]:
        """Trace what modules do when they are imported in one worker: all import the same."""
        self._tracers = find_tracers()
        if os.environ.get("PYTEST_XDIST_WORKER") not in FIRST_WORKER:
            install(NONE)
        result = yield
        install(NONE)
        return result

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_fixture_setup(self) -> Iterator[object]:
        with tracing(self._tracers):
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        with tracing(NONE if item.get_closest_marker("untraced") else self._tracers):
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self) -> Iterator[object]:
        """Leave the tracers on at the end: coverage warns if they are not."""
        try:
            return (yield)
        finally:
            install(self._tracers)
