"""The baseline: a file in git that says what the system scored when it was last accepted, query by query."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.core import InputError, check_id, decode, parse_json, read_bytes, shorten, write_file
from karat.gate._snapshot import Snapshot

VERSION = 1
_FIT = {"recall_at_5": "R@5", "precision_at_5": "P@5", "mrr": "RR", "ndcg_at_5": "nDCG@5"}
"""What source 000 calls the measures of its baseline-metrics.json."""


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """A run that was accepted."""

    snapshot: Snapshot
    recorded: str = ""
    """The day, as YYYY-MM-DD."""
    forced: str = ""
    """Why it was accepted although it failed its gate."""


def write_baseline(baseline: Baseline, path: str | Path) -> None:
    """Write it, whole or not at all: one line for each query, so that a diff shows which of them moved."""
    write_file(path, "".join(_lines(baseline)))


def _lines(baseline: Baseline) -> Iterator[str]:
    snapshot = baseline.snapshot
    head: dict[str, Any] = {
        "karat": "baseline",
        "format": VERSION,
        "name": snapshot.name,
        "recorded": baseline.recorded,
        **({"forced": baseline.forced} if baseline.forced else {}),
        "golden": dict(snapshot.golden),
        "fingerprint": snapshot.fingerprint,
        "system": dict(snapshot.system),
        "settings": dict(snapshot.settings),
        "versions": dict(snapshot.versions),
        "definitions": dict(snapshot.definitions),
        "means": {name: _null(value) for name, value in snapshot.means.items()},
        "latency": {stage: dict(values) for stage, values in snapshot.latency.items()},
        "failed": dict(snapshot.failed),
        "unfound": sorted(snapshot.unfound),
    }
    text = json.dumps(head, indent=2, ensure_ascii=False, allow_nan=False)
    yield text[: text.rindex("\n}")] + ',\n  "queries": {'
    for i, query in enumerate(snapshot.queries):
        row: dict[str, Any] = {
            measure: [_null(value) for value in column[query]]
            for measure, column in snapshot.values.items()
            if query in column
        }
        if query in snapshot.hits:
            row["hits"] = list(snapshot.hits[query])
        ids = json.dumps(query, ensure_ascii=False)
        yield f"{',' if i else ''}\n    {ids}: {json.dumps(row, ensure_ascii=False, allow_nan=False)}"
    yield "\n  }\n}\n"


def _null(value: float) -> float | None:
    return None if math.isnan(value) else value


def read_baseline(path: str | Path) -> Baseline:
    """Read a baseline of karat, or source 000's ``baseline-metrics.json``, which has means only."""
    name = str(path)
    record = parse_json(decode(read_bytes(path), name), name, None, strict=True)
    if isinstance(record, dict) and record.get("karat") == "baseline":
        if record.get("format") != VERSION:
            raise InputError(
                f"is a baseline of format {record.get('format')!r}, and this karat reads {VERSION}",
                source=name,
                hint="read it with the karat that wrote it, or record a new one with 'karat baseline update RUN'",
            )
        return _own(record, name)
    if isinstance(record, dict) and isinstance(record.get("metrics"), dict):
        return _fit(record, name)
    raise InputError(
        "is no baseline",
        source=name,
        hint="'karat baseline update RUN' writes one; 000's baseline-metrics.json will do too",
    )


def _own(record: Mapping[str, Any], source: str) -> Baseline:
    try:
        queries = record["queries"]
        measures = dict.fromkeys(measure for row in queries.values() for measure in row if measure != "hits")
        snapshot = Snapshot(
            name=str(record["name"]),
            golden=dict(record["golden"]),
            system=dict(record["system"]),
            fingerprint=str(record["fingerprint"]),
            settings=dict(record["settings"]),
            versions=dict(record["versions"]),
            definitions=dict(record["definitions"]),
            values={
                measure: {query: tuple(map(_value, row[measure])) for query, row in queries.items() if measure in row}
                for measure in measures
            },
            means={measure: _value(value) for measure, value in record["means"].items()},
            latency={stage: {k: _value(v) for k, v in values.items()} for stage, values in record["latency"].items()},
            queries=tuple(check_id(query, "") for query in queries),
            hits={
                query: tuple(check_id(one, "") for one in row["hits"])
                for query, row in queries.items()
                if "hits" in row
            },
            failed=dict(record["failed"]),
            unfound=frozenset(record["unfound"]),
        )
        return Baseline(
            snapshot=snapshot, recorded=str(record.get("recorded", "")), forced=str(record.get("forced", ""))
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"is a damaged baseline: {error!r}", source=source, hint="take it from git, or record it again"
        ) from None


def _value(value: Any) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{shorten(value)} is no number")
    return float(value)


def _fit(record: Mapping[str, Any], source: str) -> Baseline:
    """Read source 000's file: means of four measures, and three percentiles."""
    metrics = record["metrics"]
    try:
        latency = {key: _value(value) for key, value in metrics.get("latency", {}).items()}
        means = {_FIT.get(key, key): _value(value) for key, value in metrics.items() if key != "latency"}
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"metrics: {error}", source=source) from None
    names = ("embedding_model", "chunking_strategy", "reranking_model")
    system = {name: record[name] for name in names if name in record}
    return Baseline(
        snapshot=Snapshot(
            name=str(record.get("version", "baseline")),
            golden={},
            system=system,
            fingerprint="",
            means=means,
            latency={"total": latency} if latency else {},
        ),
        recorded=str(record.get("recorded_at", "")),
    )


def write_fit(baseline: Baseline, path: str | Path) -> None:
    """Write source 000's ``baseline-metrics.json``; a measure that it wants and the run does not have is a mistake."""
    snapshot = baseline.snapshot
    missing = [name for name in _FIT.values() if math.isnan(snapshot.means.get(name, math.nan))]
    if missing:
        raise InputError(
            f"the run has no {', '.join(missing)}, which baseline-metrics.json holds", hint="add it with -m"
        )
    system = {key: value for key, value in snapshot.system.items() if value is not None}
    record = {
        "version": snapshot.golden.get("version") or "1",
        "embedding_model": _named(system.get("embedder", "none"), "model"),
        "chunking_strategy": _strategy(system.get("chunk", "none")),
        "reranking_model": _named(system.get("rerank", "none"), "model"),
        "recorded_at": baseline.recorded,
        "metrics": {
            **{key: snapshot.means[name] for key, name in _FIT.items()},
            "latency": {key: snapshot.latency_of(key) for key in ("p50", "p95", "p99")},
        },
    }
    write_file(path, json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def _named(part: Any, key: str) -> str:
    return str(part.get(key, part.get("kind", "unknown"))) if isinstance(part, Mapping) else str(part)


def _strategy(part: Any) -> str:
    if not isinstance(part, Mapping):
        return str(part)
    words = [str(part.get("chunker", "unknown"))]
    words += [f"{part['size']}"] if "size" in part else []
    words += [f"overlap_{part['overlap']}"] if part.get("overlap") else []
    return "_".join(words)
