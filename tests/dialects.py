"""Runs tests of the online half a second time with PostgreSQL in place of each file of SQLite.

All that asks the store by SQL is then asked of both. A test that looks into the file itself is of SQLite alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from karat.store import _sqlite
from postgres import make_address

MODULES = {
    "feedback/test_harvest.py",
    "feedback/test_report.py",
    "feedback/test_trial_logs.py",
    "monitoring/test_canary.py",
    "monitoring/test_watch.py",
    "monitoring/test_webhook.py",
    "online/test_exchange.py",
    "online/test_flag_changes.py",
    "online/test_forget.py",
    "online/test_origins.py",
    "online/test_runs.py",
    "online/test_shadow_records.py",
    "online/test_shadow_report.py",
    "online/test_trials.py",
    "server/test_server_trials.py",
    "store/test_store.py",
    "store/test_traffic.py",
}
SLOW = {
    "test_a_decision_is_confirmed_with_a_reason_and_written_down",
    "test_batches_add_up_once_whoever_sends_them",
    "test_it_goes_on_after_two_windows_that_are_fine",
    "test_of_many_writers_at_once_one_makes_the_transition",
    "test_shares_of_queries_by_hand",
    "test_what_is_not_measured_is_never_fine",
}
"""Tests that take a third of a second or more with PostgreSQL, and less with SQLite."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Ask for both databases."""
    path = metafunc.definition.path
    if f"{path.parent.name}/{path.name}" not in MODULES or metafunc.definition.get_closest_marker("sqlite"):
        return
    marks = [pytest.mark.slow] if metafunc.definition.originalname in SLOW else []
    metafunc.parametrize("dialect", ["sqlite", pytest.param("postgresql", marks=marks)], indirect=True)


@pytest.fixture(autouse=True)
def dialect(request: pytest.FixtureRequest) -> Iterator[str]:
    """Put a schema of PostgreSQL in the place of each file."""
    name = getattr(request, "param", "sqlite")
    with pytest.MonkeyPatch.context() as monkeypatch:
        if name == "postgresql":
            _replace(monkeypatch)
        yield name


def _replace(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses: dict[Path, str] = {}

    def open_other(path: str | os.PathLike[str], *, write: bool, make: bool) -> object:
        from karat.store._postgres import open_postgres

        place = Path(path).absolute()
        if not (write and make) and not place.exists():
            return open_sqlite(path, write=write, make=make)  # says that it is not there
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
        address = addresses.setdefault(place, make_address())
        return open_postgres(address, write=write, make=make)

    open_sqlite = _sqlite.open_sqlite
    monkeypatch.setattr(_sqlite, "open_sqlite", open_other)
