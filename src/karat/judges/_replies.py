"""What a judge has to reply."""

from __future__ import annotations

from typing import Literal

from karat.chat import Reply


class Claims(Reply, frozen=True):
    """The claims of a text, each a sentence that can be true or false by itself."""

    claims: list[str]


class ClaimVerdict(Reply, frozen=True):
    """Whether a text supports a claim."""

    claim: int
    supported: bool
    chunk: int
    """The number of the text that supports it; 0 for none."""
    quote: str
    """The words of that text that support it, as they are written there."""
    reason: str


class ClaimVerdicts(Reply, frozen=True):
    """A verdict for each claim."""

    verdicts: list[ClaimVerdict]


class ChunkVerdict(Reply, frozen=True):
    """Whether a text helps to answer the question."""

    chunk: int
    useful: bool
    reason: str


class ChunkVerdicts(Reply, frozen=True):
    """A verdict for each text."""

    verdicts: list[ChunkVerdict]


class Questions(Reply, frozen=True):
    """Questions that an answer answers."""

    questions: list[str]


class Refusal(Reply, frozen=True):
    """Whether an answer declines to answer."""

    refused: bool
    reason: str


class Grade(Reply, frozen=True):
    """How relevant a passage is."""

    grade: Literal[0, 1, 2, 3]
    reason: str


class Preference(Reply, frozen=True):
    """Which of two answers is better."""

    better: Literal["first", "second", "neither"]
    reason: str


class Score(Reply, frozen=True):
    """A score on the scale of a rubric."""

    score: int
    reason: str
