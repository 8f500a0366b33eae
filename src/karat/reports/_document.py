"""The decision document: its schema, what is concluded from its facts, and how a file of it is read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

import msgspec

from karat.core import InputError, shorten
from karat.files import decode, open_file, parse_json, read_bytes
from karat.reports._failures import QueryStanding, find_failures, find_fixed
from karat.reports._recommendations import recommend
from karat.reports._words import clean
from karat.schema import DECISION_FORMAT, DecisionDocument, Mismatch, QueryRow, from_plain, json_schema

_HEAD = 200  # bytes
_HUGE = re.compile(rb"[:\[,]\s*-?\d{301,}\s*[,\]}]")
"""JSON has whole numbers of any size; a report has no use for one that is larger than any float."""
_REPORT = re.compile(rb'"karat"\s*:\s*"report"')


def add_conclusions(document: DecisionDocument) -> DecisionDocument:
    """Return the document with what follows from its facts: the queries that failed, and what to look at next."""
    return msgspec.structs.replace(add_failures(document, document.queries), recommendations=recommend(document))


def add_failures(document: DecisionDocument, queries: Sequence[QueryRow | QueryStanding]) -> DecisionDocument:
    """Return the document with those of some queries that failed, and those that the baseline failed."""
    failures = find_failures(document, queries)
    fixed = find_fixed(document, queries, failures)
    return msgspec.structs.replace(document, failures=failures, fixed=fixed or msgspec.UNSET)


def decision_schema() -> str:
    """Return the JSON Schema of the decision document, as ``karat report --schema`` prints it."""
    return json.dumps(json_schema(DecisionDocument, title="karat report"), indent=2) + "\n"


def read_document(path: str) -> DecisionDocument | None:
    """Return a decision that ``karat check`` or ``karat gate --json`` wrote, or None if the file is something else.

    ``-`` reads standard input, where anything else is an error.
    """
    name = "standard input" if path == "-" else path
    if path != "-" and not _may_be_decision(Path(path)):
        return None
    data = read_bytes(path)
    if not _REPORT.search(data):
        if path == "-":
            raise InputError("is not a decision", source=name, hint="'karat gate RUN --json' prints one")
        return None
    if _HUGE.search(data):
        raise _incomplete("it holds a number of more than 300 digits", name)
    plain = parse_json(decode(data, name), name, strict=True)
    _check_format(plain, name)
    try:
        document = from_plain(plain, DecisionDocument)
    except Mismatch as error:
        raise _incomplete(clean(error, 200), name) from None
    for contradiction in _contradictions(document):
        raise _incomplete(contradiction, name)
    return document


def _may_be_decision(path: Path) -> bool:
    """Return whether to read the whole file: by its name, or, whatever its name is, by how it begins."""
    if path.name.lower().endswith((".json", ".json.gz")):
        return True
    if not path.is_file():  # a pipe is a run, and can be read only once
        return False
    with open_file(path) as file:
        return _REPORT.search(file.read(_HEAD)) is not None


def _check_format(plain: object, name: str) -> None:
    number = plain.get("format") if isinstance(plain, Mapping) else None
    if isinstance(number, int) and number > DECISION_FORMAT:
        message = f"has format {shorten(number)}, and this version of karat knows {DECISION_FORMAT}"
        raise InputError(message, source=name, hint="a newer karat reads it")


def _incomplete(reason: str, name: str) -> InputError:
    return InputError(f"is not a complete decision: {reason}", source=name, hint="run 'karat check' again")


def _contradictions(document: DecisionDocument) -> Iterator[str]:
    """Yield what is wrong although every type is right; a report of it would contradict itself."""
    outcomes = {check.outcome for check in document.checks}
    worst = next((outcome for outcome in ("error", "fail", "inconclusive") if outcome in outcomes), "pass")
    if document.verdict.outcome != worst:
        yield f"the verdict is {document.verdict.outcome}, but the worst of its checks is {worst}"
    if document.baseline is None and any(measure.comparison for measure in document.measures):
        yield "it has differences, but no baseline"
    ids = [query.id for query in document.queries]
    if len(set(ids)) < len(ids):
        yield "two of its queries have the same id"
    try:
        date.fromisoformat(document.created)
    except ValueError:
        yield f"created {clean(document.created)} is not a day"
