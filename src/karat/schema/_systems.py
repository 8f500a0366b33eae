"""What ``karat systems list --json`` prints."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class SystemKind(Struct, frozen=True, kw_only=True):
    """A kind of system that karat.toml can name."""

    kind: str
    summary: str
    extra: str
    """The extra of karat that it needs; empty for none."""
    installed: bool
    versions: Mapping[str, str | None]
    """The version of each package that it needs; null if the package is not installed."""
    install: str
    """The command that installs what is missing; empty if nothing is."""


class SystemListing(Struct, frozen=True, kw_only=True):
    """The kinds of systems."""

    systems: tuple[SystemKind, ...]
