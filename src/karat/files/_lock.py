"""One at a time: a folder that is held against other processes."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from karat.core import InputError

_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL)  # a file system without them: there is nothing to hold


@contextmanager
def folder_lock(folder: Path, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold a folder against other karats, with no file left behind; where the system cannot, nothing is held.

    ``waiting`` is called when another one holds it, before this one waits.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    try:
        held = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}", source=str(folder)) from None
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if waiting is not None:
                waiting()
            fcntl.flock(held, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
        yield
    finally:
        os.close(held)
