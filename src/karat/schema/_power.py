"""What ``karat power --json`` prints."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class PowerRow(Struct, frozen=True, kw_only=True):
    """What queries with one spread of differences can show."""

    sd: float | None
    """Standard deviation of the differences, query by query; null where nothing differs."""
    n: int | None
    """How many queries there are; null where no number was given."""
    measure: str | None
    needed: int | None
    """How many queries find the effect with the wanted power."""
    power: float | None
    """The chance that n queries find the effect."""
    detectable: float | None
    """The smallest difference that n queries find with the wanted power."""


class GateRate(Struct, frozen=True, kw_only=True):
    """How a gate decides on simulated runs in which some queries were lost, or none."""

    lost: int
    """How many queries lost their answer; 0 where runs differ by chance only."""
    fail: float
    """The share of runs that fail; where nothing was lost these are false alarms."""
    inconclusive: float
    passed: float
    """The share of runs that pass; where queries were lost these are missed."""


class GatePower(Struct, frozen=True, kw_only=True):
    """How often a gate is wrong, simulated from the baseline of a project and its policy."""

    policy: str
    n: int
    """How many queries the baseline has."""
    runs: int
    """How many runs were simulated for each rate."""
    noise_from: Literal["queries", "run"]
    """Where changes by chance come from: the scores of other queries, or a second run."""
    noise: GateRate
    losses: tuple[GateRate, ...]
    baseline_fails: tuple[str, ...] = ()
    """The checks of the policy that the baseline itself fails: then every run like it does, too."""


class PowerPlan(Struct, frozen=True, kw_only=True):
    """How many queries it takes to find a difference, and what a number of queries can find."""

    effect: float
    power: float
    alpha: float
    sides: int
    spread_from: Literal["given", "repeats", "runs"]
    runs: tuple[str, ...]
    """The baseline and the candidate, the repeated run, or none where the spread was given."""
    rows: tuple[PowerRow, ...]
    meaning: str
    """The table in one sentence."""
    gate: GatePower | None = None
    """How often the project's gate is wrong; null unless asked for."""
