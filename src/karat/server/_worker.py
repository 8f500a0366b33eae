"""The process that indexes: it does what the server writes to its input, a line each, and ends when that ends."""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from typing import Any

from karat.core import KaratError
from karat.index import Indexer
from karat.pages import keep_traffic


def main() -> None:
    """Work for the server that started this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process
    with suppress(OSError, AttributeError):
        os.nice(10)
    indexer, store = Indexer(sys.argv[1]), sys.argv[2]
    for line in sys.stdin:
        job = json.loads(line)
        _say(kind="done", job=job, error=_work(indexer, store, job))


def _work(indexer: Indexer, store: str, job: list[str]) -> str:
    """Do a job, and return what went wrong, or an empty text."""
    try:
        if job[0] == "update":
            indexer.update(lambda what: _say(kind="changed", what=what))
        elif job[0] == "compare":
            indexer.compare(job[1], job[2])
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
