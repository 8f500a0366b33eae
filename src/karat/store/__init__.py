"""The store of the online half: queries, events, judgments, runs, trials and shadow runs, in SQLite."""

from karat.store._store import Row, Store, open_store

__all__ = ["Row", "Store", "open_store"]
