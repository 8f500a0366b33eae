"""Acknowledging that hosts dropped records: somebody has looked, and says so, for whoever looks next."""

from __future__ import annotations

import os
import time

from karat.core import UsageError, is_text
from karat.online._health import look_for_drops
from karat.online._ingest import lock_ingester
from karat.online._paths import find_paths
from karat.online._times import format_time
from karat.schema import OnlineAcknowledgement
from karat.store import open_store

_LONGEST = 1000


def acknowledge_drops(path: str | os.PathLike[str] = "karat.db", *, author: str, reason: str) -> OnlineAcknowledgement:
    """Acknowledge all records that hosts have dropped until now; what they drop later counts again.

    The records stay lost, and reports still show them, but the health of the log no longer counts as bad because of
    them.
    """
    for what, text in (("an author", author), ("a reason", reason)):
        if not is_text(text, _LONGEST):
            raise UsageError(f"an acknowledgement needs {what}, of up to {_LONGEST:,} letters")
    paths = find_paths(path)
    paths.require_log()
    now = time.time()
    with open_store(paths.store, write=True) as store:
        if paths.journal.is_dir():
            with lock_ingester(paths), store.transaction():  # else an ingester could count more of a segment meanwhile
                for segment, counts in look_for_drops(paths).items():
                    store.set_drops(segment, counts)
                dropped = store.acknowledgements.add(now, author, reason)
        else:
            with store.transaction():
                dropped = store.acknowledgements.add(now, author, reason)
    return OnlineAcknowledgement(time=format_time(now), author=author, reason=reason, dropped=dropped)
