"""New stores of tests as copies of one that has taken all steps: the steps take longer than most tests of what follows.

``tests/store`` takes the steps, as do processes that tests start.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

import pytest

from karat.store import _sqlite, open_store

STEPS, MAKE_OWN = _sqlite.MIGRATIONS, _sqlite.make_own


class Copies:
    """Makes the file of a new store as a copy, with an id of its own, where karat makes an empty file."""

    def __init__(self, folder: Path) -> None:
        path = folder / "empty.db"
        with open_store(path, write=True) as store:
            self._id = store.id.encode()
        self._file = path.read_bytes()

    def make(self, path: Path, mode: int) -> None:
        """Do what ``make_own`` does; it says why a file cannot be made, and looks at one that is there."""
        if _sqlite.MIGRATIONS is STEPS and not os.path.lexists(path):
            with suppress(OSError, AttributeError):  # only Linux has files without a name
                self._copy(path, mode)
        MAKE_OWN(path, mode)

    def _copy(self, path: Path, mode: int) -> None:
        """Write the file before it gets its name, which may be taken by then: whoever finds it can open it."""
        with os.fdopen(os.open(path.parent, os.O_TMPFILE | os.O_WRONLY, mode), "wb") as stream:
            stream.write(self._file.replace(self._id, secrets.token_hex(16).encode()))
            stream.flush()
            os.link(f"/proc/self/fd/{stream.fileno()}", path, src_dir_fd=stream.fileno())  # or the link gets the name


def copy_new_stores(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Let new stores be copies until the patch is undone."""
    patch.setattr(_sqlite, "make_own", Copies(folder).make)
