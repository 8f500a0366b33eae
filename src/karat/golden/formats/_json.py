"""JSON files: read with a word on comments, and written with one record a line, so that they diff well."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from karat.core import InputError, shorten
from karat.files import Reading, Row, decode, parse_json, read_bytes

_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|(//|/\*)', re.DOTALL)

Record = Mapping[str, Any]
Named = tuple[str, Record]
"""A record, and what to call it in a message: ``query 'q1'``."""


def json_value(path: Path) -> Any:
    """Give the value of a JSON file; a comment, which JSON does not have, is called one."""
    source = str(path)
    text = decode(read_bytes(path), source)
    if not text.strip():
        raise InputError("is empty", source=source)
    try:
        return parse_json(text, source)
    except InputError as error:
        if error.line is not None and error.line == _comment(text):
            hint = "remove every comment (// ...) from the file"
            raise InputError("is not valid JSON: holds a comment", source=source, line=error.line, hint=hint) from None
        raise


def _comment(text: str) -> int | None:
    """Give the line of the first comment."""
    found = next((token for token in _COMMENT.finditer(text) if token[1]), None)
    return text.count("\n", 0, found.start()) + 1 if found else None


def json_object(path: Path, reading: Reading) -> Row:
    """Give the one object that a JSON file holds."""
    value = json_value(path)
    if not isinstance(value, dict):
        raise InputError(f"holds {shorten(value)}, not an object", source=str(path))
    return Row(reading, value, str(path))


def rows(row: Row, name: str) -> Iterator[Row]:
    """Give a list of objects that has to be there, though it may be empty."""
    row.value(name)
    return row.rows(name)


def write_object(path: Path, head: Record, lists: Mapping[str, Iterable[Named]]) -> None:
    """Write an object: some fields, then lists of records."""
    parts = [f"{json.dumps(key)}: {_line('the set', value)}" for key, value in head.items()]
    for key, records in lists.items():
        inside = ",\n".join(f"  {_line(what, record)}" for what, record in records)
        parts.append(f"{json.dumps(key)}: [\n{inside}\n]" if inside else f"{json.dumps(key)}: []")
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write("{\n" + ",\n".join(parts) + "\n}\n")


def write_rows(path: Path, records: Iterable[Named]) -> None:
    """Write JSONL. A file without a row is refused: nobody could tell it from one that was cut off."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"{_line(what, record)}\n" for what, record in records)
        if not file.tell():
            raise InputError("the set has no query, and a file without rows says nothing")


def some_rows(path: Path, reading: Reading) -> Iterator[Row]:
    """Give the rows of a JSONL file that has at least one."""
    none = True
    for row in reading.jsonl(path):
        none = False
        yield row
    if none and not reading.errors:
        raise InputError("is empty", source=str(path))


def _line(what: str, value: Any) -> str:
    """Write a value on one line, or say what of it JSON cannot hold."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.isascii() or text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what} holds half of a surrogate pair, which is no character") from None
    except (TypeError, ValueError, RecursionError) as error:  # not finite, of a type that JSON has not, or circular
        raise InputError(f"{what} cannot be written as JSON: {error}") from None
    return text
