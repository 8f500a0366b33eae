"""Where the live traffic of a project is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from karat.config import read_config
from karat.online import has_log
from karat.store import has_store, is_address

STORE = "karat.db"
"""The name of a store in the folder of a project, if nothing else is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveStore:
    """The store of a project's log."""

    place: str
    """A path or an address, as the functions of the library take it."""
    name: str
    """What people call it: the path from the project's folder, or the address."""
    exists: bool
    """Whether there is a store or a journal; at an address only opening it tells."""
    has_store: bool
    """The same of the store alone: what waits in a journal is not in it yet."""


def find_store(folder: Path, store: str = "") -> LiveStore:
    """Return the store of a project: the one that is given, or that karat.toml names, or ``karat.db`` beside it.

    A path in karat.toml, as all of them there, begins at the project's folder; one that is given does where karat runs.
    """
    place = store or read_config(folder).online.store
    if is_address(place):
        return LiveStore(place=place, name=place, exists=True, has_store=True)
    path = Path(store) if store else folder / (place or STORE)
    return LiveStore(
        place=os.fspath(path), name=store or place or STORE, exists=has_log(path), has_store=has_store(path)
    )
