"""Finished work as telemetry sees it: plain values, from whoever did it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct


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
    calls: tuple[ModelCall, ...] = ()
    """Calls of a model by which the questions were answered."""


def make_seed(run_id: str, begun: str) -> str:
    """Return what the ids of a run's trace are made from; empty if the run does not say when it began."""
    return f"{run_id} {begun}" if begun else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """A call of a language model."""

    model: str
    address: str
    port: int
    begun: float
    """Seconds since 1970, UTC."""
    seconds: float
    request: Mapping[str, float | int]
    """What it asked for: temperature, max_tokens, seed."""
    tokens: tuple[int, int] | None
    """Sent and received; None if the server does not say."""
    attempts: int = 1
    response_id: str = ""
    response_model: str = ""
    error: str = ""
    kind: str = ""
    """The type of the error."""
    prompt: tuple[str, str] | None = None
    """The name and version of the prompt."""
    query: str = ""
    paraphrase: int = 0
    repeat: int = 0
    judge: str = ""
    vote: int = 0
    messages: tuple[tuple[str, str], ...] = ()
    """Roles and texts, which are sent only where content is asked for."""
    reply: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAnswer:
    """What a judge says of the answer to a query."""

    query: str
    measure: str
    value: float | None
    judge: str
    """What decides about the opinions of the judge, in one line."""
    is_model: bool
    """Whether a model was asked."""
    reason: str = ""
    """Why there is no value."""
    explanation: str = ""
    """Why there is this value, which is sent only where content is asked for."""
    document: str = ""
    """The passage that was judged, if it was one."""
    paraphrase: int = 0
    repeat: int = 0
    vote: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedJudging:
    """Answers that were judged, or judging that failed half-way."""

    verb: str
    """What judged them, such as ``judge run``."""
    run: str
    """The id of the run whose answers they are."""
    seed: str = ""
    """What the ids of that run's trace are made from; empty if they are not known."""
    other: str = ""
    """The id of the run that it was compared with."""
    golden: str
    begun: float
    seconds: float
    calls: tuple[ModelCall, ...]
    answers: tuple[JudgedAnswer, ...]
    means: Mapping[str, float] = field(default_factory=dict)
    """By measure, without those that no query has a value of."""
    cached: int = 0
    """Replies that were in the cache, so that nobody was asked."""
    money: float = 0.0
    error: str = ""
    """Why it failed: then there are calls, and nothing else."""
    kind: str = ""
    """The type of the error."""


class LiveQuery(Struct, frozen=True):
    """A query that somebody asked. It is a struct, since there are many of them."""

    id: str
    time: float
    """When it was asked, in seconds since 1970, UTC."""
    milliseconds: float | None
    text: str
    documents: Sequence[tuple[str, float | None]]
    """The ids and scores of the hits; text and documents are sent only where content is asked for."""
    count: int | None
    """How many hits came back; None if that is not known."""
    session: str
    system: str
    index: str
    error: str
    trace: str
    """The ``traceparent`` of the span around it, or the id of its trace; empty if there is none."""
    labels: Mapping[str, Any]
    """What else is known of it, by the names of attributes."""
