"""Queries and judgments in karat's format, decoded at once where each row has only the fields that most rows have."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from karat.core import Judgment, Query, Source, Target, make_judgment
from karat.files import decode_plain

_Id = Annotated[str, Meta(min_length=1)]
_Grade = Annotated[int, Meta(ge=-(2**31), lt=2**31)]


class _PlainJudgment(Struct, forbid_unknown_fields=True):
    """A judgment that needs no other fields, as nearly all do."""

    query: _Id
    document: _Id
    grade: _Grade
    section: str | UnsetType = UNSET
    block: str | UnsetType = UNSET
    source: Source | UnsetType = UNSET
    annotator: str | UnsetType = UNSET
    date: str | UnsetType = UNSET


class _PlainQuery(Struct, forbid_unknown_fields=True):
    """A query that needs no other fields."""

    id: _Id
    text: str
    paraphrases: tuple[str, ...] | UnsetType = UNSET
    category: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    intent: str | UnsetType = UNSET
    answer: str | UnsetType = UNSET
    must_show: tuple[_Id, ...] | UnsetType = UNSET
    answerable: bool | UnsetType = UNSET
    harvested: str | UnsetType = UNSET


def decode_queries(data: bytes) -> tuple[Query, ...] | None:
    """Return the queries of a file if all are plain, or None: then each field has to be asked for."""
    return decode_plain(data, _PlainQuery, _build_query)


def _build_query(row: _PlainQuery) -> Query:
    return Query(
        id=row.id,
        text=row.text,
        paraphrases=row.paraphrases or (),
        category=row.category or "",
        type=row.type or "",
        intent=row.intent or "",
        answer=row.answer or "",
        must_show=row.must_show or (),
        answerable=row.answerable is not False,
        harvested=row.harvested or "",
    )


def decode_judgments(data: bytes) -> tuple[Judgment, ...] | None:
    """Return the judgments of a file if all are plain, or None: then each field has to be asked for."""
    # An id is kept once, however many judgments have it: a million texts fill the memory.
    queries: dict[str, str] = {}
    targets: dict[tuple[str, str, str], Target] = {}

    def build(row: _PlainJudgment) -> Judgment:
        part = (row.document, row.section or "", row.block or "")
        target = targets.get(part)
        if target is None:
            target = targets[part] = Target(document=part[0], section=part[1], block=part[2])
        query = queries.setdefault(row.query, row.query)
        return make_judgment(query, target, row.grade, row.source or "manual", row.annotator or "", row.date or "")

    return decode_plain(data, _PlainJudgment, build)
