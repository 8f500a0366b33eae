"""Settings of the process that make large files cheaper; a library should not change them for its caller."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable
from pathlib import Path

_LARGE = 4 * 2**20  # bytes; below, it would cost more than it saves
_kept: list[object] = []
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # the numbers of glibc's <malloc.h>


def tune_imports() -> None:
    """Set what NumPy and Polars read when they are imported. A verb that asks a system leaves that to the system."""
    # Scoring does not gain from more threads, and starting them costs more than a small run.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    # The kernel searches and clears two megabytes for each huge page. Columns that live for a moment do not earn it.
    os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")


def tune(paths: Iterable[str | Path]) -> None:
    """Prepare to read files, compute and end; call it before NumPy and Polars are imported.

    A verb that asks a system does not call it: nothing looks for cycles any more, and the system may make some.
    """
    tune_imports()
    # Not with pathlib, which raises on odd names.
    if any(os.path.isfile(path) and os.path.getsize(path) > _LARGE for path in paths):  # noqa: PTH113, PTH202
        _keep_freed_memory()
        gc.disable()  # a million values that all live to the end would be looked at again and again


def is_tuned() -> bool:
    """Return whether the process reads large files, and no system was asked in it."""
    return not gc.isenabled()


def keep(value: object) -> None:
    """Keep a value of large files until the process ends: to free its parts one by one takes longer than to end."""
    if is_tuned():
        _kept.append(value)


def _keep_freed_memory() -> None:
    """Let the allocator reuse large blocks instead of returning them: page faults are a tenth of a large run."""
    import ctypes

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return  # not glibc
    mallopt(_TRIM_THRESHOLD, 2**28)
    mallopt(_MMAP_THRESHOLD, 2**28)
