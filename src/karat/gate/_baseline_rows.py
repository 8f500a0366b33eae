"""The rows of a baseline file that is laid out as karat writes it, decoded at once into columns.

A baseline of a hundred thousand queries has forty megabytes of rows. Where the layout or a row is any other than usual,
:func:`read_rows` returns None, and the rows are read one by one, which takes five times as long and says what is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from sys import intern
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from karat.core import Floats, InputError
from karat.evaluation import Segment, StoredLists, queries_by_segment
from karat.files import parse_json
from karat.gate._baseline import NOT_MEASURES, QUESTION, VERSION, digest_parts
from karat.golden import Question
from karat.schema import is_plain, to_ascii

_BEGIN, _END = b',\n  "queries": {\n', b"\n  }\n}\n"
"""What stands between the head and the rows, and after them."""
_LAYOUT = len(b",\n    ") - len(b", ")
"""How much longer the layout is than JSON on one line, for each row and once more for the end."""
_Decoded = dict[bytes, dict[str, tuple[str, ...]]]
"""The segments of queries by their text in the file."""
LARGEST = 1e15
"""No measure and no clock goes higher, and squares of it are still finite."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """The rows of a baseline in columns, one entry for each query."""

    queries: tuple[str, ...]
    measures: tuple[str, ...]
    values: Floats
    """A row for each query, a column for each measure; NaN where a value is missing."""
    codes: NDArray[np.uint8]
    """0 for a value, otherwise the number of the reason why it is missing, from 1."""
    reasons: tuple[str, ...]
    lists: StoredLists
    segments: Mapping[Segment, list[str]]
    questions: Mapping[str, Question]


def read_rows(data: bytes) -> tuple[dict[str, Any], Rows] | None:
    """Return the head of a baseline file and its rows, or None if they have to be read one by one.

    The digest of the file has been checked.
    """
    head_end = data.find(_BEGIN)
    if head_end < 0 or not data.endswith(_END) or data.find(b'""', head_end) >= 0:  # no id is empty
        return None
    begin = head_end + len(_BEGIN)
    try:
        head = parse_json(f"{data[:head_end].decode()}\n}}", "", strict=True)
        region = memoryview(data)[begin - len(b"{\n") : -len(b"\n}\n")]
        measures = _find_measures(data[begin : data.find(b"\n", begin)])
        table = msgspec.json.decode(region, type=dict[str, _row_type(measures)])  # type: ignore[misc]
        table = dict(zip(map(intern, table), table.values(), strict=True))
        segments = _sort_segments(table)
        if not isinstance(head, dict) or "queries" in head or not table:
            return None
        if head.get("karat") != "baseline" or head.get("format") != VERSION:
            return None
        rows = _make_columns(table, measures, segments)
        return (head, rows) if rows is not None and _is_as_written(head, table, rows.values, len(region)) else None
    except (msgspec.MsgspecError, ValueError, RecursionError, InputError):  # the other reader says what is wrong
        return None


def _find_measures(line: bytes) -> tuple[str, ...]:
    """Return the measures of a row, as it stands in its line."""
    _, _, row = line.rstrip(b",").partition(b": {")
    return tuple(key for key in json.loads(b"{" + row) if key not in NOT_MEASURES)


def _row_type(measures: Sequence[str]) -> type[msgspec.Struct]:
    """Return the type of a row: the value of each measure, and what else a row may have, in the order of the digest.

    Documents, of which there are ten times as many as queries, and segments, which are mostly the same, are left as
    they stand in the file.
    """
    texts: dict[str, Any] = dict.fromkeys(QUESTION, str)
    kinds = texts | {"segments": msgspec.Raw, "missing": dict[str, str], "hits": msgspec.Raw}
    names = {key: f"m{number}" for number, key in enumerate(measures)} | {key: key for key in kinds}
    fields: list[Any] = [
        (names[key], kinds[key] | msgspec.UnsetType, msgspec.UNSET)
        if key in kinds
        else (names[key], tuple[float | None])
        for key in sorted(names)
    ]
    return msgspec.defstruct(
        "Row",
        fields,
        rename={name: key for key, name in names.items()},
        kw_only=True,
        forbid_unknown_fields=True,
        gc=False,
    )


def _sort_segments(table: Mapping[str, Any]) -> _Decoded:
    """Return the segments by their text in the rows, whose keys are put into the order of the digest.

    A key that stands twice in a text, as karat does not write it, raises a ValueError.
    """
    decoded: _Decoded = {}
    sorted_: dict[bytes, bytes] = {}
    for row in table.values():
        if row.segments is msgspec.UNSET:
            continue
        text = bytes(row.segments)
        if text not in sorted_:
            segments = msgspec.json.decode(text, type=dict[str, tuple[str, ...]])
            sorted_[text] = msgspec.json.format(msgspec.json.encode(segments, order="sorted"), indent=0)
            if len(sorted_[text]) != len(text):
                raise ValueError("segments of another layout")
            decoded.setdefault(sorted_[text], segments)
        if sorted_[text] != text:
            row.segments = msgspec.Raw(sorted_[text])
    return decoded


def _make_columns(table: Mapping[str, Any], measures: Sequence[str], segments: _Decoded) -> Rows | None:
    """Return the rows in columns; None if a value is out of range, or missing without a reason."""
    rows = table.values()
    cells = (map(attrgetter(f"m{number}"), rows) for number in range(len(measures)))
    columns = [[value for (value,) in column] for column in cells]
    values = np.array(columns, np.float64).reshape(len(measures), len(table)).T.copy()
    if (np.abs(values) > LARGEST).any():
        return None
    queries, codes, numbers = tuple(table), np.zeros(values.shape, np.uint8), dict[str, int]()
    for place, column in np.argwhere(np.isnan(values)).tolist():
        missing, measure = table[queries[place]].missing, measures[column]
        if missing is msgspec.UNSET or measure not in missing:
            return None
        codes[place, column] = numbers.setdefault(missing[measure], len(numbers) + 1)
    return Rows(
        queries=queries,
        measures=tuple(measures),
        values=values,
        codes=codes,
        reasons=tuple(numbers),
        lists=StoredLists({query: row.hits for query, row in table.items() if row.hits is not msgspec.UNSET}),
        segments=_Segments(table, segments),
        questions=_Questions(table),
    )


class _Questions(Mapping[str, Question]):
    """The questions of rows. Each is made when it is needed, which is never if the golden set is still the same."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._table = table

    def __getitem__(self, query: str) -> Question:
        row = self._table[query]
        text, judgments, documents, wordings = (getattr(row, name) or "" for name in QUESTION)
        if not (text or judgments or documents or wordings):
            raise KeyError(query)
        return Question(text=text, judgments=judgments, documents=documents, wordings=wordings)

    def __iter__(self) -> Iterator[str]:
        return (query for query, row in self._table.items() if any(getattr(row, name) for name in QUESTION))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None

    def __repr__(self) -> str:
        return repr(dict(self))


