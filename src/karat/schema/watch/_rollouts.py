"""What the health of a log says of features on their way to people."""

from __future__ import annotations

from msgspec import Struct


class OnlineTrial(Struct, frozen=True, kw_only=True):
    """A trial that is not over."""

    feature: str
    number: int
    status: str
    """running or paused."""
    samples: int
    started: str


class OnlineFlag(Struct, frozen=True, kw_only=True):
    """A flag that some sessions have, or that runs in the shadow."""

    key: str
    percent: float
    shadow_percent: float
    changed: str


class OnlineAlert(Struct, frozen=True, kw_only=True):
    """An alert of ``karat online watch`` that is open."""

    name: str
    opened: str
