"""What a system answered: one trace per question, and the run that holds them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from karat.core._hit import Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What came back for one question."""

    query: str
    """The id of the query."""
    text: str
    """What was asked."""
    hits: tuple[Hit, ...] = ()
    """Best first."""
    timings: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds by stage; ``total`` is the time around the system."""
    error: str = ""
    """What went wrong; then there are no hits."""
    paraphrase: int = 0
    """0 for the text of the query, else the number of the paraphrase."""
    repeat: int = 0
    """Which of several askings it is, from 0."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """All traces of one system on one golden set, and what both were."""

    name: str
    golden: Mapping[str, Any]
    """Name, version and fingerprint of the golden set."""
    system: Mapping[str, Any]
    """What the system is made of, as far as it tells."""
    fingerprint: str
    """Of the system."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """How it was asked: k, paraphrases, repeats, sample, seed."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Of karat, Python and the packages that took part."""
    traces: tuple[Trace, ...] = ()