class _Segments(Mapping[Segment, list[str]]):
    """The queries of each segment, collected when one is needed, which is for rules on segments only."""

    def __init__(self, table: Mapping[str, Any], decoded: _Decoded) -> None:
        self._table, self._decoded = table, decoded

    @cached_property
    def _queries(self) -> Mapping[Segment, list[str]]:
        rows = ((query, row.segments) for query, row in self._table.items() if row.segments is not msgspec.UNSET)
        return queries_by_segment({query: own for query, text in rows if (own := self._decoded[bytes(text)])})

    def __getitem__(self, segment: Segment) -> list[str]:
        return self._queries[segment]

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._queries)

    def __len__(self) -> int:
        return len(self._queries)

    def __repr__(self) -> str:
        return repr(self._queries)


def _is_as_written(head: Mapping[str, Any], table: Mapping[str, Any], values: Floats, size: int) -> bool:
    """Return whether rows of such a size in the file are these, each once, and have the digest of the file.

    A key that stands twice in an object would be lost, and the rows be shorter.
    """
    if not is_plain(values[~np.isnan(values)]):
        return False
    queries = list(table)
    if (ordered := sorted(queries)) != queries:
        table = {query: table[query] for query in ordered}
    packed = msgspec.json.format(msgspec.json.encode(table, order="deterministic"), indent=0)
    if size != len(packed) + _LAYOUT * (len(table) + 1):
        return False
    return head.get("digest") == digest_parts(head, to_ascii(packed))
