"""Whether the flag of a feature dealt sessions in the same way as long as its trial ran."""

from __future__ import annotations

from collections.abc import Iterable

from karat.online._times import format_time
from karat.online.flags import FlagChange, collect_changes, list_new_deals
from karat.store import Store


def list_deals_since(store: Store, feature: str, started: float) -> tuple[str, ...]:
    """Return the changes of a flag after a time that dealt sessions anew, each in a few words."""
    return _describe(change for change in collect_changes(store, feature) if change.time > started)


def list_deals(store: Store, feature: str, after: int, until: int) -> tuple[str, ...]:
    """Return the changes that dealt sessions anew, by the versions of the flag: clocks may be wrong."""
    return _describe(change for change in collect_changes(store, feature) if after < change.version <= until)


def _describe(changes: Iterable[FlagChange]) -> tuple[str, ...]:
    return tuple(
        f"{', '.join(parts)} ({format_time(change.time)[:16]}, {change.author})"
        for change, parts in list_new_deals(changes)
    )
