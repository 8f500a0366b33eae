"""Where the files of a log are: beside its store, or, if that is in PostgreSQL, in a folder of the host."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from karat.core import InputError
from karat.files import make_own, open_own
from karat.store import is_address, parse_address, read_path

FOLDER_VARIABLE = "KARAT_ONLINE_FOLDER"
"""Names the folder of journal, key and archive of a store in PostgreSQL; without it, they are in the working folder."""


@dataclass(frozen=True, slots=True)
class Paths:
    """The files of a log, by :func:`find_paths`."""

    store: Path | str
    """The file of the store, or its address."""
    base: Path
    """What the names of the other files begin with."""

    @property
    def is_local(self) -> bool:
        """Whether the store is a file, which has one journal; a server may have those of many hosts."""
        return isinstance(self.store, Path)

    def has_store(self) -> bool:
        """Return whether there is a store; at an address only opening it tells."""
        return not isinstance(self.store, Path) or self.store.exists()

    def is_log(self) -> bool:
        """Return whether there is a store, or a journal."""
        return self.has_store() or self.journal.is_dir()

    def require_log(self) -> None:
        """Refuse a path at which there is neither a store nor a journal."""
        if not self.is_log():
            raise InputError("no such log", source=str(self.store), hint="karat.online.open makes one, in the host")

    @property
    def journal(self) -> Path:
        """The folder of segments. Not ``-journal``: SQLite would take that for its own."""
        return self.base.with_name(f"{self.base.name}.journal")

    def make_journal(self) -> None:
        """Make the folder of segments if there is none; a folder without rights raises."""
        try:
            self.journal.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be made: {error.strerror}", source=str(self.journal)) from None

    @property
    def torn(self) -> Path:
        """The folder of what could not be read."""
        return self.journal / "torn"

    @property
    def read(self) -> Path:
        """The folder of segments that were read, which are kept for a server that has to be restored."""
        return self.journal / "read"

    @property
    def key(self) -> Path:
        """The key that ids are hashed with."""
        return self.base.with_name(f"{self.base.name}.key")

    @property
    def key_checks(self) -> Path:
        """A line for each key that ids of the log were hashed with, from which nobody can tell the key."""
        return self.journal / "keys"

    @property
    def archive(self) -> Path:
        """The folder of records that are too old for the store."""
        return self.base.with_name(f"{self.base.name}.archive")


def find_paths(path: str | os.PathLike[str]) -> Paths:
    """Return where the files of a log are, by the path or the address of its store.

    The host of an address has no part in it: after a change of servers the journal is still found.

    >>> find_paths("logs/karat.db").key.as_posix()
    'logs/karat.db.key'
    >>> find_paths("postgresql://db.example/logs").journal.name
    'karat-logs.journal'
    """
    if not is_address(path):
        place = read_path(path)
        return Paths(place, place)
    address = parse_address(str(path))
    parts = ("karat", address.database, *([] if address.schema == "karat" else [address.schema]))
    name = re.sub(r"[^\w.-]", "_", "-".join(parts))
    return Paths(str(path), Path(os.environ.get(FOLDER_VARIABLE, ""), name))


def has_log(path: str | os.PathLike[str]) -> bool:
    """Return whether there is a store or a journal at a path; at an address only opening it tells."""
    return find_paths(path).is_log()


def open_lock(path: Path) -> int:
    """Return a descriptor of a file that processes lock; it is made if there is none, and no link or pipe is taken."""
    try:
        make_own(path, 0o600)
        return open_own(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"cannot be locked: {error.strerror}", source=str(path)) from None
