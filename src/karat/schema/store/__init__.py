"""The JSON of making, checking and copying a store."""

from karat.schema.store._store import StoreCheck, StoreCopy, StoreMigration

__all__ = ["StoreCheck", "StoreCopy", "StoreMigration"]
