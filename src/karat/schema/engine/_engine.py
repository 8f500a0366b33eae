"""What karat says of an engine."""

from __future__ import annotations

from msgspec import Struct


class EngineCheck(Struct, frozen=True, kw_only=True):
    """One thing that an engine needs, or could use."""

    name: str
    ready: bool
    needed: bool
    """Whether the engine cannot work without it."""
    value: str
    """What is there; empty if nothing is."""
    hint: str
    """What is missing, and what to do; empty if it is ready."""


class EngineWorker(Struct, frozen=True, kw_only=True):
    """A machine on which tasks of a cluster run."""

    host: str
    python: str
    karat: str
    """Its version of karat; empty if it has none."""
    polars: str
    """Its version of Polars; empty if it has none."""


class EngineReport(Struct, frozen=True, kw_only=True):
    """Whether an engine can work."""

    engine: str
    ready: bool
    checks: tuple[EngineCheck, ...]
    executors: int
    """How many processes the cluster gave; 0 for this process."""
    workers: tuple[EngineWorker, ...]
