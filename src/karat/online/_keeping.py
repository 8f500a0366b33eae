"""Making, checking and copying a store, of whichever database."""

from __future__ import annotations

import os

from karat import store as stores
from karat.core import InputError
from karat.online._paths import find_paths
from karat.online._segment import SUFFIX
from karat.schema.store import StoreCheck, StoreCopy, StoreMigration


def migrate_store(path: str | os.PathLike[str]) -> StoreMigration:
    """Create a store, or upgrade it to this version of karat."""
    with stores.open_store(path, write=True) as store:
        return StoreMigration(store=store.place, version=store.version)


def check_store(path: str | os.PathLike[str]) -> StoreCheck:
    """Look for damage in a store, for hours that are counted wrongly and for ids that occur twice."""
    with stores.open_store(path) as store:
        rows, problems = stores.check_store(store)
        return StoreCheck(store=store.place, version=store.version, rows=rows, problems=tuple(problems))


def copy_store(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> StoreCopy:
    """Copy a store into another one, which is made, or empty; the copy is read again and compared.

    It has the id of the store, so that trials go on where they were: use one of the two from then on. What waits in the
    journal is not in the store, and would stay behind; so it has to be ingested first.
    """
    waiting = len(list(find_paths(source).journal.glob(f"*{SUFFIX}")))
    if waiting:
        hint = f"stop the hosts, run karat online ingest {source}, and copy then"
        raise InputError(f"{waiting} segments of its journal are not in it", source=str(source), hint=hint)
    with stores.open_store(source) as old, stores.open_store(target, write=True) as new:
        rows = stores.copy_store(old, new)
        return StoreCopy(source=old.place, target=new.place, rows=rows)
