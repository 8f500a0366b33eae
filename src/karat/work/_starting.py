"""Starting and stopping work."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from karat.core import SystemFailed, UsageError
from karat.files import hold_folder, lock_folder, make_folder, make_own
from karat.schema.pages import WorkHead, WorkKind, WorkLine
from karat.work._files import FOLDER, HEAD, STOP, write
from karat.work._listing import find_work, list_work

# It leaves its parent at once, so that nobody has to wait for it, and a signal to the server is none to it.
_RUNNER = "import os, sys\nif os.fork(): os._exit(0)\nfrom karat.work import run_work\nrun_work(*sys.argv[1:])"


def start_work(project: Path, kind: WorkKind, title: str, arguments: Sequence[str], *, by: str) -> WorkLine:
    """Start a verb of karat in a process of its own, which goes on when this one ends; one at a time for a project."""
    if not hasattr(os, "fork"):
        raise UsageError("work cannot be started from a page on this system; use the command line")
    folder = project / FOLDER
    make_folder(folder)
    with lock_folder(folder):  # of two who start something at once, one does
        if running := next((line for line in list_work(project) if line.state == "running"), None):
            raise UsageError(f"{running.head.title} is under way since {running.head.at}, by {running.head.by}")
        now = datetime.now(tz=UTC)
        id_ = name_work(now)
        own = folder / id_
        own.mkdir(mode=0o700)
        head = WorkHead(
            id=id_, kind=kind, title=title, arguments=tuple(arguments), by=by, at=f"{now:%Y-%m-%dT%H:%M:%SZ}"
        )
        write(own, HEAD, head)
        _launch(own)
    return WorkLine(head=head, state="running", progress=None, end=None)


def name_work(time: datetime) -> str:
    """Return the id of what is started at a time: ids are in the order of their times, within a second, too.

    >>> name_work(datetime(2026, 11, 19, 5, 4, 13, 999_999))
    '20261119-050413-0f423f'
    """
    return f"{time:%Y%m%d-%H%M%S}-{time.microsecond:06x}"


def _launch(folder: Path) -> None:
    descriptor = hold_folder(folder)
    if descriptor is None:
        raise SystemFailed(f"{folder}: is in use by another process")
    try:
        subprocess.run(  # noqa: S603 (Python itself)
            [sys.executable, "-P", "-c", _RUNNER, str(folder), str(descriptor)],
            pass_fds=(descriptor,),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemFailed(f"the work cannot be started: {error}") from None
    finally:
        os.close(descriptor)


def stop_work(project: Path, id_: str) -> WorkLine:
    """Ask a piece of work to stop: it is interrupted as by Ctrl-C, and killed if that does not help."""
    line = find_work(project, id_)
    if line is None or line.state != "running":
        raise UsageError("it is not running")
    make_own(project / FOLDER / id_ / STOP)
    return line
