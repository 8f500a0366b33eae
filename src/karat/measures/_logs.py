"""Logs as rankings: the run files of ``karat eval``, the trace files of retrievers, and spans of tracing tools.

A log has hits, which may be parts of documents. Here they become documents, each at the rank of its best hit.
Only the query as it stands counts, not its paraphrases, and of several repeats the first.
"""

from __future__ import annotations

import io
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from karat.core import InputError, document_of, shorten
from karat.files import Reading, Row, decode, parse_json
from karat.measures._columns import check_score
from karat.measures._files import Source
from karat.measures._text import Table
from karat.measures._trace_fields import HIT_FIELDS, TRACE_FIELDS
from karat.traces import TRACE_EVENT, read_span_traces

_FORMATS = (1, 2)
"""The formats of run files; their hits are the same."""
_END = {"end": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRankings:
    """The rankings of a log."""

    table: Table
    """``{query: {document: score}}``. A query that failed has no documents."""
    repeated: Counter[str] = field(default_factory=Counter)
    """By query: how many hits were left out because a better hit of their document ranks above them."""


def read_rankings(source: Source) -> LoggedRankings:
    """Return the rankings of a run file, a trace file, or a file of spans."""
    if source.log == "spans":
        lists = _read_span_file(source)
    else:
        text = decode(source.read(), source.name)
        lists = _read_run_file(text, source.name) if source.log == "run" else _read_trace_file(text, source.name)
    if not lists:
        raise InputError("answers no query in its original wording", source=source.name)
    table = {query: rank_documents(hits) for query, hits in lists.items()}
    repeated = Counter({query: n for query, hits in lists.items() if (n := len(hits) - len(table[query]))})
    return LoggedRankings(table=table, repeated=repeated)


def rank_documents(hits: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Return the documents of hits, pairs of document and score, best first, each where its first hit is.

    The order of the hits is the ranking. An equal score becomes the next lower number, so that it does not tie. Where
    the scores contradict the order, or no finite number is lower, places replace all of them.

    >>> rank_documents([("b", 0.9), ("a", 0.7), ("c", 0.7), ("a", 0.5)])
    {'b': 0.9, 'a': 0.7, 'c': 0.6999999999999998}
    >>> rank_documents([("b", 0.9), ("a", 0.7), ("c", 0.8)])
    {'b': 3.0, 'a': 2.0, 'c': 1.0}
    """
    ranking: dict[str, float] = {}
    lowest = math.inf
    for document, score in hits:
        if document not in ranking:
            lowest = ranking[document] = min(score, math.nextafter(lowest, -math.inf))
    if math.isinf(lowest) or any(after > before for (_, before), (_, after) in pairwise(hits)):
        places: dict[str, float] = {}
        for place, (document, _) in enumerate(hits):
            places.setdefault(document, float(len(hits) - place))
        return places
    return ranking


def _read_run_file(text: str, source: str) -> dict[str, list[tuple[str, float]]]:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    header = parse_json(lines[0], source, 1, strict=True)
    assert isinstance(header, dict)  # or it would not have been recognised
    if header.get("format") not in _FORMATS:
        known = " and ".join(map(str, _FORMATS))
        raise InputError(f"is a run of format {shorten(header.get('format'))}; this karat reads {known}", source=source)
    if len(lines) < 2 or not _is_end(lines[-1]):
        hint = "run 'karat eval' again to finish it"
        raise InputError("the run is not finished", source=source, line=len(lines), hint=hint)
    lists: dict[str, list[tuple[str, float]]] = {}
    for number, line in enumerate(lines[1:-1], 2):
        record = parse_json(line, source, number, strict=True)
        try:
            if not _is_first(record):
                continue
            query, hits = _read_trace(record)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"is not a trace: {error!r}", source=source, line=number) from None
        if query in lists:
            raise InputError(f"query {shorten(query)} is answered twice", source=source, line=number)
        lists[query] = hits
    return lists


def _is_end(line: str) -> bool:
    try:
        return bool(json.loads(line) == _END)
    except (ValueError, RecursionError):  # cut off
        return False


def _is_first(record: Any) -> bool:
    """Return whether a trace answers the query as it stands, and is the first repeat."""
    return not record.get("paraphrase", 0) and not record.get("repeat", 0)


def _read_trace(record: Any) -> tuple[str, list[tuple[str, float]]]:
    if record.get("error") and record["hits"]:
        raise ValueError("it has an error and hits")
    hits = [(_text(hit.get("document", hit["id"])), check_score(hit["score"])) for hit in record["hits"]]
    return _text(record["query"]), hits


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError(f"{shorten(value)} is not an id")
    return value


def _read_span_file(source: Source) -> dict[str, list[tuple[str, float]]]:
    """Return the hits of each request; one that does not name its question has the text of the question as its id."""
    lists: dict[str, list[tuple[str, float]]] = {}
    for trace in read_span_traces(io.BytesIO(source.read()), source.name).traces:
        if not trace.paraphrase:
            lists.setdefault(trace.query or trace.text, [(hit.document, hit.score) for hit in trace.hits])
    return lists


def _read_trace_file(text: str, source: str) -> dict[str, list[tuple[str, float]]]:
    _check_lines(text, source)
    reading, traces = Reading(), _Traces()
    for row in _read_rows(reading, text, source):
        if row.value("event", default=TRACE_EVENT) == TRACE_EVENT:
            with row:
                traces.add(row)
    reading.finish()
    return {query: hits for query, (_, hits) in traces.first.items()}


def _check_lines(text: str, source: str) -> None:
    """Refuse traces that are spread over several lines."""
    first = next(line for line in text.split("\n") if line.strip()).strip()
    if first[0] == "[" or first == "{":
        raise InputError("is not JSONL", source=source, hint="write each trace on a line of its own, as jq -c does")


def _read_rows(reading: Reading, text: str, source: str) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip(" \t\r"):
            continue
        try:
            record = parse_json(line, source, number, strict=True)
        except InputError as error:
            reading.errors.append(error)
            continue
        if isinstance(record, dict):
            yield Row(reading, record, source, line=number)
        else:
            reading.errors.append(InputError(f"{shorten(record)} is not an object", source=source, line=number))


class _Traces:
    """The first trace of each query: paraphrase 0, and the lowest seed."""

    def __init__(self) -> None:
        self.first: dict[str, tuple[int, list[tuple[str, float]]]] = {}
        """By query: the seed and the hits."""
        self._asked: dict[tuple[str, int], str] = {}
        """By query and seed: the text that was asked."""

    def add(self, row: Row) -> None:
        """Add the trace in a row."""
        query, text = row.id("qid"), row.text("query", default="")
        seed, paraphrase = _read_natural(row, "seed", -1), _read_natural(row, "paraphrase", 0)
        hits = _read_hits(row)
        if paraphrase:
            return
        if (query, seed) in self._asked:
            raise self._conflict(row, query, same=self._asked[query, seed] == text)
        self._asked[query, seed] = text
        if query not in self.first or seed < self.first[query][0]:
            self.first[query] = (seed, hits)

    def _conflict(self, row: Row, query: str, *, same: bool) -> InputError:
        if not same:
            hint = "number the wordings with 'paraphrase', 0 for the query as it stands"
            return row.error(f"query {shorten(query)} is answered in several wordings", hint)
        hint = "keep one of them, or give each its own 'seed', a whole number"
        return row.error(f"query {shorten(query)} is answered twice", hint)


def _read_natural(row: Row, name: str, default: int) -> int:
    number = row.integer(name) if row.has(name) else None
    if number is not None and number < 0:
        raise row.error(f"{name!r} is {number}", "it should be at least 0")
    return default if number is None else number


def _read_hits(row: Row) -> list[tuple[str, float]]:
    """Return the hits of a trace as documents with scores; where one has no score, places stand for all scores."""
    parent = row.id(*TRACE_FIELDS["document"], default="")
    if not row.has("error"):
        row.value("topk")
    items = row.list("topk")
    if items and row.has("error"):
        raise row.error("has an 'error' and hits in 'topk'", "keep one of them")
    documents, scores = [], []
    for i, item in enumerate(items):
        hit = row.nested(item if isinstance(item, dict) else {"id": item}, f"topk[{i}]")
        scores.append(hit.number(*HIT_FIELDS["score"], default=None))
        id_ = hit.id(*HIT_FIELDS["id"])
        document = hit.id(*HIT_FIELDS["document"], default=parent)
        documents.append(document or document_of(id_))
    places = [float(len(scores) - i) for i in range(len(scores))]
    numbers = [score for score in scores if score is not None]
    return list(zip(documents, numbers if len(numbers) == len(scores) else places, strict=True))
