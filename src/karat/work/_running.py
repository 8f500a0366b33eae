"""The process of a piece of work: it runs the verb, watches for a wish to stop it, and writes down how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from karat.files import open_own
from karat.schema.pages import WorkEnd, WorkHead
from karat.work._files import END, HEAD, OUTPUT, PROGRESS, STOP, read, write

_LOOK = 0.2  # seconds between two looks for a wish to stop
_PATIENCE = 15.0  # seconds in which a verb that is interrupted may end
VARIABLE = "KARAT_PROGRESS"
"""The environment variable with the file to which a verb writes how far it is."""


def run_work(place: str, lock: str) -> None:
    """Run the verb of the folder of a piece of work to its end.

    ``lock`` is the descriptor that holds the folder's lock; the verb gets it, too, and holds it if this process dies.
    """
    folder = Path(place)
    head = read(folder, HEAD, WorkHead)
    if head is None:
        return
    with os.fdopen(open_own(folder / OUTPUT, os.O_WRONLY | os.O_APPEND), "ab") as output:
        process = subprocess.Popen(  # noqa: S603 (karat itself, with arguments that were checked)
            [sys.executable, "-P", "-m", "karat", *head.arguments],  # no module of the current folder
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=os.environ | {VARIABLE: str(folder / PROGRESS)},
            pass_fds=(int(lock),),
            start_new_session=True,
        )
    stopped = _wait(process, folder / STOP)
    code = process.wait()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # what it has started and left behind
    write(folder, END, WorkEnd(code=code, at=f"{datetime.now(tz=UTC):%Y-%m-%dT%H:%M:%SZ}", stopped=stopped))


def _wait(process: subprocess.Popen[bytes], wish: Path) -> bool:
    """Wait for a process to end, which is stopped if somebody wishes; return whether it was."""
    while process.poll() is None:
        if wish.exists():
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE)
            process.kill()
            return True
        time.sleep(_LOOK)
    return False
