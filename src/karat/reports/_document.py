"""The document that every report is rendered from: its schema, what is concluded from it, and how it is read."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from karat.core import InputError, decode, parse_json, read_bytes
from karat.reports._failures import failures
from karat.reports._recommendations import recommendations
from karat.reports._words import plain

FORMAT = 1
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
    if path != "-" and not path.lower().endswith((".json", ".json.gz")):
        return None
    data = read_bytes(path)
    if not _REPORT.search(data):
        if path == "-":
            raise InputError("is no decision", source=name, hint="'karat gate RUN --json' prints one")
        return None
    document = parse_json(decode(data, name), name, strict=True)
    _check(document, name)
    assert isinstance(document, dict)
    return document


def _check(document: object, name: str) -> None:
    from fastjsonschema import JsonSchemaValueException

    found = document.get("format") if isinstance(document, Mapping) else None
    if isinstance(found, int) and found > FORMAT:
        what = f"has format {found}, and this version of karat knows {FORMAT}"
        raise InputError(what, source=name, hint="a newer karat reads it")
    try:
        _validator()(document)
    except JsonSchemaValueException as error:
        what = plain(error.message.removeprefix("data.").removeprefix("data "), 200)
        raise InputError(f"is no whole decision: {what}", source=name, hint="run 'karat check' again") from None


@functools.cache
def _validator() -> Callable[[object], object]:
    import fastjsonschema  # here, because it takes 20 ms to load

    compiled: Callable[[object], object] = fastjsonschema.compile(json.loads(schema()))
    return compiled
