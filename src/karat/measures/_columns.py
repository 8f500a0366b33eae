"""What columns of a table mean, whatever they are called, and what may stand in them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal

from karat.core import InputError

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

# float() would take "1_000", "infinity" and digits of other scripts.
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d{1,15}", re.ASCII)
LARGEST_GRADE = 10**15  # every whole number up to here is exact as a float64


def find_columns(names: Sequence[str], kind: Kind, source: str, line: int | None = None) -> tuple[str, str, str]:
    """Give the names of the query, document and value columns; other columns are nobody's business.

    >>> find_columns(["query-id", "corpus-id", "score"], "qrels", "test.tsv")
    ('query-id', 'corpus-id', 'score')
    """
    folded = _fold(names)
    found = []
    for what, known in (("query", _QUERY), ("document", _DOCUMENT), (VALUE_NAME[kind], _VALUE[kind])):
        name = next((folded[word] for word in known if word in folded), None)
        if name is None:
            has = ", ".join(map(repr, names)) or "none"
            raise InputError(
                f"no {what} column among {has}", source=source, line=line, hint=f"name one of them {known[0]!r}"
            )
        found.append(name)
    return found[0], found[1], found[2]


def find_query_column(names: Sequence[str], source: str) -> str:
    """Give the name of the query column of a table of queries."""
    folded = _fold(names)
    for word in (*_QUERY[:3], "_id", "id", *_QUERY[3:]):
        if word in folded:
            return folded[word]
    raise InputError(f"no query id among {', '.join(map(repr, names))}", source=source, hint="name it 'query_id'")


def _fold(names: Sequence[str]) -> dict[str, str]:
    return {name.strip().lower().replace("-", "_").replace(" ", "_"): name for name in reversed(names)}


def is_header(cells: Sequence[str]) -> bool:
    """Say whether the first row of a table names its columns."""
    folded = _fold(cells).keys()
    return not folded.isdisjoint(_QUERY) and not folded.isdisjoint(_DOCUMENT)


def parse_score(text: str) -> float:
    """Read a finite decimal number, or raise ValueError."""
    value = float(text) if _DECIMAL.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def parse_grade(text: str) -> int:
    """Read a whole number, or raise ValueError."""
    if not _INTEGER.fullmatch(text):
        raise ValueError(text)
    return int(text)


def check_score(value: object) -> float:
    """Take a number of JSON, Python or NumPy as a score, or raise ValueError."""
    value = _plain(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(value)
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(value) from None
    if not math.isfinite(number):
        raise ValueError(value)
    return number


def check_grade(value: object) -> int:
    """Take a whole number of JSON, Python or NumPy as a grade, or raise ValueError."""
    value = _plain(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(value)
    if not abs(value) <= LARGEST_GRADE or value != int(value):
        raise ValueError(value)
    return int(value)


def _plain(value: object) -> object:
    """Unwrap a NumPy scalar, of which dicts built from arrays are full."""
    item = getattr(value, "item", None)
    return item() if callable(item) and getattr(value, "shape", None) == () else value


def bad_value(kind: Kind, value: object, source: str, line: int | None) -> InputError:
    """Say that a grade or a score is none."""
    wanted = {
        "qrels": "is not a whole number; grades are integers such as 0, 1, 2",
        "run": "is not a finite number; scores are decimal numbers such as 12.5",
    }[kind]
    what, hint = f"{VALUE_NAME[kind]} {shorten(value)} {wanted}".split("; ")
    return InputError(what, source=source, line=line, hint=hint)


def duplicate(kind: Kind, query: str, document: str, source: str, line: int | None) -> InputError:
    """Say that a document stands twice under one query."""
    hint = {
        "qrels": "keep one grade for each pair",
        "run": "keep its best score; chunks are collapsed to their document before scoring",
    }[kind]
    return InputError(
        f"document {shorten(document)} stands twice for query {shorten(query)}", source=source, line=line, hint=hint
    )


def shorten(value: object) -> str:
    """Print a value that may be huge or full of control characters on one short line."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:40]}...{text[-1]}"
