"""Harvesting the log of a store."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from msgspec import structs

from karat.core import GoldenSet
from karat.feedback._harvest import Harvest, harvest
from karat.feedback._sampling import (
    MOST_QUERIES,
    choose_parts,
    describe_empty,
    describe_parts,
    read_parts,
    refuse_reversed,
)
from karat.feedback._sessions import Oddities
from karat.online import read_log


def harvest_log(
    store: str | os.PathLike[str] = "karat.db",
    golden: GoldenSet | None = None,
    *,
    since: float | None = None,
    until: float | None = None,
    most: int | None = MOST_QUERIES,
    **options: Any,
) -> Harvest:
    """Return a candidate for a golden set from the log of a store; the options are those of :func:`harvest`.

    ``since`` is included and ``until`` is not, in seconds since 1970. Answers are searched for the words of the golden
    set's documents. If there are more than ``most`` queries, some sessions stand for all; None reads all. What is still
    in the journal is not there: see :func:`karat.online.ingest`.
    """
    refuse_reversed(since, until)
    oddities = Oddities()
    texts = {document.id: document.text for document in golden.documents} if golden else None
    with read_log(store) as log:
        parts = choose_parts(log.totals(since, until).queries, most)
        sessions = read_parts(log, since, until, parts, oddities=oddities, texts=texts)
        result = harvest(sessions, golden, oddities=oddities, **options)
        empty = None if result.report.asked else describe_empty(log)
    if empty is not None:
        return replace(result, report=structs.replace(result.report, notes=(empty,)))
    if parts is None:
        return result
    notes = describe_parts(parts, result.report.asked), *result.report.notes
    return replace(result, report=structs.replace(result.report, notes=notes))
