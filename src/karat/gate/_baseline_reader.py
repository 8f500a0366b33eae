"""Reading baselines: of karat in all its formats, of fit and of blocks, with one message for whatever is damaged."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from karat.core import InputError, Measure, MeasureError, Origin, Provenance, Scores, check_id, shorten
from karat.evaluation import FIT_PARTS, Evaluation, Segment, empty_scores, queries_by_segment
from karat.files import decode, parse_json, read_bytes
from karat.gate._baseline import FIT_NAMES, NOT_MEASURES, QUESTION, VERSION, Baseline, digest_record
from karat.gate._baseline_rows import LARGEST, Rows, read_rows
from karat.gate._movers import KEPT
from karat.golden import Question

_READABLE = (1, 2, 3)
_SAME = 1e-6
_KEYS = frozenset(QUESTION)


def read_baseline(path: str | Path, data: bytes | None = None) -> Baseline:
    """Return the baseline in a file of karat, in fit's ``baseline-metrics.json`` or in blocks' summary.

    The latter two have means only. ``data`` is the content of the file, if the caller has read it already.
    """
    name = str(path)
    data = read_bytes(path) if data is None else data
    if (head_and_rows := read_rows(data)) is not None:
        return _read_own(*head_and_rows, name)
    text = decode(data, name)
    if text.strip()[:1] not in "[{":  # a run of another program, perhaps; an empty file is JSON that was cut off
        raise _say_none(name)
    record = parse_json(text, name, None, strict=True)
    if isinstance(record, dict) and record.get("karat") == "baseline":
        if record.get("format") not in _READABLE:
            raise InputError(
                f"is a baseline of format {shorten(record.get('format'))}, and this karat reads "
                f"{_READABLE[0]} to {_READABLE[-1]}",
                source=name,
                hint="read it with the karat that wrote it, or move it away and record a new one with 'karat baseline "
                "update RUN'",
            )
        return _read_own(record, None, name)
    if isinstance(record, dict) and isinstance(record.get("metrics"), dict):
        return _read_fit(record, name)
    from karat.gate._blocks import is_summary, read_summary  # the rarest kind

    if isinstance(record, dict) and is_summary(record):
        return read_summary(record, name)
    raise _say_none(name)


def _say_none(name: str) -> InputError:
    """Return the error of a file that is no baseline."""
    hint = "'karat baseline update RUN' writes one; fit's baseline-metrics.json and blocks' summary are read as well"
    return InputError("is not a baseline", source=name, hint=hint)


def is_baseline(data: bytes) -> bool:
    """Return whether the content of a file is a baseline; a damaged one is reported by :func:`read_baseline`."""
    if b'"karat": "baseline"' in data[:200]:
        return True
    if data.startswith(b'{"karat":"run"'):  # as karat writes it, and large
        return False
    if data.lstrip()[:1] != b"{" or not (b'"recorded_at"' in data or b'"bad_qids"' in data):
        return False
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):  # runs are lines of JSON, or not JSON at all
        return False
    from karat.gate._blocks import is_summary

    is_fit = isinstance(record, dict) and isinstance(record.get("metrics"), dict) and "recorded_at" in record
    return is_fit or is_summary(record)


def _read_own(record: Mapping[str, Any], rows: Rows | None, source: str) -> Baseline:
    """Return a baseline of karat; ``rows`` are those of its queries, if they have been read and checked already."""
    try:
        queries = {} if rows is not None else _field(record, "queries")
        provenance = Provenance(
            **{name: _field(record, name, str) for name in ("name", "fingerprint")},
            **{name: _field(record, name) for name in ("golden", "system", "settings", "versions")},
            origin=Origin.from_dict(record.get("origin")),
        )
        definitions = _field(record, "definitions")
        if rows is None:
            table = _read_table(provenance.name, queries, definitions)
        else:
            table = _make_table(provenance.name, rows, definitions)
        evaluation = Evaluation(
            provenance=provenance,
            scores=table.scores,
            repeats=table.repeats,
            means=_numbers(_field(record, "means")),
            latency={stage: _numbers(values) for stage, values in _field(record, "latency").items()},
            queries=table.queries,
            total=_field(record if record["format"] > 1 else {"total": 0, **record}, "total", int),
            lists=table.lists,
            contents=_read_contents(record),
            depth=_field(record, "depth", int) if record["format"] > 2 else KEPT,
            segments=table.segments,
            empties={query: _read_times(times) for query, times in _field({"empty": {}, **record}, "empty").items()},
            failures={query: _typed(why, str, "failed") for query, why in _field(record, "failed").items()},
            unfound=frozenset(_ids(_field(record, "unfound", list))),
            questions=table.questions,
            questions_of=_field({"questions_of": "", **record}, "questions_of", str),
        )
        _require_rows(evaluation, record)
        if rows is None and record["format"] > 1:
            _require_reasons(queries, table.scores)
        if rows is None:
            _require_digest(record)
        notes = {name: _field({name: "", **record}, name, str) for name in ("recorded", "forced", "rebased", "shrunk")}
        reasons = _field({"inconclusive": [], **record}, "inconclusive", list)
        notes["inconclusive"] = tuple(_typed(reason, str, "inconclusive") for reason in reasons)
    except (TypeError, ValueError, InputError) as error:
        raise InputError(
            f"is a damaged baseline: {error}",
            source=source,
            hint="take it from git, or move it away and record it again",
        ) from None
    return Baseline(evaluation=evaluation, format=record["format"], **notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """What the rows of a baseline hold."""

    queries: tuple[str, ...]
    scores: Scores
    repeats: tuple[Scores, ...] = ()
    lists: Mapping[str, tuple[str, ...]]
    segments: Mapping[Segment, list[str]]
    questions: Mapping[str, Question]


def _make_table(name: str, rows: Rows, definitions: Mapping[str, str]) -> _Table:
    """Return what rows hold that were decoded into columns."""
    scores = Scores(
        name=name,
        queries=rows.queries,
        measures=rows.measures,
        values=rows.values,
        codes=rows.codes,
        reasons=rows.reasons,
        definitions=definitions,
        aggregates=_find_aggregates(rows.measures),
    )
    return _Table(
        queries=rows.queries, scores=scores, lists=rows.lists, segments=rows.segments, questions=rows.questions
    )


def _read_table(name: str, queries: Mapping[str, Any], definitions: Mapping[str, str]) -> _Table:
    """Return what the rows of a baseline hold, of any format and layout, read one by one."""
    rows = {
        check_id(query, ""): row if type(row) is dict else _typed(row, Mapping, f"query {shorten(query)}")
        for query, row in queries.items()
    }
    repeats = _read_repeats(rows)
    scores = _read_scores(name, rows, repeats, definitions)
    return _Table(
        queries=tuple(rows),
        scores=scores,
        repeats=_repeat_tables(scores, repeats),
        lists={query: _ids(row["hits"]) for query, row in rows.items() if "hits" in row},
        segments=_read_segments(rows),
        questions={query: _read_question(row) for query, row in rows.items() if not _KEYS.isdisjoint(row)},
    )


def _read_question(row: Mapping[str, Any]) -> Question:
    texts = [row.get(name, "") for name in QUESTION]
    if set(map(type, texts)) == {str}:
        text, judgments, documents, wordings = texts
        return Question(text=text, judgments=judgments, documents=documents, wordings=wordings)
    return Question(**{name: _typed(row[name], str, name) for name in QUESTION if name in row})


def _read_segments(rows: Mapping[str, Mapping[str, Any]]) -> dict[Segment, list[str]]:
    fields = {
        query: table if type(table := row.get("segments", {})) is dict else _typed(table, Mapping, "segments")
        for query, row in rows.items()
    }
    known: set[tuple[str, ...]] = set()  # few are different, and each is checked once
    for values in (values for table in fields.values() for values in table.values()):
        if not _is_known(values, known):
            known.add(_ids(values))
    return queries_by_segment(fields)


def _is_known(values: Any, known: Set[tuple[str, ...]]) -> bool:
    try:
        return type(values) is list and tuple(values) in known
    except TypeError:  # it holds a list or an object
        return False


def _read_contents(record: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the digest of the text of each listed document; None if the file was written before there were any."""
    if "contents" not in record:
        return None
    contents = _field(record, "contents")
    return {check_id(document, ""): _typed(digest, str, "contents") for document, digest in contents.items()}


