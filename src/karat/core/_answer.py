"""An answer: the text that a system makes from its hits, and what it cites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """What a system with ``answer(query, k)`` returns.

    >>> from karat.core import Hit
    >>> Answer("Wi-Fi is free.", citations=["wifi:chunk:3"], hits=[Hit("wifi:chunk:3", 0.8)]).refused
    False
    """

    text: str = ""
    citations: Sequence[Any] = ()
    """What the answer cites, in its order: :class:`Citation`, hits, ids of hits, their ranks from 1, or mappings with
    ``id`` and perhaps ``document``, ``span``, ``section`` and ``block``."""
    hits: Any = ()
    """What it was made from: whatever ``retrieve`` may return."""
    refused: bool = False
    """Whether the system says that it cannot answer; ``text`` is then what it says instead."""
    _: KW_ONLY
    tokens: Mapping[str, int] = field(default_factory=dict)
    """How many tokens it took, such as ``{"input": 812, "output": 40}``."""
    cost: float | None = None
    """What it cost, in the currency of the team."""
    telemetry: Mapping[str, Any] = field(default_factory=dict)
    """What else the system records about the answer, as JSON values, which karat keeps as they are."""
