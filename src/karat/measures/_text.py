"""Readers in plain Python, exact about what is wrong and where.

They read small files, whose scores are there before a dataframe library is imported, and they read every file again
in which the vectorised reader found something that it does not understand.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from karat.core import InputError
from karat.measures._columns import (
    LARGEST_GRADE,
    TREC_COLUMNS,
    Kind,
    bad_value,
    check_grade,
    check_score,
    duplicate,
    find_columns,
    is_header,
    parse_grade,
    parse_score,
    shorten,
)
from karat.measures._files import Source

Table = Mapping[str, Mapping[str, Any]]
"""``{query: {document: grade or score}}``"""


def read_table(source: Source, kind: Kind) -> Table:
    """Read a file of judgments or of a run."""
    data = source.read()
    match source.format:
        case "trec":
            return _trec(data, kind, source.name)
        case "json":
            return _json(data, kind, source.name)
        case "jsonl":
            rows: Iterable[_Row] = _jsonl(data, kind, source.name)
        case "csv" | "tsv":
            rows = _delimited(data, kind, source.name, "," if source.format == "csv" else "\t")
        case "parquet":
            raise AssertionError("Parquet is read as a frame")
    return _collect(rows, kind, source.name)


def from_mapping(value: Mapping[Any, Any], kind: Kind, source: str) -> Table:
    """Copy ``{query: {document: value}}``, or ``{query: [documents]}``, into a checked table.

    A list means documents in ranking order for a run, and relevant documents (grade 1) for judgments.
    """
    check = check_grade if kind == "qrels" else check_score
    table: dict[str, Mapping[str, Any]] = {}
    for query, documents in value.items():
        name = _identifier(query, source)
        if isinstance(documents, list | tuple):
            places = ((d, 1 if kind == "qrels" else len(documents) - i) for i, d in enumerate(documents))
            table[name] = _collect(((None, name, _identifier(d, source), v) for d, v in places), kind, source).get(
                name, {}
            )
            continue
        if not isinstance(documents, Mapping):
            raise InputError(
                f"query {shorten(name)} has {shorten(documents)}",
                source=source,
                hint="give {document: value} or a list of documents",
            )
        if _is_clean(documents, kind):
            table[name] = documents  # not copied: nobody writes to it, and a large run need not be held twice
            continue
        inner: dict[str, Any] = {}
        for document, number in documents.items():
            try:
                inner[document if type(document) is str else _identifier(document, source)] = check(number)
            except ValueError:
                raise bad_value(
                    kind, number, f"{source}, query {shorten(name)}, document {shorten(document)}", None
                ) from None
        if name in table or len(inner) != len(documents):
            raise InputError(f"query {shorten(name)} has ids that differ only in their type", source=source)
        table[name] = inner
    if not table:
        raise InputError("there is no query", source=source)
    return table


def _is_clean(documents: Mapping[Any, Any], kind: Kind) -> bool:
    """Say whether all ids are text and all values finite numbers, at the speed of C; False means look closer."""
    types = set(map(type, documents.values()))
    if not documents or not types <= ({int} if kind == "qrels" else {int, float}):
        return False
    if set(map(type, documents)) != {str} or "" in documents:
        return False
    numbers = documents.values()
    if int in types and not (min(numbers) >= -LARGEST_GRADE and max(numbers) <= LARGEST_GRADE):
        return False
    return math.isfinite(sum(numbers))


_Row = tuple[int | None, str, str, Any]


def _collect(rows: Iterable[_Row], kind: Kind, source: str) -> Table:
    table: dict[str, dict[str, Any]] = {}
    for line, query, document, value in rows:
        documents = table.setdefault(query, {})
        if document in documents:
            raise duplicate(kind, query, document, source, line)
        documents[document] = value
    return table


def decode(data: bytes, source: str) -> str:
    """Give UTF-8 text, without a byte-order mark, or say at which line it is none."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"byte 0x{data[error.start]:02x} is not UTF-8", source=source, line=line, hint="convert the file with iconv"
        ) from None


def _trec(data: bytes, kind: Kind, source: str) -> Table:
    """Read TREC's columns, separated by any run of blanks and tabs. The rank column is never trusted."""
    decode(data, source)
    columns = TREC_COLUMNS[kind]
    width, value_at = len(columns), 3 if kind == "qrels" else 4
    parse = parse_grade if kind == "qrels" else parse_score
    table: dict[str, dict[str, Any]] = {}
    query = b""
    documents: dict[str, Any] = {}
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        fields = line.split()
        if len(fields) != width:
            if not fields:
                continue
            raise InputError(
                f"{len(fields)} columns instead of {width}",
                source=source,
                line=number,
                hint=f"a line is: {' '.join(columns)}",
            )
        if fields[0] != query:
            query = fields[0]
            documents = table.setdefault(query.decode(), {})
        document = fields[2].decode()
        if document in documents:
            raise duplicate(kind, query.decode(), document, source, number)
        text = fields[value_at].decode()
        try:
            documents[document] = parse(text)
        except ValueError:
            raise bad_value(kind, text, source, number) from None
    if not table:
        raise InputError("the file holds only blanks", source=source)
    return table


