"""The end of the process: its exit code is karat's, whatever code of the system under test does.

A retriever may end the process itself, by ``os._exit(0)`` in a thread or in a function that it registered with
``atexit``. Python's ``os._exit`` is therefore replaced before its module is imported: before karat has come to an end
such a call is a failure of the system, and afterwards it ends the process with karat's code.
"""

from __future__ import annotations

import atexit
import os
import sys
from importlib import import_module
from typing import Any, NoReturn

_FAILED = 3


class _Ending:
    """The process that karat runs in, and its exit code once that is known."""

    def __init__(self) -> None:
        self.exit = os._exit
        self.process = 0
        self.code: int | None = None
        self.has_own_code = False


_ending = _Ending()


def guard_exit() -> None:
    """Keep the system under test from choosing the exit code of this process."""
    _ending.process, _ending.code = os.getpid(), None
    # The name in posix or nt is that of the function itself.
    for module in (os, import_module(os.name)):
        setattr(module, "_exit", _exit)  # noqa: B010 (mypy does not know the module's type)


def note_own_code() -> None:
    """Note that code of the user's own may run, which may need Python to free its objects at the end."""
    _ending.has_own_code = True


def has_own_code() -> bool:
    """Return whether code of the user's own may have run in this process."""
    return _ending.has_own_code


def leave(code: int, *, at_once: bool) -> NoReturn:
    """End the process with an exit code that no exit handler can change.

    With ``at_once`` the memory is left to the operating system: Python frees value by value, which takes a twentieth of
    the time of a check, and a twelfth of that of a large run. Handlers of ``atexit`` run either way.
    """
    _ending.code = code
    if at_once:
        atexit._run_exitfuncs()
        _flush()
        _ending.exit(code)
    raise SystemExit(code)  # not by sys.exit, which the system may have replaced


def _exit(status: Any) -> NoReturn:
    if os.getpid() != _ending.process:
        _ending.exit(status)  # a process that the system started, which may end as it likes
    code = _ending.code
    if code is None:
        code = _FAILED
        message = f"karat: the system ended the process by os._exit({status}) before karat was done\n"
        os.write(2, message.encode(errors="replace"))
    else:
        _flush()
    _ending.exit(code)
    raise SystemExit(code)


def _flush() -> None:
    """Write what Python still holds: os._exit does not."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):  # none, or closed
            continue
