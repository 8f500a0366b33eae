"""The process that indexes: it does what the server writes to its input, a line each, and ends when that ends."""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from queue import Queue
from threading import Thread
from typing import Any

from karat.core import KaratError
from karat.index import Indexer
from karat.pages import keep_traffic


def main() -> None:
    """Work for the server that started this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process
    with suppress(OSError, AttributeError):
        os.nice(10)
    indexer, store, jobs = Indexer(sys.argv[1]), sys.argv[2], Queue[list[str] | None]()
    Thread(target=_read, args=(jobs,), daemon=True).start()
    while job := jobs.get():
        error = _work(indexer, store, job, jobs)
        if error is None:
            jobs.put(job)  # after those that somebody waits for
        else:
            _say(kind="done", job=job, error=error)


def _read(jobs: Queue[list[str] | None]) -> None:
    """Put every job into the queue, and None at the end."""
    for line in sys.stdin:
        jobs.put(json.loads(line))
    jobs.put(None)


def _work(indexer: Indexer, store: str, job: list[str], jobs: Queue[list[str] | None]) -> str | None:
    """Do a job, and return what went wrong, or an empty text; None if it is not finished, because others wait."""
    try:
        if job[0] == "update":
            is_done = indexer.update(lambda what: _say(kind="changed", what=what), lambda: not jobs.empty())
            return "" if is_done else None
        if job[0] == "compare":
            indexer.compare(job[1], job[2])
        elif job[0] == "bounds":
            indexer.compare(job[1], job[2], bounds=True)
        elif job[0] == "traffic":
            keep_traffic(indexer, store, job[1])
    except KaratError as error:
        return str(error)
    return ""


def _say(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
