"""A run: what a system answered to the queries of a golden set, one trace per question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from karat.core._hit import Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a run comes from: the golden set, the system, and how it was asked."""

    name: str
    """The name of the system."""
    golden: Mapping[str, Any] = field(default_factory=dict)
    """Name, version and fingerprint of the golden set."""
    system: Mapping[str, Any] = field(default_factory=dict)
    """The parts of the system, as it describes itself."""
    fingerprint: str = ""
    """The fingerprint of the system."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """How the system was asked (k, paraphrases, repeats, sample, seed), and for an evaluation how it was scored."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions of karat, Python and the packages involved; empty for a run that another program made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What a system returned for one question."""

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
    """0 for the text of the query, otherwise the number of the paraphrase, from 1."""
    repeat: int = 0
    """The number of the repeat, from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """All traces of one system on one golden set, and where they come from."""

    provenance: Provenance
    traces: tuple[Trace, ...] = ()
