"""The baseline: a file in git with the scores of the last accepted run, query by query.

Format 3 has the text and the digests of each question, so that a baseline can follow a golden set that grows, and a
digest of the whole file, so that a row that was lost in a merge is noticed. Format 2, which has none of these, and
format 1, which has only null for a missing value, are still read.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.core import InputError, Measure, MeasureError, Origin, Provenance, Scores, check_id, shorten
from karat.evaluation import FIT_PARTS, Evaluation, empty_scores, name_parts, needed_depth
from karat.files import decode, parse_json, read_bytes, write_file
from karat.gate._movers import KEPT
from karat.golden import Question

VERSION = 3
_READABLE = (1, 2, 3)
_SAME = 1e-6
_FIT = {"recall_at_5": "R@5", "precision_at_5": "P@5", "mrr": "RR@10", "ndcg_at_5": "nDCG@5"}
"""The measures of fit's baseline-metrics.json."""
FIT = tuple(_FIT.values())
_PERCENTILES = ("p50", "p95", "p99")
_LARGEST = 1e15  # no measure and no clock goes higher, and squares of it are still finite
_QUESTION = ("text", "judgments", "documents")
_QUESTION_KEYS = frozenset(_QUESTION)
_NOT_MEASURES = (*_QUESTION, "hits", "missing")


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """An accepted run."""

    evaluation: Evaluation
    recorded: str = ""
    """The day on which it was recorded, as YYYY-MM-DD."""
    forced: str = ""
    """Why it was accepted although it failed its gate; empty if it passed."""
    rebased: str = ""
    """The day on which it was brought to a later version of its golden set, as YYYY-MM-DD; empty if it was not."""
    format: int = VERSION
    """The format of its file. Only format 3 has a digest, which shows that no row was lost."""


def write_baseline(baseline: Baseline, path: str | Path) -> None:
    """Write a baseline, completely or not at all. Each query has its own line, so that a diff shows what changed."""
    write_file(path, _escape_surrogates("".join(_lines(baseline))))


def _escape_surrogates(text: str) -> str:
    """Return text with half surrogate pairs, which file names may have and UTF-8 cannot encode, escaped as in JSON."""
    return text.encode("utf-8", "backslashreplace").decode()


def _lines(baseline: Baseline) -> Iterator[str]:
    head = _head(baseline)
    depth = head["depth"]
    rows = {query: _row(baseline.evaluation, query, depth) for query in baseline.evaluation.queries}
    head = {"karat": "baseline", "format": VERSION, "digest": _digest({**head, "queries": rows}), **head}
    text = json.dumps(head, indent=2, ensure_ascii=False, allow_nan=False)
    yield text[: text.rindex("\n}")] + ',\n  "queries": {'
    for i, (query, row) in enumerate(rows.items()):
        key, values = (json.dumps(value, ensure_ascii=False, allow_nan=False) for value in (query, row))
        yield f"{',' if i else ''}\n    {key}: {values}"
    yield "\n  }\n}\n"


def _head(baseline: Baseline) -> dict[str, Any]:
    """Return everything but the rows of the queries."""
    evaluation, provenance = baseline.evaluation, baseline.evaluation.provenance
    scores, depth = evaluation.scores, needed_depth(evaluation.scores.measures, KEPT)
    return {
        "name": provenance.name,
        "recorded": baseline.recorded,
        **{name: note for name in ("forced", "rebased") if (note := getattr(baseline, name))},
        "golden": dict(provenance.golden),
        "fingerprint": provenance.fingerprint,
        "system": dict(provenance.system),
        "settings": dict(provenance.settings),
        "versions": dict(provenance.versions),
        **({"origin": origin} if (origin := provenance.origin.to_dict()) else {}),
        "definitions": dict(scores.definitions),
        "means": {name: _null(value) for name, value in evaluation.means.items()},
        "latency": {
            stage: {name: _null(value) for name, value in times.items()} for stage, times in evaluation.latency.items()
        },
        "total": evaluation.total,
        "depth": depth if evaluation.depth is None else min(depth, evaluation.depth),
        "failed": dict(evaluation.failures),
        "unfound": sorted(evaluation.unfound),
    }


def _digest(record: Mapping[str, Any]) -> str:
    """Return a digest of everything in a baseline, whatever the order of its keys and the layout of its file."""
    content = {key: value for key, value in record.items() if key not in ("karat", "format", "digest")}
    return f"sha256:{hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()}"


def _row(evaluation: Evaluation, query: str, depth: int) -> dict[str, Any]:
    """Return the question, its values in each repeat, the reasons of missing ones, and its first documents."""
    scores, missing = evaluation.scores, {}
    question = evaluation.questions.get(query, Question())
    row: dict[str, Any] = {name: value for name in _QUESTION if (value := getattr(question, name))}
    for measure in scores.measures if query in scores.rows else ():
        row[measure] = [_null(value) for value in evaluation.repeated_values(measure, query)]
        if (reason := scores.reason(query, measure)) is not None:
            missing[measure] = reason
    if missing:
        row["missing"] = missing
    if query in evaluation.lists:
        row["hits"] = list(evaluation.lists[query][:depth])
    return row


