"""Where the files of a log are: all beside its store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from karat.core import InputError


@dataclass(frozen=True, slots=True)
class Paths:
    """The files of a log.

    >>> Paths(Path("logs/karat.db")).key.as_posix()
    'logs/karat.db.key'
    """

    store: Path

    def is_log(self) -> bool:
        """Return whether there is a store, or a journal."""
        return self.store.exists() or self.journal.is_dir()

    def require_log(self) -> None:
        """Refuse a path at which there is neither a store nor a journal."""
        if not self.is_log():
            raise InputError("no such log", source=str(self.store), hint="karat.online.open makes one, in the host")

    @property
    def journal(self) -> Path:
        """The folder of segments. Not ``-journal``: SQLite would take that for its own."""
        return self.store.with_name(f"{self.store.name}.journal")

    @property
    def torn(self) -> Path:
        """The folder of what could not be read."""
        return self.journal / "torn"

    @property
    def key(self) -> Path:
        """The key that ids are hashed with."""
        return self.store.with_name(f"{self.store.name}.key")

    @property
    def key_checks(self) -> Path:
        """A line for each key that ids of the log were hashed with, from which nobody can tell the key."""
        return self.journal / "keys"

    @property
    def archive(self) -> Path:
        """The folder of records that are too old for the store."""
        return self.store.with_name(f"{self.store.name}.archive")
