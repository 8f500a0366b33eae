"""A table of one's own: CSV, JSONL or a JSON list, with a question and its documents in each row.

::

    question,document,grade
    when do you open?,hours,3
    when do you open?,contact,1

- ``question`` may be called ``query`` where each row has an ``id`` (or ``query_id``): in karat's own files ``query`` is
  the id of one. Rows with one id, or with one text where there are no ids, are about one question.
- ``document`` is one id, ``documents`` several: a list, an object of grades, or text with ``;`` between the ids.
- Without grades, what is listed is relevant. Where rows have grades, one without a grade is not judged yet: it would be
  a guess to read it as relevant.
- The cells of a CSV file may be separated by semicolons or tabs, as spreadsheets write them, and names of columns may
  have capitals and blanks. Blanks around an id in a cell do not count.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from karat.core import GoldenSet, InputError, Judgment, Query, Target, count_things, find_similar, shorten
from karat.files import Reading, Row, name_column
from karat.golden._format import FORMATS, Format
from karat.golden.formats._head import Head, read_head
from karat.golden.formats._listing import read_grades
from karat.golden.formats._records import digest, name_from_path, read_cell, read_ids, read_records
from karat.golden.formats._scale import HIGHEST, find_scale

_WRAPPER = "questions"
_WORDS = 24  # characters of a question in its id
_DIGITS = 6  # of its digest; two questions with one id are a mistake that is reported
_QUESTION = ("question", "query")
_ID = ("id", "query_id", "question_id")
_ONE = ("document", "document_id", "doc_id")
_SEVERAL = ("documents", "document_ids", "doc_ids", "relevant", "relevant_documents")
_GRADE = ("grade", "relevance")
_UTF16 = "\ufffd\ufffd"
"""How its byte-order mark is read, which is not UTF-8."""
_OF_RUNS = ("rank", "score", "similarity", "similarity_score")
"""Columns of what a system returned: none of that was judged, and as a golden set all of it would be relevant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """A question and one of its documents. Its grade is None where the row has none."""

    query: str
    document: str
    grade: int | None


def _read(path: Path, reading: Reading) -> GoldenSet:
    queries: dict[str, Query] = {}
    pairs: list[_Pair] = []
    is_json = read_head(path).is_json
    rows = read_records(path, reading, _WRAPPER) if is_json else reading.csv(path, lower=True, trim=(*_ID, *_ONE))
    for row in rows:
        with row:
            query = _read_query(row)
            queries[query.id] = _merge(queries.get(query.id, query), query, row)
            pairs += _read_pairs(row, query.id)
    if not queries and not reading.errors:
        raise InputError("holds no questions", source=str(path))
    scale = find_scale(_best_grades(pairs), reading, str(path))
    return GoldenSet(
        name=name_from_path(path),
        **scale,
        queries=tuple(queries.values()),
        judgments=tuple(_judge(pairs, None if _has_grades(path, pairs) else scale["relevant"], path, reading)),
    )


def _read_query(row: Row) -> Query:
    text = row.text(*_QUESTION)
    return Query(
        id=row.id(*_ID, default="") or _name(text),
        text=text,
        category=row.text("category", default=""),
        type=row.text("type", default=""),
        intent=row.text("intent", default=""),
        answer=row.text("answer", "reference_answer", default=""),
        answerable=_read_answerable(row),
    )


def _name(text: str) -> str:
    """Return an id that depends on the question alone: its first words, for people, and a part of its digest.

    >>> _name("How long do I have to give a bicycle back?")
    'how-long-do-i-have-to-99e90c'
    """
    words = "-".join(re.findall(r"\w+", text.casefold()))
    first = words if len(words) <= _WORDS else words[: _WORDS + 1].rpartition("-")[0]
    return f"{first or 'q'}-{digest(text)[:_DIGITS]}"


def _read_answerable(row: Row) -> bool:
    """Return a flag, which is text in a CSV cell."""
    value = row.value("answerable", default=True)
    flag = {"true": True, "false": False}.get(value.lower(), value) if isinstance(value, str) else value
    return row.nested({"answerable": flag}, "").flag("answerable", default=True)


def _merge(known: Query, other: Query, row: Row) -> Query:
    """Return the question of several rows. Of what only some of them say, the first counts."""
    if known.text != other.text:
        raise row.error(f"query {shorten(known.id)} has another text in an earlier row", "give it an id of its own")
    return replace(
        known,
        category=known.category or other.category,
        type=known.type or other.type,
        intent=known.intent or other.intent,
        answer=known.answer or other.answer,
        answerable=known.answerable and other.answerable,
    )


