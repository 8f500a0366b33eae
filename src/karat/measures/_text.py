"""Readers in plain Python, which say exactly what is wrong and where.

They read small files, which are scored before a dataframe library could be imported, and every file that the
vectorised reader does not understand.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from karat.core import InputError, check_id, shorten
from karat.files import BOM, decode, parse_csv, parse_json, parse_json_lines
from karat.measures._columns import (
    CHECK,
    LARGEST_GRADE,
    PARSE,
    TREC_COLUMNS,
    VALUE_NAME,
    Kind,
    bad_value,
    duplicate,
    find_columns,
    is_header,
)
from karat.measures._files import Source

Table = Mapping[str, Mapping[str, Any]]
"""``{query: {document: grade or score}}``"""

_Row = tuple[str, int | None, str, str, Any]
"""Where the row is (file and line), query, document, value."""


def read_table(source: Source, kind: Kind) -> Table:
    """Read a file of judgments, or of a run."""
    data = source.read()
    match source.format:
        case "trec":
            return _trec(data, kind, source.name)
        case "json":
            return _json(data, kind, source.name)
        case "jsonl":
            return _collect(_jsonl(data, kind, source.name), kind, source.name)
        case "csv" | "tsv":
            table = _collect(_delimited(data, kind, source), kind, source.name)
            if kind == "run" and not is_header(next(iter(delimited_rows(data, source)))[1]):
                _refuse_ranks(table, source.name)
            return table
        case "parquet":
            raise AssertionError("Parquet is read as a frame")


def read_like_trec_eval(source: Source, judged: Container[str]) -> Table:
    """Read a TREC run as leniently as trec_eval does.

    Text after the sixth column is skipped, and a document may appear twice for a query that is not in ``judged``.
    """
    return _trec(source.read(), "run", source.name, judged=judged)


def from_mapping(value: Mapping[Any, Any], kind: Kind, source: str) -> Table:
    """Return ``{query: {document: value}}``, or ``{query: [documents]}``, as a checked table.

    In a run a list has documents in ranking order, in judgments it has relevant documents (grade 1).
    """
    table: dict[str, Mapping[str, Any]] = {}
    for query, documents in value.items():
        name = check_id(query, source)
        if name in table:
            raise InputError(f"query {shorten(name)} appears twice, as text and as a number", source=source)
        table[name] = _documents(name, documents, kind, source)
    if not table or (kind == "qrels" and not any(table.values())):
        raise InputError("there is no judgment" if table else "there is no query", source=source)
    return table


def _documents(query: str, documents: object, kind: Kind, source: str) -> Mapping[str, Any]:
    if isinstance(documents, list | tuple):
        values = [1] * len(documents) if kind == "qrels" else range(len(documents), 0, -1)
        pairs: Iterable[tuple[Any, Any]] = zip(documents, values, strict=True)
    elif isinstance(documents, Mapping):
        if _is_clean(documents, kind):
            return documents  # not copied: nothing writes to it, and a large run is not held twice
        pairs = documents.items()
    else:
        hint = "give {document: value} or a list of documents"
        raise InputError(f"query {shorten(query)} has {shorten(documents)}", source=source, hint=hint)
    checked: dict[str, Any] = {}
    for document, number in pairs:
        name = check_id(document, f"{source}, query {shorten(query)}")
        if name in checked:
            raise duplicate(kind, query, name, source, None)
        try:
            checked[name] = CHECK[kind](number)
        except ValueError:
            where = f"{source}, query {shorten(query)}, document {shorten(name)}"
            raise bad_value(kind, number, where, None) from None
    return checked


def _is_clean(documents: Mapping[Any, Any], kind: Kind) -> bool:
    """Return whether all ids are text and all values finite numbers. It is fast; False means: check one by one."""
    types = set(map(type, documents.values()))
    if not documents or not types <= ({int} if kind == "qrels" else {int, float}):
        return False
    if set(map(type, documents)) != {str} or "" in documents:
        return False
    try:
        "".join(documents).encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    numbers = documents.values()
    if int in types and not (min(numbers) >= -LARGEST_GRADE and max(numbers) <= LARGEST_GRADE):
        return False
    return math.isfinite(sum(numbers))


def _collect(rows: Iterable[_Row], kind: Kind, source: str) -> Table:
    table: dict[str, dict[str, Any]] = {}
    for where, line, query, document, value in rows:
        documents = table.setdefault(query, {})
        if document in documents:
            raise duplicate(kind, query, document, where, line)
        documents[document] = value
    if not table:
        raise InputError("the file holds no rows", source=source)
    return table


def _trec(data: bytes, kind: Kind, source: str, *, judged: Container[str] | None = None) -> Table:
    """Read TREC's columns, separated by any run of blanks and tabs. The rank column is ignored."""
    decode(data, source)
    width, value_at = len(TREC_COLUMNS[kind]), TREC_COLUMNS[kind].index(VALUE_NAME[kind])
    parse = PARSE[kind]
    table: dict[str, dict[str, Any]] = {}
    query = b""
    documents: dict[str, Any] = {}
    for number, line in enumerate(data.removeprefix(BOM).split(b"\n"), 1):
        fields = line.split()
        if len(fields) != width:
            if not fields:
                continue
            if judged is None or len(fields) < width:
                raise _wrong_width(len(fields), kind, source, number)
        if fields[0] != query:
            query = fields[0]
            documents = table.setdefault(query.decode(), {})
        document = fields[2].decode()
        if document in documents and (judged is None or query.decode() in judged):
            raise duplicate(kind, query.decode(), document, source, number)
        text = fields[value_at].decode()
        try:
            documents[document] = parse(text)
        except ValueError:
            raise bad_value(kind, text, source, number) from None
    if not table:
        raise InputError("the file holds only blanks", source=source)
    return table


