"""experiments.json and what ``karat experiments --json`` prints.

``list`` prints a log and ``show`` an entry, both as they stand in the file, keys of other tools included.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from karat.schema._sweep import ObjectiveChange, SweepReference


class ExperimentEntry(Struct, frozen=True, kw_only=True):
    """One entry of the log, as people and other tools write it."""

    id: Annotated[str, Meta(min_length=1)]
    date: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    config_changes: Mapping[str, Any] | UnsetType = UNSET
    results: Mapping[str, Any] | UnsetType = UNSET
    verdict: str | UnsetType = UNSET
    """ACCEPTED or REJECTED, with the reason in parentheses."""


class ExperimentLog(Struct, frozen=True, kw_only=True):
    """What was tried, and what came of it."""

    experiments: tuple[ExperimentEntry, ...]


class SweepTests(Struct, frozen=True, kw_only=True):
    """The p-value of a verdict, before and after the correction for the number of variants."""

    p: float | None
    p_corrected: float | None
    correction: Literal["westfall-young", "holm"] = "westfall-young"
    variants: int
    untested: str | UnsetType = UNSET
    """Why there is no p."""


class SweepEntry(Struct, frozen=True, kw_only=True):
    """What a sweep writes into the log; the log adds the id in front.

    A variant that failed has ``error``, every other one all that follows it.
    """

    date: str
    description: str
    config_changes: Mapping[str, Any]
    results: Mapping[str, float | None]
    verdict: str
    variant: str
    sweep: str
    policy: str
    error: str | UnsetType = UNSET
    objective: ObjectiveChange | UnsetType = UNSET
    tests: SweepTests | UnsetType = UNSET
    golden: Mapping[str, Any] | UnsetType = UNSET
    baseline: SweepReference | UnsetType | None = UNSET
    fingerprint: str | UnsetType = UNSET
    run: str | UnsetType = UNSET
    """The run file, as seen from the folder of the log."""


class ValueDifference(Struct, frozen=True, kw_only=True):
    """A key of the configuration that two experiments set differently; null where one does not set it."""

    first: Any
    second: Any


class ResultDifference(Struct, frozen=True, kw_only=True):
    """A result of two experiments."""

    first: Any
    second: Any
    difference: float | None
    """null unless both are numbers."""


class ExperimentDiff(Struct, frozen=True, kw_only=True):
    """Two experiments side by side."""

    experiments: tuple[str, str]
    config_changes: Mapping[str, ValueDifference]
    results: Mapping[str, ResultDifference]
    verdicts: tuple[str | None, str | None]
