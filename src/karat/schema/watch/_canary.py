"""What ``karat online canary --json`` prints."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from karat.schema._types import Count
from karat.schema.watch._watch import AlertState


class CanaryRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A condition of the next step, or an alert of the canary, in one window."""

    name: str
    kind: Annotated[Literal["alert", "step"], Meta(description="An alert, or a condition of the next step.")]
    state: AlertState
    canary: float | None
    live: Annotated[float | None, Meta(description="The same of those without the feature; null if it is not needed.")]
    rule: str
    reason: str


class CanaryWindow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A window of the queries that had the feature, beside those that had not."""

    start: str
    end: str
    samples: Annotated[Count, Meta(description="Queries with the feature.")]
    live: Annotated[Count, Meta(description="Queries without it in the same span of time.")]
    state: Annotated[AlertState, Meta(description="fine if every condition is met.")]
    rules: tuple[CanaryRule, ...]


class CanaryReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The decision on a feature that some sessions have."""

    store: str
    flag: str
    time: str
    decision: Annotated[
        Literal["promote", "hold", "roll back", "done", "off"],
        Meta(description="done: everybody has it; off: the flag is switched off."),
    ]
    reason: str
    percent: Annotated[float, Meta(description="What the flag is at.")]
    next: Annotated[float, Meta(description="What the decision sets it to; 0 and off for a roll-back.")]
    version: Annotated[Count, Meta(description="The version of the flag that was looked at.")]
    applied: Annotated[bool, Meta(description="Whether the flag was changed.")]
    measured: Annotated[bool, Meta(description="False if the decision waits for what could not be measured.")]
    windows: Annotated[tuple[CanaryWindow, ...], Meta(description="Those since the flag was changed last.")]
    notes: tuple[str, ...]
