"""What ``karat doctor --json`` prints."""

from __future__ import annotations

from msgspec import Struct

from karat.schema._types import Count


class InstalledPackage(Struct, frozen=True, kw_only=True):
    """A package that karat, or one of its extras, asks for."""

    name: str
    asked: str
    """The versions that will do, such as ``>=2.0,<3``; empty for any."""
    version: str | None
    """The version that is installed; null if none is."""
    ready: bool


class InstalledExtra(Struct, frozen=True, kw_only=True):
    """An extra of karat."""

    name: str
    purpose: str
    ready: bool
    needed: bool
    """Whether the project needs it."""
    packages: tuple[InstalledPackage, ...]
    install: str
    """The command that installs what is missing; empty if nothing is."""


class InstalledPlace(Struct, frozen=True, kw_only=True):
    """A place in which karat keeps files, or looks for them."""

    name: str
    path: str
    """Empty for one that is turned off."""
    exists: bool
    writable: bool
    """Whether karat could write there, or make it."""
    bytes: Count | None
    """How large it is; null if nothing is there."""
    note: str
    """What it is for, and what chooses it."""


class InstallationReport(Struct, frozen=True, kw_only=True):
    """What is installed, what is missing, and where files are."""

    karat: str
    """The version."""
    code: str
    """The folder of the code that runs."""
    python: str
    executable: str
    platform: str
    ready: bool
    """Whether karat can work here, with the project if there is one."""
    project: str
    """The folder of the project that was looked at; empty if there is none."""
    packages: tuple[InstalledPackage, ...]
    extras: tuple[InstalledExtra, ...]
    places: tuple[InstalledPlace, ...]
    problems: tuple[str, ...]
    """What has to be mended before karat can work here, each with what to do."""
    notes: tuple[str, ...]
    """What is worth knowing, and stops nothing."""