def _wrong_width(width: int, kind: Kind, source: str, line: int) -> InputError:
    hint = f"a line is: {' '.join(TREC_COLUMNS[kind])}"
    if width == len(TREC_COLUMNS["run" if kind == "qrels" else "qrels"]):
        hint += "; judgments come first, then runs"
    return InputError(_columns(width, len(TREC_COLUMNS[kind])), source=source, line=line, hint=hint)


def _columns(count: int, wanted: int) -> str:
    return f"{count} column{'' if count == 1 else 's'} instead of {wanted}"


def delimited_rows(data: bytes, source: Source) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV or TSV file, each with the line on which it begins; all must have the same width."""
    text = decode(data, source.name)
    width = 0
    for line, cells in parse_csv(text, source.name) if source.format == "csv" else _tsv(text):
        cells = [cell.strip(" \t") for cell in cells]
        if cells in ([], [""]):
            continue
        width = width or len(cells)
        if len(cells) != width:
            hint = "put a cell that holds a comma in quotes" if source.format == "csv" else "put one tab between cells"
            raise InputError(_columns(len(cells), width), source=source.name, line=line, hint=hint)
        yield line, cells


def _tsv(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a TSV file, in which quotes have no meaning."""
    return ((number, line.removesuffix("\r").split("\t")) for number, line in enumerate(text.split("\n"), 1))


def _delimited(data: bytes, kind: Kind, source: Source) -> Iterator[_Row]:
    parse = PARSE[kind]
    where: tuple[int, int, int] | None = None
    for line, cells in delimited_rows(data, source):
        if where is None:
            where, header = _layout(cells, kind, source.name, line)
            if header:
                continue
        query, document, value = (cells[i] for i in where)
        if not query or not document:
            raise InputError(f"the {'document' if query else 'query'} id is empty", source=source.name, line=line)
        try:
            yield source.name, line, query, document, parse(value)
        except ValueError:
            raise bad_value(kind, value, source.name, line) from None


def _refuse_ranks(run: Table, source: str) -> None:
    """Refuse ranks in place of scores, as in MS MARCO's files: every ranking would be reversed."""
    ranked = all(list(scored.values()) == list(range(1, len(scored) + 1)) for scored in run.values())
    if ranked and len(run) < sum(map(len, run.values())):
        hint = "give scores that are higher for what comes first, or name the column 'score' if they are scores"
        raise InputError("the scores are ranks: 1, 2, 3, ... down each query", source=source, hint=hint)


def _layout(row: list[str], kind: Kind, source: str, line: int) -> tuple[tuple[int, int, int], bool]:
    """Return the indices of the query, document and value columns, and whether this row is a header."""
    if is_header(row):
        names = find_columns(row, kind, source, line)
        return (row.index(names[0]), row.index(names[1]), row.index(names[2])), True
    trec = TREC_COLUMNS[kind]
    if len(row) == len(trec):
        return (0, 2, trec.index(VALUE_NAME[kind])), False
    if len(row) == 3:
        return (0, 1, 2), False
    raise InputError(
        f"a first row of {len(row)} columns that are not named",
        source=source,
        line=line,
        hint="name them query_id, doc_id, " + ("relevance" if kind == "qrels" else "score"),
    )


def _jsonl(data: bytes, kind: Kind, source: str) -> Iterator[_Row]:
    for number, item in parse_json_lines(data, source):
        yield _record(item, kind, source, number)


def _json(data: bytes, kind: Kind, source: str) -> Table:
    value = parse_json(decode(data, source), source)
    if isinstance(value, dict):
        return from_mapping(value, kind, source)
    if isinstance(value, list):
        rows = (_record(item, kind, f"{source}, item {number}", None) for number, item in enumerate(value, 1))
        return _collect(rows, kind, source)
    raise InputError(
        "holds neither {query: {document: value}} nor a list of records", source=source, hint="see 'karat score --help'"
    )


@lru_cache(maxsize=64)
def _columns_of(names: tuple[str, ...], kind: Kind) -> tuple[str, str, str] | None:
    """Return the columns of a record, or None. Records mostly have the same keys, so the answer is cached."""
    try:
        return find_columns(names, kind, "")
    except InputError:
        return None


def _record(item: object, kind: Kind, source: str, line: int | None) -> _Row:
    if not isinstance(item, dict):
        raise InputError(
            f"{shorten(item)} is not a record", source=source, line=line, hint='write {"query_id": ..., "doc_id": ...}'
        )
    names = _columns_of(tuple(item), kind) or find_columns(list(item), kind, source, line)
    query, document = (check_id(item[name], source, line) for name in names[:2])
    try:
        return source, line, query, document, CHECK[kind](item[names[2]])
    except ValueError:
        raise bad_value(kind, item[names[2]], source, line) from None
