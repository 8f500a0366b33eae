"""The page of one run."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from karat.schema._decision import DecisionDocument
from karat.schema._types import Count, Score
from karat.schema.pages._shared import IndexState, RunLine


class RunQuery(Struct, frozen=True, kw_only=True):
    """A query of a run in a line."""

    id: str
    text: str
    category: str
    scores: dict[str, Score]
    missing: dict[str, str]
    """Why scores are missing, by measure."""
    milliseconds: Score
    states: tuple[Literal["error", "unfound", "false answer", "failed", "new"], ...]
    """What is wrong with it: ``failed`` for any reason that the report counts, ``new`` if the baseline did not."""


class RunPage(Struct, frozen=True, kw_only=True):
    """A run: the report, and its queries a page at a time."""

    karat: Literal["page-run"] = "page-run"
    project: str
    run: RunLine
    report: DecisionDocument | None
    """The decision without queries and passages, and with the first of what it lists by query; null without one."""
    measures: tuple[str, ...]
    measure: str
    """The measure that the queries are ordered by; empty if there is none."""
    queries: tuple[RunQuery, ...]
    categories: tuple[str, ...]
    counts: dict[str, Count]
    """How many queries each choice of ``show`` has, without other filters."""
    matching: Count
    more: str | None
    """What to pass as ``after`` to get the next queries; null after the last."""
    texts: dict[str, str]
    """The text of each query that the first failures and recommendations name."""
    baseline: str | None
    """The id of the run that the baseline was made from, if it is among the runs."""
    index: IndexState
