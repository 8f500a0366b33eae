"""A receiver that writes traces as soon as it is told to, and what the log has then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from karat.online import LoggedEvent, LoggedQuery, ingest, read_log
from karat.online.receiving import Receiver

Read = Callable[[], tuple[list[LoggedQuery], list[LoggedEvent]]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The store of a log."""
    return tmp_path / "karat.db"


@pytest.fixture
def receiver(path: Path) -> Iterator[Receiver]:
    """A receiver for that store, which keeps ids as they are."""
    with Receiver(path, settle=0, keep_ids=True) as receiver:
        yield receiver


@pytest.fixture
def read(path: Path) -> Read:
    """A function that brings all into the store, and returns its queries and events."""

    def read() -> tuple[list[LoggedQuery], list[LoggedEvent]]:
        ingest(path)
        with read_log(path) as log:
            return list(log.queries()), list(log.events())

    return read
