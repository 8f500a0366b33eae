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
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from karat.core import GoldenSet, InputError
from karat.evaluation import (
    Evaluation,
    digest_listed,
    name_parts,
    needed_depth,
    segments_by_query,
)
from karat.files import write_file
from karat.gate._movers import KEPT
from karat.golden import Question
from karat.schema import is_plain, to_ascii

VERSION = 3
FIT_NAMES = {"recall_at_5": "R@5", "precision_at_5": "P@5", "mrr": "RR@10", "ndcg_at_5": "nDCG@5"}
"""The measures of fit's baseline-metrics.json."""
FIT = tuple(FIT_NAMES.values())
_PERCENTILES = ("p50", "p95", "p99")
QUESTION = ("text", "judgments", "documents", "wordings")
"""The fields of a question in its row."""
NOT_MEASURES = frozenset((*QUESTION, "segments", "hits", "missing"))
"""What a row has besides the values of measures."""


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """An accepted run."""

    evaluation: Evaluation
    recorded: str = ""
    """The day on which it was recorded, as YYYY-MM-DD."""
    forced: str = ""
    """Why it was accepted although it did not pass its gate; empty if it passed."""
    inconclusive: tuple[str, ...] = ()
    """What was inconclusive, against the baseline that it replaced, when it was accepted without force."""
    shrunk: str = ""
    """Why it was rebased although many of its questions were no longer in the golden set."""
    rebased: str = ""
    """The day on which it was brought to a later version of its golden set, as YYYY-MM-DD; empty if it was not."""
    format: int = VERSION
    """The format of its file. Only format 3 has a digest, which shows that no row was lost."""


def write_baseline(baseline: Baseline, path: str | Path) -> None:
    """Write a baseline, completely or not at all. Each query has its own line, so that a diff shows what changed."""
    write_file(path, _escape_surrogates("".join(_lines(baseline))))


def add_contents(evaluation: Evaluation, golden: GoldenSet) -> Evaluation:
    """Return an evaluation with the digests of the documents that its baseline lists, by which renamed ones are found.

    Of a baseline that has none, nobody knows what its other documents were: they may have been judged.
    """
    depth = needed_depth(evaluation.scores.measures, KEPT)
    lists = [documents[:depth] for documents in evaluation.lists.values()]
    listed = {document for documents in lists for document in documents}
    before = evaluation.contents
    if before is None:
        before = {} if evaluation.traces else dict.fromkeys(sorted(listed), "")
    kept = {document: digest for document, digest in before.items() if document in listed}
    return replace(evaluation, contents=kept | digest_listed(golden, lists))


def _escape_surrogates(text: str) -> str:
    """Return text with half surrogate pairs, which file names may have and UTF-8 cannot encode, escaped as in JSON."""
    return text.encode("utf-8", "backslashreplace").decode()


def _lines(baseline: Baseline) -> Iterator[str]:
    head = _head(baseline)
    depth = head["depth"]
    segments = segments_by_query(baseline.evaluation.segments)
    rows = {
        query: _row(baseline.evaluation, query, depth, segments.get(query)) for query in baseline.evaluation.queries
    }
    head = {"karat": "baseline", "format": VERSION, "digest": digest_record({**head, "queries": rows}), **head}
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
        **{name: note for name in ("forced", "rebased", "shrunk") if (note := getattr(baseline, name))},
        **({"inconclusive": list(baseline.inconclusive)} if baseline.inconclusive else {}),
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
        **({"contents": dict(evaluation.contents)} if evaluation.contents is not None else {}),
        "failed": dict(evaluation.failures),
        **(
            {"empty": {query: list(times) for query, times in evaluation.empties.items()}} if evaluation.empties else {}
        ),
        "unfound": sorted(evaluation.unfound),
        **({"questions_of": made_on} if (made_on := _find_questions(evaluation)) else {}),
    }


def _find_questions(evaluation: Evaluation) -> str:
    """Return the fingerprint of the golden set whose questions and judgments these are, all of them; "" if unknown.

    A run on an earlier version of the set, and a baseline that was rebased, may have some of that version.
    """
    is_new_run = evaluation.traces and evaluation.revision is None
    return str(evaluation.provenance.golden.get("fingerprint", "")) if is_new_run else ""


def digest_record(record: Mapping[str, Any]) -> str:
    """Return a digest of everything in a baseline, whatever the order of its keys and the layout of its file."""
    return digest_parts(record, encode_rows(record["queries"]))


def digest_parts(head: Mapping[str, Any], rows: bytes) -> str:
    """Return the digest of a baseline whose rows are encoded already; see :func:`digest_record`."""
    keys = sorted({*head, "queries"} - {"karat", "format", "digest"})
    digest = hashlib.sha256()
    for i, key in enumerate(keys):
        digest.update(b"%b%b: " % (b", " if i else b"{", _encode(key)))
        digest.update(rows if key == "queries" else _encode(head[key]))
    digest.update(b"}")
    return f"sha256:{digest.hexdigest()}"


def _encode(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def encode_rows(rows: Mapping[str, Mapping[str, Any]]) -> bytes:
    r"""Return ``json.dumps(rows, sort_keys=True)``, in a quarter of the time: there may be a hundred thousand rows.

    >>> encode_rows({"q": {"text": "Wie früh?", "RR@10": [0.5]}})
    b'{"q": {"RR@10": [0.5], "text": "Wie fr\\u00fch?"}}'
    """
    cells = chain.from_iterable(cell for row in rows.values() for cell in row.values() if type(cell) is list)
    if not is_plain([cell for cell in cells if type(cell) is float]):
        return _encode(rows)
    try:
        packed = msgspec.json.format(msgspec.json.encode(rows, order="sorted"), indent=0)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        return _encode(rows)  # such as a number of more than 64 bits
    return to_ascii(packed)


def _row(
    evaluation: Evaluation, query: str, depth: int, segments: Mapping[str, list[str]] | None = None
) -> dict[str, Any]:
    """Return the question, its segments, its values by repeat, the reasons of missing ones, and its first documents."""
    scores, missing = evaluation.scores, {}
    question = evaluation.questions.get(query, Question())
    row: dict[str, Any] = {name: value for name in QUESTION if (value := getattr(question, name))}
    if segments:
        row["segments"] = segments
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
            **{key: evaluation.mean(name) for key, name in FIT_NAMES.items()},
            "latency": {key: evaluation.latency_of(key) for key in _PERCENTILES},
        },
    }
    write_file(path, _escape_surrogates(json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"))
