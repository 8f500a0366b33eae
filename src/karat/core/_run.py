"""A run: what a system answered to the queries of a golden set, one trace per question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from karat.core._trace import Trace

_SHORT = 7  # characters of a commit that people read


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """When, where and with which code a run was made. None of this is part of the run's identity."""

    label: str = ""
    """A name that the user chose."""
    begun: str = ""
    """When the first question was asked, in UTC, such as ``2026-11-16T09:30:00.250Z``."""
    commit: str = ""
    """The git commit of the project's repository."""
    branch: str = ""
    dirty: bool | None = None
    """Whether tracked files differed from the commit; None if that is not known."""
    machine: Mapping[str, Any] = field(default_factory=dict)
    """The class of the machine: cores, platform, python."""
    ci: Mapping[str, str] = field(default_factory=dict)
    """The CI job: provider, job, run, url."""

    @property
    def code(self) -> str:
        """The first characters of the commit, with ``-dirty`` if files differed from it; "" without a commit."""
        return f"{self.commit[:_SHORT]}{'-dirty' if self.dirty else ''}" if self.commit else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the facts that are known, as plain values."""
        record = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {
            name: dict(value) if isinstance(value, Mapping) else value
            for name, value in record.items()
            if value or value is False
        }

    @classmethod
    def from_dict(cls, record: object) -> Origin:
        """Return the origin in a record; a fact that is missing or of the wrong type is left out.

        >>> Origin.from_dict({"commit": "0a1b2c3d4e", "dirty": True, "label": 5}).code
        '0a1b2c3-dirty'
        """
        if not isinstance(record, Mapping):
            return cls()
        texts = {name: record[name] for name in _TEXTS if isinstance(record.get(name), str)}
        dirty = record.get("dirty")
        tables = {name: record[name] for name in ("machine", "ci") if isinstance(record.get(name), Mapping)}
        return cls(**texts, dirty=dirty if isinstance(dirty, bool) else None, **tables)


_STAGES = {
    "lexical": "bm25",
    "expand": "feedback",
    "dense": "dense",
    "neighbours": "neighbours",
    "rerank": "rerank",
    "mmr": "mmr",
}
"""The stages of the built-in pipeline by which people tell its runs apart, and their words."""
_TEXTS = ("label", "begun", "commit", "branch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a run comes from: the golden set, the system, how it was asked, and the code that made it."""

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
    origin: Origin = field(default_factory=Origin)
    """When, where and of which code the run was made; empty for a run of another program, or of an older karat."""

    @property
    def title(self) -> str:
        """The name that people read: the label of the run, or its system and commit.

        >>> Provenance(name="search:find", origin=Origin(commit="0a1b2c3d4e5f")).title
        'search:find 0a1b2c3'
        """
        return self.origin.label or " ".join(part for part in (self._system_name, self.origin.code) if part)

    @property
    def _system_name(self) -> str:
        """The name of the system; for the built-in pipeline, its stages, such as ``bm25+dense``."""
        if self.system.get("kind") != "pipeline":
            return self.name
        return (
            "+".join(word for stage, word in _STAGES.items() if self.system.get(stage) not in (None, False))
            or self.name
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """All traces of one system on one golden set, and where they come from."""

    provenance: Provenance
    traces: Sequence[Trace] = ()
    """A tuple, or a :class:`karat.core.TraceTable`."""
