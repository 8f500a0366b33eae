"""What karat says of a store."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class StoreCheck(Struct, frozen=True, kw_only=True):
    """Whether a store is in order."""

    store: str
    version: int
    rows: Mapping[str, int]
    """How many each table has."""
    problems: tuple[str, ...]


class StoreCopy(Struct, frozen=True, kw_only=True):
    """A copy of a store, which was read again and compared."""

    source: str
    target: str
    rows: Mapping[str, int]
    """How many each table has."""


class StoreMigration(Struct, frozen=True, kw_only=True):
    """A store that was created, or upgraded to this version of karat."""

    store: str
    version: int
    """How many steps its tables have taken."""
