"""Queries and judgments in karat's format, decoded at once where each row has only the fields that most rows have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import count
from operator import attrgetter
from sys import intern
from typing import Annotated, Any

import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType
from numpy.typing import NDArray

from karat.core import Document, JudgmentTable, Query, Source, Span, Target, make_query
from karat.files import decode_plain, take_plain
from karat.golden.formats._bare_judgments import decode_bare_judgments

_Id = Annotated[str, Meta(min_length=1)]
Ints = NDArray[np.int64]
_Offset = Annotated[int, Meta(ge=0, lt=2**48)]
_Grade = Annotated[int, Meta(ge=-(2**31), lt=2**31)]


class _BareJudgment(Struct, forbid_unknown_fields=True, gc=False):
    """A judgment of a whole document that says no more."""

    query: _Id
    document: _Id
    grade: _Grade


class _PlainJudgment(_BareJudgment, forbid_unknown_fields=True, gc=False):
    """A judgment that needs no other fields, as nearly all do."""

    section: str | UnsetType = UNSET
    block: str | UnsetType = UNSET
    span: tuple[_Offset, _Offset] | UnsetType = UNSET
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


class _PlainDocument(Struct, forbid_unknown_fields=True):
    """A document that has its text in its row, and no metadata."""

    id: _Id
    text: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    format: str | UnsetType = UNSET
    domain: str | UnsetType = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    tier: str | UnsetType = UNSET
    version: str | UnsetType = UNSET
    superseded_by: _Id | UnsetType = UNSET


def decode_documents(data: bytes) -> tuple[Document, ...] | None:
    """Return the documents of a file if all are plain, or None: then each field has to be asked for."""
    return decode_plain(data, _PlainDocument, _build_document)


def _build_document(row: _PlainDocument) -> Document:
    return Document(
        id=row.id,
        text=row.text or "",
        title=row.title or "",
        type=row.type or "",
        format=row.format or "",
        domain=row.domain or "",
        tags=row.tags or (),
        tier=row.tier or "",
        version=row.version or "",
        superseded_by=row.superseded_by or "",
    )


_RARE = ("paraphrases", "answer", "must_show", "answerable", "harvested")
_get_rare, _NOTHING_RARE = attrgetter(*_RARE), (UNSET,) * len(_RARE)


def decode_queries(data: bytes) -> tuple[Query, ...] | None:
    """Return the queries of a file if all are plain, or None: then each field has to be asked for."""
    return decode_plain(data, _PlainQuery, _build_query)


def _build_query(row: _PlainQuery) -> Query:
    if _get_rare(row) == _NOTHING_RARE:
        return make_query(intern(row.id), row.text, row.category or "", row.type or "", row.intent or "")
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


def decode_judgments(data: bytes) -> JudgmentTable | None:
    """Return the judgments of a file if all are plain, or None: then each field has to be asked for."""
    if (table := decode_bare_judgments(data)) is not None:
        return table
    # Rows with only the fields that every judgment has are read in half the time, and most files have no others.
    for kind in (_BareJudgment, _PlainJudgment):
        columns = _Columns()
        if take_plain(data, kind, columns.add):
            return columns.table()
    return None


class _Columns:
    """Collects judgments in columns: each query, target and origin gets a number when it is first seen."""

    def __init__(self) -> None:
        self._queries, self._targets, self._origins = (_Numbers() for _ in range(3))
        self._rows: list[tuple[Ints, Ints, Ints, Ints]] = []

    def add(self, rows: Sequence[_BareJudgment]) -> None:
        """Add some judgments."""
        targets: list[Hashable] = [row.document for row in rows]
        origins: list[Hashable] = [_MANUAL]
        if isinstance(rows[0], _PlainJudgment):
            targets, origins = list(map(_target_key, rows)), list(map(_origin_key, rows))
        query, target = self._queries.number([row.query for row in rows]), self._targets.number(targets)
        grade = np.fromiter([row.grade for row in rows], np.int64, len(rows))
        origin = np.broadcast_to(self._origins.number(origins), len(rows))
        self._rows.append((query, target, grade, origin))

    def table(self) -> JudgmentTable:
        """Return all judgments."""
        none = np.zeros(0, np.int64)
        columns = [np.concatenate(column) for column in zip(*self._rows, strict=True)] or [none] * 4
        return JudgmentTable(
            queries=tuple(self._queries),
            targets=tuple(map(_build_target, self._targets)),
            origins=tuple(self._origins),
            query=columns[0],
            target=columns[1],
            grade=columns[2],
            origin=columns[3],
        )


class _Numbers(defaultdict[Any, int]):
    """Numbers by key: a new key gets the next one."""

    def __init__(self) -> None:
        super().__init__(count().__next__)

    def number(self, keys: Sequence[Hashable]) -> Ints:
        """Return the number of each key."""
        return np.fromiter(map(self.__getitem__, keys), np.int64, len(keys))


def _target_key(row: Any) -> Any:
    if row.section or row.block or row.span:
        return row.document, row.section or "", row.block or "", row.span or None
    return row.document


def _build_target(key: Any) -> Target:
    if isinstance(key, str):
        return Target(document=key)
    document, section, block, span = key
    return Target(document=document, section=section, block=block, span=None if span is None else Span(*span))


def _origin_key(row: Any) -> tuple[Source, str, str]:
    return (row.source or "manual", row.annotator or "", row.date or "")


_MANUAL: tuple[Source, str, str] = ("manual", "", "")
