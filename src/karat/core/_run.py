"""What a system answered: one trace per question, and the run that holds them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from karat.core._hit import Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a run comes from: the golden set, the system, and how it was asked."""

    name: str
    """What the system is called."""
    golden: Mapping[str, Any] = field(default_factory=dict)
    """Name, version and fingerprint of the golden set."""
    system: Mapping[str, Any] = field(default_factory=dict)
    """The parts of the system, as far as it describes itself."""
    fingerprint: str = ""
    """Of the system."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """How it was asked (k, paraphrases, repeats, sample, seed), and for an evaluation how it was scored."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Of karat, Python and the packages involved; empty for a run that was made elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What came back for one question."""

    query: str
    """The id of the query."""
    text: str
    """The question as it was asked."""
    hits: tuple[Hit, ...] = ()
    """Best first."""
    timings: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds by stage; ``total`` is the time around the system."""
    error: str = ""
    """Why the question failed; then there are no hits."""
    paraphrase: int = 0
    """0 for the text of the query, otherwise the number of the paraphrase."""
    repeat: int = 0
    """The number of the repetition, from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """All traces of one system on one golden set, and where they come from."""

    provenance: Provenance
    traces: tuple[Trace, ...] = ()