def _null(value: float) -> float | None:
    return None if math.isnan(value) else value


def read_baseline(path: str | Path, data: bytes | None = None) -> Baseline:
    """Return the baseline in a file of karat, or in fit's ``baseline-metrics.json``, which has means only.

    ``data`` is the content of the file, if the caller has read it already.
    """
    name = str(path)
    record = parse_json(decode(read_bytes(path) if data is None else data, name), name, None, strict=True)
    if isinstance(record, dict) and record.get("karat") == "baseline":
        if record.get("format") not in _READABLE:
            raise InputError(
                f"is a baseline of format {shorten(record.get('format'))}, and this karat reads "
                f"{_READABLE[0]} to {_READABLE[-1]}",
                source=name,
                hint="read it with the karat that wrote it, or move it away and record a new one with 'karat baseline "
                "update RUN'",
            )
        return _read_own(record, name)
    if isinstance(record, dict) and isinstance(record.get("metrics"), dict):
        return _read_fit(record, name)
    raise InputError(
        "is not a baseline",
        source=name,
        hint="'karat baseline update RUN' writes one; fit's baseline-metrics.json is read as well",
    )


def is_baseline(data: bytes) -> bool:
    """Return whether the content of a file is a baseline; a damaged one is reported by :func:`read_baseline`."""
    if b'"karat": "baseline"' in data[:200]:
        return True
    if data.lstrip()[:1] != b"{" or b'"recorded_at"' not in data:
        return False
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):  # runs are lines of JSON, or not JSON at all
        return False
    return isinstance(record, dict) and isinstance(record.get("metrics"), dict) and "recorded_at" in record


def _read_own(record: Mapping[str, Any], source: str) -> Baseline:
    try:
        rows = {
            check_id(query, ""): _typed(row, Mapping, f"query {shorten(query)}")
            for query, row in _field(record, "queries").items()
        }
        provenance = Provenance(
            **{name: _field(record, name, str) for name in ("name", "fingerprint")},
            **{name: _field(record, name) for name in ("golden", "system", "settings", "versions")},
            origin=Origin.from_dict(record.get("origin")),
        )
        repeats = _read_repeats(rows)
        scores = _read_scores(provenance.name, rows, repeats, _field(record, "definitions"))
        evaluation = Evaluation(
            provenance=provenance,
            scores=scores,
            repeats=_repeat_tables(scores, repeats),
            means=_numbers(_field(record, "means")),
            latency={stage: _numbers(values) for stage, values in _field(record, "latency").items()},
            queries=tuple(rows),
            total=_field(record if record["format"] > 1 else {"total": 0, **record}, "total", int),
            lists={query: _ids(row["hits"]) for query, row in rows.items() if "hits" in row},
            depth=_field(record, "depth", int) if record["format"] > 2 else KEPT,
            failures={query: _typed(why, str, "failed") for query, why in _field(record, "failed").items()},
            unfound=frozenset(_ids(_field(record, "unfound", list))),
            questions={query: _read_question(row) for query, row in rows.items() if not _QUESTION_KEYS.isdisjoint(row)},
        )
        _require_rows(evaluation, record)
        if record["format"] > 1:
            _require_reasons(rows, scores)
        _require_digest(record)
        notes = {name: _field({name: "", **record}, name, str) for name in ("recorded", "forced", "rebased")}
    except (TypeError, ValueError, InputError) as error:
        raise InputError(
            f"is a damaged baseline: {error}",
            source=source,
            hint="take it from git, or move it away and record it again",
        ) from None
    return Baseline(evaluation=evaluation, format=record["format"], **notes)


def _read_question(row: Mapping[str, Any]) -> Question:
    return Question(**{name: _typed(row[name], str, name) for name in _QUESTION if name in row})


_Repeats = Mapping[str, Mapping[str, tuple[float, ...]]]
"""By measure and query: a value for each repeat, NaN where it is missing."""


def _read_repeats(rows: Mapping[str, Mapping[str, Any]]) -> _Repeats:
    columns: dict[str, dict[str, tuple[float, ...]]] = {}
    for query, row in rows.items():
        for measure, values in row.items():
            if measure not in _NOT_MEASURES:
                numbers = tuple(_value(value) for value in _typed(values, list, measure))
                columns.setdefault(measure, {})[query] = numbers
    return columns


def _read_scores(
    name: str, rows: Mapping[str, Mapping[str, Any]], repeats: _Repeats, definitions: Mapping[str, str]
) -> Scores:
    reasons = {
        (query, measure): _typed(reason, str, "missing")
        for query, row in rows.items()
        for measure, reason in _typed(row.get("missing", {}), Mapping, "missing").items()
    }
    aggregates = {measure: _aggregate(measure) for measure in repeats}
    return Scores.from_columns(
        name,
        {measure: {query: _mean(values) for query, values in column.items()} for measure, column in repeats.items()},
        queries=rows,
        reasons=reasons,
        definitions=definitions,
        aggregates={measure: aggregate for measure, aggregate in aggregates.items() if aggregate != "mean"},
    )