def _read_times(times: Any) -> tuple[int, int]:
    numbers = _typed(times, list, "empty")
    if len(numbers) != 2 or not all(type(number) is int and number > 0 for number in numbers):
        raise ValueError(f"empty has {shorten(times)}, which is not a count of a number")
    return numbers[0], numbers[1]


_Repeats = dict[str, dict[str, tuple[float, ...]]]
"""By measure and query: a value for each repeat, NaN where it is missing."""


def _read_repeats(rows: Mapping[str, Mapping[str, Any]]) -> _Repeats:
    columns: dict[str, dict[str, tuple[float, ...]]] = {}
    for query, row in rows.items():
        for measure, values in row.items():
            if measure not in NOT_MEASURES:
                numbers = tuple(map(_value, _typed(values, list, measure)))
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
    return Scores.from_columns(
        name,
        {measure: {query: _mean(values) for query, values in column.items()} for measure, column in repeats.items()},
        queries=rows,
        reasons=reasons,
        definitions=definitions,
        aggregates=_find_aggregates(repeats),
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


def _find_aggregates(measures: Iterable[str]) -> dict[str, str]:
    """Return how measures are averaged where it is not by their mean."""
    return {measure: aggregate for measure in measures if (aggregate := _aggregate(measure)) != "mean"}


def _aggregate(measure: str) -> str:
    try:
        return Measure.parse(measure).definition.aggregate
    except MeasureError:  # of a package that is not installed here
        return "mean"


def _mean(values: tuple[float, ...]) -> float:
    if len(values) == 1:
        return values[0]
    present = [value for value in values if not math.isnan(value)]
    return math.fsum(present) / len(present) if present else math.nan


def _require_rows(evaluation: Evaluation, record: Mapping[str, Any]) -> None:
    """Refuse a baseline that lost rows, as in a bad merge: a query that is not in it could never get worse.

    A file without a digest says only how many queries its golden set had. One with a digest may have fewer: it was
    brought to a later version of the set, or made from a run on an earlier one.
    """
    sample = evaluation.provenance.settings.get("sample")
    size, expected = len(evaluation.queries), sample if isinstance(sample, int) else evaluation.total
    if size < expected and record["format"] < VERSION:
        raise ValueError(f"it holds {size:,} of {expected:,} queries")
    for measure in evaluation.scores.measures:
        recorded, computed = evaluation.mean(measure), evaluation.mean(measure, evaluation.queries)
        differ = math.isnan(recorded) != math.isnan(computed) or abs(recorded - computed) > _SAME
        if differ and _aggregate(measure) == "mean":
            raise ValueError(f"the mean of {measure} is {recorded:g}, and that of its queries {computed:g}")


def _require_digest(record: Mapping[str, Any]) -> None:
    """Refuse a baseline that is not as it was written."""
    if record["format"] >= VERSION and _field(record, "digest", str) != digest_record(record):
        raise ValueError("it does not match its digest: it was edited, or lost or gained rows in a merge")


def _require_reasons(rows: Mapping[str, Mapping[str, Any]], scores: Scores) -> None:
    """Refuse a value that is missing without a reason, which format 2 always has: the row was damaged."""
    for row, column in np.argwhere(scores.codes).tolist():
        query, measure = scores.queries[row], scores.measures[column]
        if measure not in rows[query].get("missing", {}):
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
    if type(values) is list and set(map(type, values)) == {str} and all(values) and "".join(values).isascii():
        return tuple(values)
    return tuple(check_id(value, "") for value in _typed(values, list, "a list of ids"))


def _value(value: Any) -> float:
    if type(value) is float and -LARGEST <= value <= LARGEST:  # as nearly all are
        return value
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float) or not -LARGEST <= value <= LARGEST:
        raise ValueError(f"{shorten(value)} is not a number")
    return float(value)


def _read_fit(record: Mapping[str, Any], source: str) -> Baseline:
    """Return the baseline in fit's file: the means of four measures, and three percentiles of latency."""
    metrics = record["metrics"]
    try:
        latency = _numbers(metrics.get("latency", {}))
        means = {FIT_NAMES.get(key, key): _value(value) for key, value in metrics.items() if key != "latency"}
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
