"""A lock on a folder, so that two processes do not write to it at the same time."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from karat.core import InputError

_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL)  # the file system has no locks


@contextmanager
def lock_folder(folder: Path, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
    """Lock a folder against other karat processes, without leaving a file behind.

    If another process holds the lock, call ``on_wait`` and then wait. Where the system has no locks, do nothing.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}", source=str(folder)) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if on_wait is not None:
                on_wait()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
        yield
    finally:
        os.close(descriptor)


def hold_folder(folder: Path) -> int | None:
    """Lock a folder for good; return the descriptor that holds the lock, or None if another process does.

    The lock passes to the processes that get the descriptor, and ends with the last of them, however that ends. Only
    where the system has locks.
    """
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