def _repeat_tables(scores: Scores, repeats: _Repeats) -> tuple[Scores, ...]:
    """Return a table for each repeat, of the queries that were asked in all of them."""
    count = max((len(values) for column in repeats.values() for values in column.values()), default=0)
    return tuple(
        Scores.from_columns(
            scores.name,
            {
                measure: {query: values[i] for query, values in column.items() if len(values) == count}
                for measure, column in repeats.items()
            },
            definitions=scores.definitions,
            aggregates=scores.aggregates,
        )
        for i in range(count if count > 1 else 0)
    )


def _aggregate(measure: str) -> str:
    try:
        return Measure.parse(measure).definition.aggregate
    except MeasureError:  # of a package that is not installed here
        return "mean"


def _mean(values: tuple[float, ...]) -> float:
    present = [value for value in values if not math.isnan(value)]
    return math.fsum(present) / len(present) if present else math.nan


def _require_rows(evaluation: Evaluation, record: Mapping[str, Any]) -> None:
    """Refuse a baseline that lost rows, as in a bad merge: a query that is not in it could never get worse.

    A file without a digest says only how many queries its golden set had. One with a digest may have fewer: it was
    brought to a later version of the set, or made from a run on an earlier one.
    """
    sample = evaluation.provenance.settings.get("sample")
    size, asked = len(evaluation.queries), sample if isinstance(sample, int) else evaluation.total
    if size < asked and record["format"] < VERSION:
        raise ValueError(f"it holds {size:,} of {asked:,} queries")
    for measure in evaluation.scores.measures:
        recorded, computed = evaluation.mean(measure), evaluation.mean(measure, evaluation.queries)
        differ = math.isnan(recorded) != math.isnan(computed) or abs(recorded - computed) > _SAME
        if differ and _aggregate(measure) == "mean":
            raise ValueError(f"the mean of {measure} is {recorded:g}, and that of its queries {computed:g}")


def _require_digest(record: Mapping[str, Any]) -> None:
    """Refuse a baseline that is not as it was written."""
    if record["format"] >= VERSION and _field(record, "digest", str) != _digest(record):
        raise ValueError("it does not match its digest: it was edited, or lost or gained rows in a merge")


def _require_reasons(rows: Mapping[str, Mapping[str, Any]], scores: Scores) -> None:
    """Refuse a value that is missing without a reason, which format 2 always has: the row was damaged."""
    for query, row in rows.items():
        for measure in scores.measures:
            if scores.reason(query, measure) is not None and measure not in row.get("missing", {}):
                raise ValueError(f"query {shorten(query)} has no value of {measure}, and no reason why")


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


def _ids(values: Any) -> tuple[str, ...]:
    return tuple(check_id(value, "") for value in _typed(values, list, "a list of ids"))


def _value(value: Any) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_LARGEST <= value <= _LARGEST:
        raise ValueError(f"{shorten(value)} is not a number")
    return float(value)


def _read_fit(record: Mapping[str, Any], source: str) -> Baseline:
    """Return the baseline in fit's file: the means of four measures, and three percentiles of latency."""
    metrics = record["metrics"]
    try:
        latency = _numbers(metrics.get("latency", {}))
        means = {_FIT.get(key, key): _value(value) for key, value in metrics.items() if key != "latency"}
        means |= {"RR": means["RR@10"]} if "RR@10" in means else {}  # for rules that were written without a cut-off
    except (TypeError, ValueError) as error:
        raise InputError(f"is a damaged baseline: metrics: {error}", source=source) from None
    name = str(record.get("version", "baseline"))
    return Baseline(
        evaluation=Evaluation(
            provenance=Provenance(name=name, system={part: record[part] for part in FIT_PARTS if part in record}),
            scores=empty_scores(name),
            means=means,
            latency={"total": latency} if latency else {},
        ),
        recorded=str(record.get("recorded_at", "")),
    )


def write_fit(baseline: Baseline, path: str | Path) -> None:
    """Write fit's ``baseline-metrics.json``. It is an error if the run lacks a measure that the file has."""
    evaluation = baseline.evaluation
    missing = [name for name in FIT if math.isnan(evaluation.mean(name))]
    missing += [f"latency.{name}" for name in _PERCENTILES if math.isnan(evaluation.latency_of(name))]
    if missing:
        raise InputError(f"the run has no {', '.join(missing)}, which baseline-metrics.json holds")
    record = {
        "version": evaluation.provenance.golden.get("version") or "1",
        **name_parts(evaluation.provenance.system),
        "recorded_at": baseline.recorded,
        "metrics": {
            **{key: evaluation.mean(name) for key, name in _FIT.items()},
            "latency": {key: evaluation.latency_of(key) for key in _PERCENTILES},
        },
    }
    write_file(path, _escape_surrogates(json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"))
