"""What a run scored, without its hits: all that a comparison, a gate and a baseline need."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from karat.core import InputError, shorten

Values = Mapping[str, Mapping[str, tuple[float, ...]]]
"""By measure, then by query: a value for each repeat, NaN where there is none."""

_SAME: Mapping[str, Any] = {
    "k": None, "unit": "document", "paraphrases": False, "sample": None, "seed": 0, "normaliser": None, "judge": None,
}  # fmt: skip
"""Settings that decide what a score means, and what holds where none is recorded; runs that differ are not compared."""

PARTS: Mapping[str, str] = {"embedding_model": "embedder", "chunking_strategy": "chunk", "reranking_model": "rerank"}
"""What source 000 calls the parts of a system, and karat's pipeline."""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The scores of one run, by measure and query, with what the run was made of."""

    name: str
    golden: Mapping[str, Any]
    """Name, version and fingerprint of the golden set."""
    system: Mapping[str, Any]
    """What the system is made of, as far as it tells."""
    fingerprint: str
    """Of the system."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    definitions: Mapping[str, str] = field(default_factory=dict)
    """What each measure was computed as, where that is not its name."""
    values: Values = field(default_factory=dict)
    """Empty where only the means are known."""
    means: Mapping[str, float] = field(default_factory=dict)
    """NaN where no query has a value."""
    latency: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Milliseconds by stage and statistic: p50, p95, p99, mean."""
    queries: tuple[str, ...] = ()
    """All that were asked."""
    total: int = 0
    """How many the golden set has, of which a sample may have been asked; 0 where that is not known."""
    hits: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The first documents of each query, so that what moved can be said."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """What went wrong, by query."""
    unfound: frozenset[str] = frozenset()
    """Queries for which nothing relevant was found, those that failed included."""

    def scores(self, measure: str, queries: Iterable[str] | None = None) -> dict[str, float]:
        """Give the mean over the repeats for each query that has a value; perhaps of some queries only.

        >>> values = {"RR": {"q1": (1.0, 0.5), "q2": (math.nan,)}}
        >>> made = Snapshot(name="a", golden={}, system={}, fingerprint="", values=values)
        >>> made.scores("RR")
        {'q1': 0.75}
        """
        column = self.values.get(measure, {})
        found = {}
        for query in column if queries is None else (query for query in queries if query in column):
            there = [value for value in column[query] if not math.isnan(value)]
            if there:
                found[query] = math.fsum(there) / len(there)
        return found

    def mean(self, measure: str, queries: Iterable[str] | None = None) -> float:
        """Give the mean over the queries that have a value; NaN where none has, or the measure is not there."""
        if queries is None:
            return self.means.get(measure, math.nan)
        found = self.scores(measure, queries)
        return math.fsum(found.values()) / len(found) if found else math.nan

    @property
    def coverage(self) -> float:
        """The share of the golden set's queries that were answered; NaN where none was asked.

        >>> asked = ("q1", "q2", "q3", "q4")
        >>> made = Snapshot(name="a", golden={}, system={}, fingerprint="", queries=asked, failed={"q2": "timed out"})
        >>> made.coverage
        0.75
        """
        answered = sum(query not in self.failed for query in self.queries)
        return answered / max(self.total, len(self.queries)) if self.queries else math.nan

    def latency_of(self, name: str) -> float:
        """Give a statistic such as ``p95``, of the whole, or ``embed.p95``, of a stage; NaN if not measured."""
        stage, _, statistic = name.rpartition(".")
        return self.latency.get(stage or "total", {}).get(statistic, math.nan)


def check_comparable(candidate: Snapshot, baseline: Snapshot) -> None:
    """Refuse two runs whose scores do not mean the same; the message lists what differs."""
    found = list(_differences(candidate, baseline))
    if found:
        both = f"{shorten(candidate.name)} and {shorten(baseline.name)}"
        raise InputError(
            f"{both} cannot be compared: they differ in {'; '.join(found)}",
            hint="evaluate both on the same golden set in the same way, or record a new baseline",
        )


def _differences(candidate: Snapshot, baseline: Snapshot) -> Iterable[str]:
    now, then = candidate.golden.get("fingerprint"), baseline.golden.get("fingerprint")
    if now != then and (then is not None or baseline.values):  # a baseline of means alone knows no golden set
        yield f"golden set ({_golden(candidate)}, was {_golden(baseline)})"
    for name, default in _SAME.items() if baseline.values else ():
        now, then = (one.settings.get(name, default) for one in (candidate, baseline))
        sampled = candidate.settings.get("sample") or baseline.settings.get("sample")
        if now != then and (name != "seed" or sampled):  # the seed chooses the sample, and nothing else
            yield f"{name} ({shorten(now)}, was {shorten(then)})"
    for measure in candidate.means if baseline.values else ():
        now, then = (one.definitions.get(measure, measure) for one in (candidate, baseline))
        if measure in baseline.means and now != then:
            yield f"{measure} ({now}, was {then})"


def comparison_key(snapshot: Snapshot) -> str:
    """Return a text that is equal for two runs of the same measures if and only if :func:`check_comparable` passes."""
    settings = {name: snapshot.settings.get(name, default) for name, default in _SAME.items()}
    if not settings["sample"]:
        settings["seed"] = None  # the seed chooses the sample, and nothing else
    definitions = {name: snapshot.definitions.get(name, name) for name in snapshot.means}
    return json.dumps([snapshot.golden.get("fingerprint"), settings, definitions], sort_keys=True, default=repr)


def _golden(snapshot: Snapshot) -> str:
    golden = snapshot.golden
    known = " ".join(str(golden[key])[:19] for key in ("name", "version", "fingerprint") if golden.get(key))
    return known or "unknown"


def changes(candidate: Snapshot, baseline: Snapshot) -> list[tuple[str, Any, Any]]:
    """List what the two systems are made of that differs, as dotted keys with the value now and then.

    >>> old = Snapshot(name="a", golden={}, system={"chunk": {"size": 512}, "k1": 1.2}, fingerprint="")
    >>> new = Snapshot(name="b", golden={}, system={"chunk": {"size": 384}, "k1": 1.2}, fingerprint="")
    >>> changes(new, old)
    [('chunk.size', 384, 512)]
    """
    now, then = flat(candidate.system), flat(baseline.system)
    if then and then.keys() <= PARTS.keys():  # source 000 names only these
        now = {name: part for name, part in identity(candidate.system).items() if name in then}
    return [(key, now.get(key), then.get(key)) for key in {**then, **now} if now.get(key) != then.get(key)]


def flat(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Give a nested table as one with dotted keys.

    >>> flat({"chunk": {"size": 384}, "k": 10})
    {'chunk.size': 384, 'k': 10}
    """
    found: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            found |= flat(value, f"{before}{key}.")
        else:
            found[f"{before}{key}"] = value
    return found


def identity(system: Mapping[str, Any]) -> dict[str, str]:
    """Name the parts of a system as source 000's baseline-metrics.json does.

    >>> identity({"chunk": {"chunker": "sentence", "size": 256, "overlap": 32}, "embedder": {"model": "granite"}})
    {'embedding_model': 'granite', 'chunking_strategy': 'sentence_256_overlap_32', 'reranking_model': 'none'}
    """
    return {name: str(system[name]) if name in system else _part(system.get(key), key) for name, key in PARTS.items()}


def _part(part: Any, key: str) -> str:
    if not isinstance(part, Mapping):
        return "none" if part is None else str(part)
    if key != "chunk":
        return str(part.get("model", part.get("kind", "unknown")))
    size = f"_{part['size']}" if "size" in part else ""
    overlap = f"_overlap_{part['overlap']}" if part.get("overlap") else ""
    return f"{part.get('chunker', 'unknown')}{size}{overlap}"
