"""The baseline: a file in git that says what the system scored when it was last accepted, query by query."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.core import InputError, Measure, check_id, shorten
from karat.evaluation import PARTS, Snapshot, identity
from karat.files import decode, parse_json, read_bytes, write_file

VERSION = 1
_SAME = 1e-6
_FIT = {"recall_at_5": "R@5", "precision_at_5": "P@5", "mrr": "RR", "ndcg_at_5": "nDCG@5"}
"""What source 000 calls the measures of its baseline-metrics.json."""
FIT = tuple(_FIT.values())
_PERCENTILES = ("p50", "p95", "p99")
_LARGEST = 1e15  # no measure and no clock gives more, and squares of it are numbers still


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
    write_file(path, _encodable("".join(_lines(baseline))))


def _encodable(text: str) -> str:
    """Write half of a surrogate pair, which a file name may have, as JSON does: UTF-8 has no bytes for it."""
    return text.encode("utf-8", "backslashreplace").decode()


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
        "latency": {
            stage: {name: _null(value) for name, value in values.items()} for stage, values in snapshot.latency.items()
        },
        "total": snapshot.total,
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
                f"is a baseline of format {shorten(record.get('format'))}, and this karat reads {VERSION}",
                source=name,
                hint="read it with the karat that wrote it, or move it away and record a new one with 'karat baseline "
                "update RUN'",
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
        rows = {
            check_id(query, ""): _typed(row, Mapping, f"query {shorten(query)}")
            for query, row in _field(record, "queries").items()
        }
        measures = dict.fromkeys(measure for row in rows.values() for measure in row if measure != "hits")
        snapshot = Snapshot(
            **{name: _field(record, name, str) for name in ("name", "fingerprint")},
            **{name: _field(record, name) for name in ("golden", "system", "settings", "versions", "definitions")},
            values={
                measure: {query: _scores(row[measure], measure) for query, row in rows.items() if measure in row}
                for measure in measures
            },
            means=_numbers(_field(record, "means")),
            latency={stage: _numbers(values) for stage, values in _field(record, "latency").items()},
            queries=tuple(rows),
            total=_field({"total": 0, **record}, "total", int),
            hits={query: _ids(row["hits"]) for query, row in rows.items() if "hits" in row},
            failed={query: _typed(why, str, "failed") for query, why in _field(record, "failed").items()},
            unfound=frozenset(_ids(_field(record, "unfound", list))),
        )
        _check_rows(snapshot)
        said = {name: _field({name: "", **record}, name, str) for name in ("recorded", "forced")}
    except (TypeError, ValueError, InputError) as error:
        raise InputError(
            f"is a damaged baseline: {error}",
            source=source,
            hint="take it from git, or move it away and record it again",
        ) from None
    return Baseline(snapshot=snapshot, **said)


def _check_rows(snapshot: Snapshot) -> None:
    """Refuse one that lost rows, as when a conflict is merged: what it no longer holds could not be lost any more."""
    sample = snapshot.settings.get("sample")
    there, asked = len(snapshot.queries), sample if isinstance(sample, int) else snapshot.total
    if there < asked:
        raise ValueError(f"it holds {there:,} of {asked:,} queries")
    for measure in snapshot.values:
        told, made = snapshot.mean(measure), snapshot.mean(measure, snapshot.queries)
        if abs(told - made) > _SAME and Measure.parse(measure).definition.aggregate == "mean":
            raise ValueError(f"the mean of {measure} is {told:g}, and that of its queries {made:g}")


def _field(record: Mapping[str, Any], name: str, kind: type = Mapping) -> Any:
    if name not in record:
        raise ValueError(f"it lacks {name!r}")
    return _typed(record[name], kind, name)


def _typed(value: Any, kind: type, name: str) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{name} is {shorten(value)}, which is of the wrong type")
    return value


def _numbers(table: Any) -> dict[str, float]:
    return {name: _value(value) for name, value in _typed(table, Mapping, "a table of numbers").items()}


def _scores(values: Any, measure: str) -> tuple[float, ...]:
    return tuple(map(_value, _typed(values, list, measure)))


def _ids(values: Any) -> tuple[str, ...]:
    return tuple(check_id(one, "") for one in _typed(values, list, "a list of ids"))


def _value(value: Any) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_LARGEST <= value <= _LARGEST:
        raise ValueError(f"{shorten(value)} is no number")
    return float(value)


def _fit(record: Mapping[str, Any], source: str) -> Baseline:
    """Read source 000's file: means of four measures, and three percentiles."""
    metrics = record["metrics"]
    try:
        latency = _numbers(metrics.get("latency", {}))
        means = {_FIT.get(key, key): _value(value) for key, value in metrics.items() if key != "latency"}
    except (TypeError, ValueError) as error:
        raise InputError(f"is a damaged baseline: metrics: {error}", source=source) from None
    system = {name: record[name] for name in PARTS if name in record}
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
    missing = [name for name in FIT if math.isnan(snapshot.means.get(name, math.nan))]
    missing += [f"latency.{name}" for name in _PERCENTILES if math.isnan(snapshot.latency_of(name))]
    if missing:
        raise InputError(f"the run has no {', '.join(missing)}, which baseline-metrics.json holds")
    record = {
        "version": snapshot.golden.get("version") or "1",
        **identity(snapshot.system),
        "recorded_at": baseline.recorded,
        "metrics": {
            **{key: snapshot.means[name] for key, name in _FIT.items()},
            "latency": {key: snapshot.latency_of(key) for key in _PERCENTILES},
        },
    }
    write_file(path, _encodable(json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"))
