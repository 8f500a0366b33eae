"""A finished run as telemetry sees it: plain values, from whoever made the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuery:
    """A question that was asked."""

    query: str
    """The id of the query."""
    text: str
    relevant: int
    """How many targets are relevant."""
    seconds: float | None
    """How long it took; None if that is not known."""
    returned: int = 0
    error: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)
    """By measure; what has no value is in ``missing``."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """Why a measure has no value."""
    documents: tuple[tuple[str, float], ...] = ()
    """The ids and scores of the hits, which are sent only where content is asked for."""
    paraphrase: int = 0
    repeat: int = 0
    session: str = ""
    envelope: Mapping[str, Any] = field(default_factory=dict)
    """The envelope of the record that it was read from: event, trace_id, agent_id, mem_rev and so on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """What a gate decided, and the difference of each measure to the baseline."""

    outcome: str
    baseline: str
    deltas: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """A run with its scores."""

    id: str
    """The id that report, spans and metrics share: the name of the run's file."""
    system: str
    golden: str
    k: int
    begun: float
    """Seconds since 1970, UTC."""
    seed: str = ""
    """What the ids of its trace are made from, so that who judges the run later finds it; empty: they are by chance."""
    queries: tuple[AskedQuery, ...]
    means: Mapping[str, float]
    """By measure, without those that no query has a value of."""
    regression: Regression | None = None