def _delimited(data: bytes, kind: Kind, source: str, delimiter: str) -> Iterator[_Row]:
    text = io.StringIO(decode(data, source), newline="")
    reader = csv.reader(
        text, delimiter=delimiter, strict=True, quoting=csv.QUOTE_MINIMAL if delimiter == "," else csv.QUOTE_NONE
    )
    parse = parse_grade if kind == "qrels" else parse_score
    where: tuple[int, int, int] | None = None
    width = 0
    try:
        for row in reader:
            if not row or row == [""]:
                continue
            if where is None:
                where, header = _layout(row, kind, source, reader.line_num)
                width = len(row)
                if header:
                    continue
            if len(row) != width:
                raise InputError(f"{len(row)} columns instead of {width}", source=source, line=reader.line_num)
            query, document, value = (row[i].strip() for i in where)
            if not query or not document:
                raise InputError("an id is empty", source=source, line=reader.line_num)
            try:
                yield reader.line_num, query, document, parse(value)
            except ValueError:
                raise bad_value(kind, value, source, reader.line_num) from None
    except csv.Error as error:
        raise InputError(f"is no valid CSV: {error}", source=source, line=reader.line_num) from None
    if where is None or reader.line_num < 1:
        raise InputError("the file holds no rows", source=source)


def _layout(row: list[str], kind: Kind, source: str, line: int) -> tuple[tuple[int, int, int], bool]:
    """Give the places of query, document and value, and whether this row is a header."""
    if is_header(row):
        names = find_columns(row, kind, source, line)
        return (row.index(names[0]), row.index(names[1]), row.index(names[2])), True
    trec = TREC_COLUMNS[kind]
    if len(row) == len(trec):
        return (0, 2, trec.index("grade" if kind == "qrels" else "score")), False
    if len(row) == 3:
        return (0, 1, 2), False
    raise InputError(
        f"a first row of {len(row)} columns that are not named",
        source=source,
        line=line,
        hint="name them query_id, doc_id, " + ("relevance" if kind == "qrels" else "score"),
    )


def _jsonl(data: bytes, kind: Kind, source: str) -> Iterator[_Row]:
    text = decode(data, source)
    empty = True
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            empty = False
            yield _record(parse_json(line, source, number), kind, source, number)
    if empty:
        raise InputError("the file holds no rows", source=source)


def _json(data: bytes, kind: Kind, source: str) -> Table:
    value = parse_json(decode(data, source), source)
    if isinstance(value, dict):
        return from_mapping(value, kind, source)
    if isinstance(value, list) and value:
        rows = (_record(item, kind, f"{source}, item {number}", None) for number, item in enumerate(value, 1))
        return _collect(rows, kind, source)
    raise InputError(
        "holds neither {query: {document: value}} nor a list of records", source=source, hint="see 'karat score --help'"
    )


def _record(item: object, kind: Kind, source: str, line: int | None) -> _Row:
    if not isinstance(item, dict):
        raise InputError(
            f"{shorten(item)} is no record", source=source, line=line, hint='write {"query_id": ..., "doc_id": ...}'
        )
    names = find_columns(list(item), kind, source, line)
    query, document = (_identifier(item[name], source, line) for name in names[:2])
    try:
        value = (check_grade if kind == "qrels" else check_score)(item[names[2]])
    except ValueError:
        raise bad_value(kind, item[names[2]], source, line) from None
    return line, query, document, value


def parse_json(text: str, source: str, line: int | None = None) -> object:
    """Read JSON, and refuse an object in which a key stands twice."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise InputError(f"key {shorten(twice)} stands twice", source=source, line=line, hint="keep one of them")
        return found

    try:
        return json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        at = line if line is not None else error.lineno
        raise InputError(f"is no valid JSON: {error.msg} (column {error.colno})", source=source, line=at) from None
    except RecursionError:
        raise InputError("is nested too deep", source=source, line=line) from None
    except ValueError as error:  # a number of more digits than Python converts
        raise InputError(f"is no valid JSON: {error}", source=source, line=line) from None


def _identifier(value: object, source: str, line: int | None = None) -> str:
    """Take a string as an id, or a whole number, which JSON and frames often hold instead."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        item = getattr(value, "item", None)
        plain = item() if callable(item) else value
        if isinstance(plain, bool) or not isinstance(plain, str | int):
            raise InputError(f"id {shorten(value)} is no text", source=source, line=line, hint="ids are strings")
        value = plain
    text = str(value)
    if not text:
        raise InputError("an id is empty", source=source, line=line)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InputError(f"id {shorten(value)} is no valid Unicode", source=source, line=line) from None
    return text
