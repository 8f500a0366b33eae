"""The document that every report is rendered from: its schema, what is concluded from it, and how it is read."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

from karat.core import InputError, shorten
from karat.files import decode, parse_json, read_bytes
from karat.reports._failures import failures
from karat.reports._recommendations import recommendations
from karat.reports._words import plain

FORMAT = 1
_HEAD = 200  # bytes
_HUGE = re.compile(rb"[:\[,]\s*-?\d{301,}\s*[,\]}]")
"""JSON knows whole numbers of any size, and no report has a use for one that is no float."""
_REPORT = re.compile(rb'"karat"\s*:\s*"report"')


def conclude(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Add to the facts of a run what is concluded from them: the queries that failed, and what to look at next."""
    return {
        **facts,
        "failures": [{"query": one.query, "reasons": list(one.reasons)} for one in failures(facts)],
        "recommendations": [
            {"rule": one.rule, "finding": one.finding, "advice": one.advice, "queries": list(one.queries)}
            for one in recommendations(facts)
        ],
    }


def schema() -> str:
    """Give the JSON Schema of the document."""
    return files("karat.reports").joinpath("assets/report.schema.json").read_text("utf-8")


def read_document(path: str) -> dict[str, Any] | None:
    """Read a decision that ``karat check`` or ``karat gate --json`` wrote; None if the file is something else.

    ``-`` is standard input, which can be nothing else.
    """
    name = "standard input" if path == "-" else path
    if path != "-" and not _may_be_one(Path(path)):
        return None
    data = read_bytes(path)
    if not _REPORT.search(data):
        if path == "-":
            raise InputError("is no decision", source=name, hint="'karat gate RUN --json' prints one")
        return None
    if _HUGE.search(data):
        raise _broken("it holds a number of more than 300 digits", name)
    document = parse_json(decode(data, name), name, strict=True)
    _check(document, name)
    assert isinstance(document, dict)
    return document


def _may_be_one(path: Path) -> bool:
    """Say whether to read a file whole: by its name, or, whatever it is called, by how it begins."""
    if path.name.lower().endswith((".json", ".json.gz")):
        return True
    if not path.is_file():  # a pipe is a run, and can be read once only
        return False
    with path.open("rb") as file:
        return _REPORT.search(file.read(_HEAD)) is not None


def _check(document: object, name: str) -> None:
    from fastjsonschema import JsonSchemaValueException

    found = document.get("format") if isinstance(document, Mapping) else None
    if isinstance(found, int) and found > FORMAT:
        what = f"has format {shorten(found)}, and this version of karat knows {FORMAT}"
        raise InputError(what, source=name, hint="a newer karat reads it")
    try:
        _validator()(document)
    except JsonSchemaValueException as error:
        what = plain(error.message.removeprefix("data.").removeprefix("data "), 200)
        raise _broken(what, name) from None
    assert isinstance(document, Mapping)
    for wrong in _contradictions(document):
        raise _broken(wrong, name)


def _broken(what: str, name: str) -> InputError:
    return InputError(f"is no whole decision: {what}", source=name, hint="run 'karat check' again")


def _contradictions(document: Mapping[str, Any]) -> Iterator[str]:
    """Give what a schema cannot say; a report of it would say two things."""
    outcomes = [check["outcome"] for check in document["checks"]]
    worst = next((one for one in ("fail", "inconclusive") if one in outcomes), "pass")
    if document["verdict"]["outcome"] != worst:
        yield f"the verdict is {document['verdict']['outcome']}, and that of its checks {worst}"
    if document["baseline"] is None and any(one.get("difference") is not None for one in document["measures"]):
        yield "it has differences, and no baseline"
    ids = [query["id"] for query in document["queries"]]
    if len(set(ids)) < len(ids):
        yield "two of its queries have the same id"
    try:
        date.fromisoformat(document["created"])
    except ValueError:
        yield f"created {document['created']} is no day"


@functools.cache
def _validator() -> Callable[[object], object]:
    import fastjsonschema  # here, because it takes 20 ms to load

    compiled: Callable[[object], object] = fastjsonschema.compile(json.loads(schema()))
    return compiled
