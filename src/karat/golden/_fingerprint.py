"""The fingerprint of a golden set: a short text that changes when the content does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import fields
from hashlib import sha256
from itertools import chain
from json.encoder import encode_basestring_ascii as quote
from operator import attrgetter
from typing import Any

import numpy as np

from karat.core import Document, GoldenSet, Judgment, JudgmentTable, Query
from karat.golden._kept import keep, recall

_DESCRIPTION = frozenset({"name", "version", "description", "created", "notes", "gate"})
"""Fields that describe a set and are not part of its content."""
_LISTS = ("documents", "queries", "judgments")
_ATOMS = (str, int, float, bool, type(None))
_NUMBERS = (int, float)
_EMPTY = (str, tuple, dict, type(None))
"""The types whose empty values are left out."""
_CACHE = "_digests"
_KEPT = re.compile(rb"sha256:[0-9a-f]{64}(\nsha256:[0-9a-f]{64}){3}")
_SIZE = 32  # bytes of a digest
_encode = json.JSONEncoder(sort_keys=True).encode


def fingerprint(golden: GoldenSet) -> str:
    """Return ``sha256:`` and 64 digits over the content.

    The order of rows and the place of a text (in a row or in a file of its own) make no difference.

    >>> empty = fingerprint(GoldenSet(name="a"))
    >>> empty == fingerprint(GoldenSet(name="b")), empty == fingerprint(GoldenSet(relevant=1))
    (True, False)
    """
    return _digests(golden)["fingerprint"]


def identify(golden: GoldenSet) -> dict[str, str]:
    """Return what a run stores about its golden set: name, version, fingerprint, and those of its parts.

    ``questions`` covers all but the documents, ``documents`` only them, and ``asked`` the ids and texts of the queries.

    >>> from karat.core import Document
    >>> first, second = (identify(GoldenSet(documents=(Document(id="d", text=text),))) for text in "ab")
    >>> first["fingerprint"] == second["fingerprint"], first["questions"] == second["questions"]
    (False, True)
    """
    return {"name": golden.name, "version": golden.version, **_digests(golden)}


def _digests(golden: GoldenSet) -> dict[str, str]:
    """Return all digests, computed once for each set.

    They are kept in the set itself, as its cached properties are: a set is immutable, and ``replace`` makes a new one.
    """
    digests: dict[str, str] | None = vars(golden).get(_CACHE)
    if digests is None:
        digests = vars(golden)[_CACHE] = _read_kept(recall(golden, _CACHE)) or _compute(golden)
    return digests


def _compute(golden: GoldenSet) -> dict[str, str]:
    parts = dict(_parts(golden))
    questions = chain.from_iterable(part for name, part in parts.items() if name != "documents")
    digests = {
        "fingerprint": _digest(chain.from_iterable(parts.values())),
        "questions": _digest(questions),
        "documents": _digest(parts["documents"]),
        "asked": digest_texts((query.id, query.text) for query in golden.queries),
    }
    keep(golden, _CACHE, "\n".join(digests.values()).encode())
    return digests


def _read_kept(value: bytes | None) -> dict[str, str] | None:
    """Return the digests of a kept value; None if it does not have all of them."""
    if value is None or not _KEPT.fullmatch(value):
        return None
    return dict(zip(("fingerprint", "questions", "documents", "asked"), value.decode().split("\n"), strict=True))


def _digest(parts: Iterable[bytes | memoryview]) -> str:
    digest = sha256()
    for part in parts:
        digest.update(part)
    return f"sha256:{digest.hexdigest()}"


def digest_texts(questions: Iterable[tuple[str, str]]) -> str:
    """Return a digest of the ids and texts of questions, independent of their order."""
    return _digest(["".join([f"[{quote(id_)}, {quote(text)}]" for id_, text in sorted(set(questions))]).encode()])


def _parts(golden: GoldenSet) -> Iterator[tuple[str, tuple[bytes, bytes | memoryview]]]:
    """Yield each field of the content with its head and the digests of its rows."""
    for field in fields(golden):
        if field.name in _DESCRIPTION:
            continue
        if field.name == "judgments":
            digests = _digest_judgments(golden.held_judgments)
        elif field.name in _LISTS:
            digests = _digest_rows(map(_encode_row, getattr(golden, field.name)))
        else:
            digests = _digest_rows([_encode(plain(getattr(golden, field.name)))])
        yield field.name, (f"{field.name} {len(digests) // _SIZE}\n".encode(), digests)


def _digest_rows(rows: Iterable[str]) -> bytes | memoryview:
    """Return the digests of rows in their order, so that the order of the rows makes no difference.

    Sorting a million short digests takes less memory than sorting a million texts.
    """
    return _sort([sha256(row.encode()).digest() for row in rows])


def _sort(digests: list[bytes]) -> bytes | memoryview:
    """Return digests in their order, as one text, which is not copied: of a million judgments it has 32 MB."""
    table = np.frombuffer(b"".join(digests), np.uint8).reshape(-1, _SIZE)
    keys = np.ascontiguousarray(table[:, :8]).view(">u8").ravel().astype(np.uint64)
    order = np.argsort(keys)
    keys = keys[order]
    if (keys[1:] == keys[:-1]).any():  # the same row twice, or a coincidence
        return b"".join(sorted(digests))
    return table[order].reshape(-1).data


def _digest_judgments(judgments: JudgmentTable | tuple[Judgment, ...]) -> bytes | memoryview:
    """Return the digests of judgments, which for judgments in columns are computed from parts that many share."""
    if isinstance(judgments, tuple):
        return _digest_rows(_encode_judgments(judgments))
    if not all(judgments.queries) or not all(target.document for target in judgments.targets):
        return _digest_rows(_encode_judgments(judgments.judgments()))
    grades, numbers = np.unique(judgments.grade, return_inverse=True)
    heads = [
        f'{others}"grade": {grade}, "query": '.encode() for others in map(_encode_origin, judgments.origins)
        for grade in grades.tolist()
    ]  # fmt: skip
    queries = [quote(query).encode() for query in judgments.queries]
    sources = [f', "source": {quote(source)}, "target": '.encode() for source, _, _ in judgments.origins]
    targets = [_encode(plain(target)).encode() + b"}" for target in judgments.targets]
    if len(sources) == 1:  # as in most sets; three parts are joined in less time than four
        queries, sources = [query + sources[0] for query in queries], [b""]
    head = (judgments.origin * len(grades) + numbers).tolist()
    columns = (heads, head), (queries, judgments.query.tolist()), (targets, judgments.target.tolist())
    first, second, fourth = (map(parts.__getitem__, column) for parts, column in columns)
    third = map(sources.__getitem__, judgments.origin.tolist())
    if len(sources) == 1:
        return _sort([sha256(a + b + c).digest() for a, b, c in zip(first, second, fourth, strict=True)])
    return _sort([sha256(a + b + c + d).digest() for a, b, c, d in zip(first, second, third, fourth, strict=True)])


def _encode_origin(origin: tuple[str, str, str]) -> str:
    """Return the beginning of a judgment: the fields that come before its grade."""
    _, annotator, date = origin
    others = f'"annotator": {quote(annotator)}, ' if annotator else ""
    return "{" + others + (f'"date": {quote(date)}, ' if date else "")


def _encode_judgments(judgments: Iterable[Judgment]) -> Iterator[str]:
    """Yield each judgment as ``_encode(plain(judgment))`` has it; there may be a million of them."""
    targets: dict[int, str] = {}  # by identity: readers keep equal targets once, and hashing one takes longer
    last, query = "", ""
    for judgment in judgments:
        target = targets.get(id(judgment.target))
        if target is None:
            target = targets[id(judgment.target)] = _encode(plain(judgment.target))
        if judgment.query is not last:  # those of one query mostly stand together
            last, query = judgment.query, quote(judgment.query)
        odd = judgment.confidence is not None or judgment.channels or judgment.quote or type(judgment.grade) is not int
        if odd or not (judgment.query and judgment.target.document and judgment.source):
            yield _encode(plain(judgment))
            continue
        others = ""
        if judgment.annotator or judgment.date:
            others = f'"annotator": {quote(judgment.annotator)}, ' if judgment.annotator else ""
            others += f'"date": {quote(judgment.date)}, ' if judgment.date else ""
        source = quote(judgment.source)
        yield f'{{{others}"grade": {judgment.grade}, "query": {query}, "source": {source}, "target": {target}}}'


_TEXTS = {
    kind: sorted(field.name for field in fields(kind) if field.type == "str" and field.name != "path")
    for kind in (Query, Document)
}
_get_texts = {kind: attrgetter(*names) for kind, names in _TEXTS.items()}
_OTHERS = {
    kind: {field.name: field for field in fields(kind) if field.name not in (*_TEXTS[kind], "path")}
    for kind in (Query, Document)
}
_get_others = {kind: attrgetter(*names) for kind, names in _OTHERS.items()}
_DEFAULTS = {kind: _get_others[kind](kind(id="", text="")) for kind in (Query, Document)}
_STR = {str}


def _encode_row(row: Query | Document) -> str:
    """Return ``_encode(plain(row))``, in less time for a row of texts, as most queries and documents are."""
    kind = type(row)
    if kind in _TEXTS and _get_others[kind](row) == _DEFAULTS[kind]:
        texts = _get_texts[kind](row)
        if set(map(type, texts)) == _STR:
            named = zip(_TEXTS[kind], texts, strict=True)
            return "{" + ", ".join([f'"{name}": {quote(text)}' for name, text in named if text]) + "}"
    return _encode_record(plain(row))


def _encode_record(record: dict[str, Any]) -> str:
    """Return ``_encode(record)``, in less time for a record of texts, as most queries and documents are."""
    if set(map(type, record.values())) != {str}:
        return _encode(record)
    return "{" + ", ".join([f'"{name}": {quote(record[name])}' for name in sorted(record)]) + "}"


def plain(value: Any) -> Any:
    """Return a value as JSON has it, without empty fields, so that a new field of the model changes no fingerprint."""
    if isinstance(value, _ATOMS):
        return value
    if hasattr(value, "__slots__"):
        record = {}
        for name in value.__slots__:
            part = getattr(value, name)
            if not part and type(part) in _EMPTY:
                continue
            if name == "answerable" and part:
                continue  # the default, which sets that were written before the field do not have
            content = part if isinstance(part, _ATOMS) else plain(part)
            if (content or isinstance(content, _NUMBERS)) and name != "path":  # 0 is not empty
                record[name] = content
        return record
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return {key: plain(item) for key, item in value.items()} if isinstance(value, dict) else value
