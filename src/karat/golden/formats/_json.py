"""JSON files: comments have their own message, and one record per line makes a written file diff well."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from karat.core import InputError, shorten
from karat.files import Reading, Row, parse_json

_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|(//|/\*)', re.DOTALL)

Record = Mapping[str, Any]
Named = tuple[str, Record]
"""A record with its name for messages, such as ``query 'q1'``."""


def read_json(path: Path, reading: Reading) -> Any:
    """Return the value of a JSON file. A comment, which JSON does not allow, has its own message."""
    source = str(path)
    text = reading.text(path)
    if not text.strip():
        raise InputError("is empty", source=source)
    try:
        return parse_json(text, source)
    except InputError as error:
        if error.line is not None and error.line == _comment_line(text):
            hint = "remove every comment (// ...) from the file"
            raise InputError("is not valid JSON: holds a comment", source=source, line=error.line, hint=hint) from None
        raise


def _comment_line(text: str) -> int | None:
    """Return the line of the first comment."""
    comment = next((token for token in _COMMENT.finditer(text) if token[1]), None)
    return text.count("\n", 0, comment.start()) + 1 if comment else None


def read_object(path: Path, reading: Reading) -> Row:
    """Return the object that a JSON file holds."""
    value = read_json(path, reading)
    if not isinstance(value, dict):
        raise InputError(f"holds {shorten(value)}, not an object", source=str(path))
    return Row(reading, value, str(path))


def required_rows(row: Row, name: str) -> Iterator[Row]:
    """Return the rows of a list of objects. The list is required, but may be empty."""
    row.value(name)
    return row.rows(name)


def write_object(path: Path, head: Record, lists: Mapping[str, Iterable[Named]]) -> None:
    """Write an object: first some fields, then lists of records."""
    parts = [f"{json.dumps(key)}: {_line('the set', value)}" for key, value in head.items()]
    for key, records in lists.items():
        items = ",\n".join(f"  {_line(name, record)}" for name, record in records)
        parts.append(f"{json.dumps(key)}: [\n{items}\n]" if items else f"{json.dumps(key)}: []")
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write("{\n" + ",\n".join(parts) + "\n}\n")


def write_rows(path: Path, records: Iterable[Named]) -> None:
    """Write JSONL. A file without rows is refused, since it could not be told from one that was cut off."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"{_line(name, record)}\n" for name, record in records)
        if not file.tell():
            raise InputError("the set has no queries, and a file without rows would be empty")


def read_rows(path: Path, reading: Reading) -> Iterator[Row]:
    """Yield the rows of a JSONL file, which must not be empty."""
    empty = True
    for row in reading.jsonl(path):
        empty = False
        yield row
    if empty and not reading.errors:
        raise InputError("is empty", source=str(path))


def _line(name: str, value: Any) -> str:
    """Return a value as one line of JSON, or raise an InputError that names what JSON cannot hold."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.isascii() or text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{name} holds half of a surrogate pair, which is not a character") from None
    except (TypeError, ValueError, RecursionError) as error:  # not finite, not a JSON type, or circular
        raise InputError(f"{name} cannot be written as JSON: {error}") from None
    return text
