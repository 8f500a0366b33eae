"""The columns of a table: what they may be called, and what values they may hold."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Literal

from karat.core import InputError, shorten, unwrap

Kind = Literal["qrels", "run"]

_QUERY = ("query_id", "qid", "q_id", "query", "topic_id", "topic")
_DOCUMENT = ("doc_id", "docid", "docno", "doc", "document_id", "document", "corpus_id", "passage_id", "pid", "did")
_VALUE = {
    "qrels": ("relevance", "rel", "grade", "label", "judgment", "relevancy", "score"),
    "run": ("score", "sim", "similarity"),
}
VALUE_NAME = {"qrels": "grade", "run": "score"}
TREC_COLUMNS = {
    "qrels": ("query", "iteration", "document", "grade"),
    "run": ("query", "Q0", "document", "rank", "score", "tag"),
}
LARGEST_GRADE = 10**15  # every whole number up to here is exact as a float64

# float() would take "1_000", "infinity" and digits of other scripts.
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"([+-]?\d+)(?:\.0+)?", re.ASCII)  # pandas writes 2.0 if the column once had a missing value
# How Polars renames the second of two columns with one name.
_SECOND = re.compile(r"_duplicated_\d+$")


def find_columns(names: Sequence[str], kind: Kind, source: str, line: int | None = None) -> tuple[str, str, str]:
    """Return the names of the query, document and value columns. Other columns are ignored.

    >>> find_columns(["query-id", "corpus-id", "score"], "qrels", "test.tsv")
    ('query-id', 'corpus-id', 'score')
    """
    folded = [_fold(name) for name in names]
    columns = []
    for role, words in (("query", _QUERY), ("document", _DOCUMENT), (VALUE_NAME[kind], _VALUE[kind])):
        word = next((word for word in words if word in folded), None)
        if word is None:
            raise InputError(
                f"no {role} column among {_listed(names)}",
                source=source,
                line=line,
                hint=f"name one of them {words[0]!r}",
            )
        name = names[folded.index(word)]
        if folded.count(word) > 1:
            raise InputError(f"column {name!r} appears twice", source=source, line=line, hint="keep one of them")
        columns.append(name)
    return columns[0], columns[1], columns[2]


def find_query_column(names: Sequence[str], source: str, line: int | None = None) -> str:
    """Return the name of the query column in a table of queries."""
    folded = [_fold(name) for name in names]
    for word in (*_QUERY[:3], "_id", "id", *_QUERY[3:]):
        if word in folded:
            return names[folded.index(word)]
    raise InputError(f"no query id among {_listed(names)}", source=source, line=line, hint="name it 'query_id'")


def is_header(cells: Sequence[str]) -> bool:
    """Return whether the first row of a table names its columns."""
    folded = {_fold(cell) for cell in cells}
    return not folded.isdisjoint(_QUERY) and not folded.isdisjoint(_DOCUMENT)


def _fold(name: str) -> str:
    return _SECOND.sub("", name.strip().lower().replace("-", "_").replace(" ", "_"))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(shorten(name) for name in names[:10])
    return (shown or "none") + (", ..." if len(names) > 10 else "")


def parse_score(text: str) -> float:
    """Return a finite decimal number, or raise ValueError."""
    value = float(text) if _DECIMAL.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def parse_grade(text: str) -> int:
    """Return a whole number, which may be written as 2.0, or raise ValueError."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return check_grade(int(match[1]))


def check_score(value: object) -> float:
    """Return a number of JSON, Python or NumPy as a score, or raise ValueError."""
    value = unwrap(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("not a number")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError("too large") from None
    if not math.isfinite(number):
        raise ValueError("not finite")
    return number


def check_grade(value: object) -> int:
    """Return a whole number of JSON, Python or NumPy as a grade, or raise ValueError."""
    value = unwrap(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("not a number")
    if not abs(value) <= LARGEST_GRADE or value != int(value):
        raise ValueError("too large, or not a whole number")
    return int(value)


PARSE: dict[Kind, Callable[[str], float]] = {"qrels": parse_grade, "run": parse_score}
CHECK: dict[Kind, Callable[[object], float]] = {"qrels": check_grade, "run": check_score}


def bad_value(kind: Kind, value: object, source: str, line: int | None) -> InputError:
    """Return an error about a grade or a score."""
    wrong, hint = {
        "qrels": ("is not a whole number", "grades are integers such as 0, 1, 2"),
        "run": ("is not a finite number", "scores are decimal numbers such as 12.5"),
    }[kind]
    if isinstance(value, str) and _parses(value, kind):
        wrong, hint = "is text", "write the number without quotes"
    elif kind == "qrels" and _is_whole(value):
        wrong, hint = "is too large", "grades lie between -10^15 and 10^15"
    return InputError(f"{VALUE_NAME[kind]} {shorten(value)} {wrong}", source=source, line=line, hint=hint)


def _parses(text: str, kind: Kind) -> bool:
    try:
        PARSE[kind](text)
    except ValueError:
        return False
    return True


def _is_whole(value: object) -> bool:
    if isinstance(value, str):
        return _INTEGER.fullmatch(value) is not None
    return type(value) is int or (isinstance(value, float) and value.is_integer())


def duplicate(kind: Kind, query: str, document: str, source: str, line: int | None) -> InputError:
    """Return an error about a document that appears twice for one query."""
    hint = {
        "qrels": "keep one grade for each pair",
        "run": "keep only its best score, and collapse chunks to their document yourself",
    }[kind]
    return InputError(
        f"document {shorten(document)} appears twice for query {shorten(query)}", source=source, line=line, hint=hint
    )
