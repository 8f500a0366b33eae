"""The pages of the golden set."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from karat.schema._golden import GoldenFinding
from karat.schema._types import Count
from karat.schema.pages._shared import IndexState


class GoldenQueryLine(Struct, frozen=True, kw_only=True):
    """A query of the golden set in one line."""

    id: str
    text: str
    category: str
    paraphrases: Count
    answerable: bool
    judged: Count
    relevant: Count
    findings: tuple[str, ...]
    """The rules of the linter that name the query."""


class GoldenPage(Struct, frozen=True, kw_only=True):
    """The queries of the golden set, or those that a filter keeps."""

    karat: Literal["page-golden"] = "page-golden"
    name: str
    version: str
    queries: tuple[GoldenQueryLine, ...]
    total: Count
    matching: Count
    more: str | None
    """What to pass as ``after`` to get the next queries; null after the last."""
    categories: tuple[str, ...]
    documents: Count
    judgments: Count
    findings: tuple[GoldenFinding, ...]
    """What the linter says, errors first."""
    open_proposals: Count
    index: IndexState


class JudgedTarget(Struct, frozen=True, kw_only=True):
    """A judgment of a query."""

    document: str
    target: str
    title: str
    grade: int
    source: str
    annotator: str
    date: str
    decided: int
    """The grade that counts for the target: of the most trusted source, the lower median of its annotators."""
    decides: bool
    """Whether its source is the most trusted one that judged the target."""
    text: str
    """What the span says, or how the document begins."""


class GoldenQueryPage(Struct, frozen=True, kw_only=True):
    """One query of the golden set, with its judgments."""

    karat: Literal["page-golden-query"] = "page-golden-query"
    id: str
    text: str
    paraphrases: tuple[str, ...]
    category: str
    answer: str
    answerable: bool
    grades: tuple[str, ...]
    judgments: tuple[JudgedTarget, ...]
    findings: tuple[GoldenFinding, ...]
    index: IndexState
