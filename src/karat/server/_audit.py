"""The audit log: who signed in, who was refused, and who changed what. Lines are only ever added."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from msgspec import to_builtins

from karat.core import SystemFailed
from karat.files import append_file, make_folder, make_own
from karat.schema.pages import AuditLine

_LONGEST = 500  # characters of a fact: a request cannot fill the disk with one line
_WINDOW, _STRANGERS = 60.0, 20  # seconds, and lines about an address without a token in them


class Audit:
    """Appends a line of JSON for each event to a file that only its owner can read."""

    def __init__(self, folder: str | Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path, self._clock = Path(folder) / ".karat" / "audit.jsonl", clock
        self._lock, self._since = threading.Lock(), clock()
        self._strangers: Counter[str] = Counter()

    def note(self, event: str, **facts: str) -> None:
        """Add a line. Each is written at once, so that lines of several processes do not mix."""
        now = f"{datetime.now(tz=UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
        line = AuditLine(time=now, event=event, **{name: fact[:_LONGEST] for name, fact in facts.items()})
        self.prepare()
        with self._explained():
            append_file(self._path, json.dumps(to_builtins(line)).encode() + b"\n")

    def prepare(self) -> None:
        """Make the file if there is none; raise SystemFailed if no line could be added, before something is changed."""
        with self._explained():
            make_folder(self._path.parent)
            make_own(self._path, 0o600)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise SystemFailed(f".karat/audit.jsonl cannot be written: {error.strerror}") from None

    def note_stranger(self, event: str, *, peer: str, path: str = "") -> None:
        """Add a line about somebody without a token, who cannot fill the disk: after some, one says that more follow.

        They are counted by address, and anew each minute.
        """
        with self._lock:
            if self._clock() - self._since >= _WINDOW:
                self._since, self._strangers = self._clock(), Counter()
            self._strangers[peer] += 1
            count = self._strangers[peer]
        if count <= _STRANGERS:
            self.note(event, peer=peer, path=path)
        elif count == _STRANGERS + 1:
            self.note("more refusals left out", peer=peer)
