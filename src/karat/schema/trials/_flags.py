"""What ``karat flag`` prints."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class FlagRow(Struct, frozen=True, kw_only=True):
    """A flag: who gets a feature."""

    key: str
    percent: float
    """The share of units that get the feature."""
    variants: Mapping[str, int]
    """The variants of the feature, by their weights."""
    overrides: Mapping[str, str]
    """Variants of single units."""
    enabled: bool
    """False if the kill switch is thrown: everybody gets the control."""
    shadow_percent: float
    """The share of queries for which the feature runs in the shadow."""
    salt: str
    """What deals the units; the key, if it is empty."""
    version: int
    """How often the flag was changed, from 1."""


class FlagList(Struct, frozen=True, kw_only=True):
    """The flags of a store."""

    store: str
    flags: tuple[FlagRow, ...]


class FlagChangeRow(Struct, frozen=True, kw_only=True):
    """A change of a flag: who, when, why, from what, to what."""

    key: str
    changed: bool
    """False if the flag was like that already; then there is no entry in the history."""
    time: str | None
    """In UTC; null if nothing changed."""
    author: str
    reason: str
    before: FlagRow | None
    """Null if the flag is new."""
    after: FlagRow


class FlagHistory(Struct, frozen=True, kw_only=True):
    """The changes of flags, the oldest first."""

    store: str
    changes: tuple[FlagChangeRow, ...]
