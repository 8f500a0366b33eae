"""Errors of the database and the disk, as errors of karat."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from karat.core import InputError, SystemFailed


@contextmanager
def explain(path: Path) -> Iterator[None]:
    """Raise errors of the database and the disk as errors of karat."""
    try:
        yield
    except (sqlite3.OperationalError, OSError) as error:
        if _is_full(error):
            problem = "the disk is full: nothing of this was stored, and what is in the journal stays there"
            raise SystemFailed(f"{path}: {problem}; make room, and try again") from None
        if isinstance(error, OSError):
            raise InputError(f"cannot be used as a store: {error.strerror}", source=str(path)) from None
        hint = "is the disk full, or does another process hold the store?"
        raise SystemFailed(f"{path}: cannot be used: {error}; {hint}") from None
    except sqlite3.DatabaseError as error:
        hint = "restore it from a backup, or move it away: karat makes a new one, and the journal is kept"
        raise InputError(f"cannot be used as a store: {error}", source=str(path), hint=hint) from None


def _is_full(error: sqlite3.OperationalError | OSError) -> bool:
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    return error.sqlite_errorcode == sqlite3.SQLITE_FULL