def _read_pairs(row: Row, query: str) -> Iterator[_Pair]:
    several = read_cell(row, *_SEVERAL)
    grade = row.integer(*_GRADE) if row.has(*_GRADE) else None
    row.ignore(*_GRADE)
    if grade is not None and not 0 <= grade <= HIGHEST:
        raise row.error(f"grade {grade} is not one from 0 to {HIGHEST}")
    if isinstance(several, dict):
        graded = read_grades(row.nested({"documents": several}, ""), "documents", HIGHEST)
        yield from (_Pair(query=query, document=name, grade=own) for name, own in graded.items())
    elif isinstance(several, str):
        names = [name.strip() for name in several.split(";") if name.strip()]
        yield from (_Pair(query=query, document=name, grade=grade) for name in dict.fromkeys(names))
    else:
        names = [*read_ids(row, *_SEVERAL)]
        yield from (_Pair(query=query, document=name, grade=grade) for name in dict.fromkeys(names))
    if row.has(*_ONE):
        yield _Pair(query=query, document=row.id(*_ONE), grade=grade)
    row.ignore(*_ONE)


def _has_grades(path: Path, pairs: Sequence[_Pair]) -> bool:
    return any(pair.grade is not None for pair in pairs) or bool(_names(read_head(path)).intersection(_GRADE))


def _best_grades(pairs: Sequence[_Pair]) -> list[int]:
    """Return the best grade of each question that has one."""
    best: dict[str, int] = {}
    for pair in pairs:
        if pair.grade is not None:
            best[pair.query] = max(pair.grade, best.get(pair.query, 0))
    return list(best.values())


def _judge(pairs: Sequence[_Pair], ungraded: int | None, path: Path, reading: Reading) -> Iterator[Judgment]:
    """Yield a judgment of each pair. What has no grade gets ``ungraded``, or is left out with a note."""
    for pair in pairs:
        grade = ungraded if pair.grade is None else pair.grade
        if grade is not None:
            yield Judgment(query=pair.query, target=Target(document=pair.document), grade=grade)
    if ungraded is None and (open_ := sum(pair.grade is None for pair in pairs)):
        reading.note(f"{path}: {count_things(open_, 'document')} without a grade left out, which nobody has judged")


def _names(head: Head) -> frozenset[str]:
    """Return the names of keys, or of columns, which people also write with capitals."""
    if not head.is_json:
        return frozenset(map(name_column, head.columns))
    return frozenset(name.removeprefix(f"{_WRAPPER}[].") for name in head.keys)


def _recognise(path: Path) -> bool:
    names = _names(read_head(path))
    return _has_question(names) and bool(names.intersection((*_ONE, *_SEVERAL))) and not names.intersection(_OF_RUNS)


def _has_question(names: frozenset[str]) -> bool:
    return "question" in names or ("query" in names and bool(names.intersection(_ID)))


def _explain(path: Path) -> str:
    """Return why a file that seems to be a table is none: it is empty, in UTF-16, or lacks a column; "" otherwise."""
    head = read_head(path)
    if path.is_file() and not head.text.strip():
        return "" if path.stat().st_size else "the file is empty"
    if head.text.startswith(_UTF16):
        return "is UTF-16 ('Unicode text'), not UTF-8: save it as UTF-8, which Excel calls 'CSV UTF-8'"
    names = frozenset() if head.is_json else _names(head)
    lacks = [] if _has_question(names) else ["question"]
    lacks += [] if names.intersection((*_ONE, *_SEVERAL)) else ["document"]
    is_csv = path.suffix.lower() in (".csv", ".tsv")
    if not names or not lacks or (len(lacks) > 1 and not is_csv):
        return ""
    columns = {name_column(name): name for name in head.columns}
    listed = ", ".join(map(shorten, columns.values()))
    if len(lacks) > 1:
        advice = ": call the columns of a table of your own 'question' and 'document'"
    else:
        alike = _find_alike(names, lacks[0])
        advice = f": call {shorten(columns[alike])} '{lacks[0]}'" if alike else ""
    return f"has the columns {listed}, and none called {' or '.join(map(repr, lacks))}{advice}"


def _find_alike(columns: Collection[str], name: str) -> str:
    """Return the column that probably is one of the known names, written otherwise; "" if none is.

    >>> _find_alike(["id", "documentid", "grade"], "document")
    'documentid'
    """
    known = {other.replace("_", "") for other in (_QUESTION if name == "question" else (*_ONE, *_SEVERAL))}
    alike = [column for column in columns if "".join(filter(str.isalnum, column)) in known]
    return next(iter(alike or find_similar(name, columns)), "")


FORMATS.add(
    "table",
    Format(
        name="table",
        summary="CSV, JSONL or JSON: question, document (or documents), grade",
        read=_read,
        recognise=_recognise,
        explain=_explain,
    ),
)
