"""Records of a JSON list, JSONL or CSV file, and names and ids for what a file leaves without."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from karat.core import InputError, check_id, shorten
from karat.files import Reading, Row, parse_json
from karat.golden.formats._head import read_head


def read_records(path: Path, reading: Reading, wrapper: str) -> Iterator[Row]:
    """Return the records of a JSON list, of an object that holds one under ``wrapper``, of JSONL, or of CSV."""
    head = read_head(path)
    if not head.is_json:
        return reading.csv(path)
    if head.text.lstrip()[0] == "[" or wrapper in head.keys:
        return _read_list(path, reading, wrapper)
    return reading.jsonl(path)


def _read_list(path: Path, reading: Reading, wrapper: str) -> Iterator[Row]:
    value = reading.json(path)
    if isinstance(value, dict):
        yield from Row(reading, value, str(path)).rows(wrapper)
        return
    for i, item in enumerate(value):
        if isinstance(item, dict):
            yield Row(reading, item, str(path), path=f"[{i}]")
        else:
            reading.errors.append(InputError(f"[{i}]: {shorten(item)} is not an object", source=str(path)))


def read_texts(row: Row, *names: str, separator: str = "") -> tuple[str, ...]:
    """Return a list of texts. In a CSV cell it is written as JSON or as Python, or its items are joined."""
    written, value = row.value(*names, default=None), read_cell(row, *names)
    if isinstance(written, str) and not _are_texts(value):
        value = written.split(separator) if separator else [written]
    if value is None:
        return ()
    if not _are_texts(value):
        raise row.error(f"{shorten(names[0])} is {shorten(value)}, not a list of texts")
    return tuple(row.nested({names[0]: item}, "").text(names[0]) for item in value)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def read_ids(row: Row, *names: str) -> tuple[str, ...]:
    """Return a list of ids. In a CSV cell it is written as a list of texts is."""
    value = read_cell(row, *names)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise row.error(f"{shorten(names[0])} is {shorten(value)}, not a list of ids")
    try:
        return tuple(check_id(item, "") for item in value)
    except InputError as error:
        raise row.error(f"{shorten(names[0])}: {error.what}", error.hint) from None


def read_cell(row: Row, *names: str) -> Any:
    """Return a value. Text that is a list or an object, as in a CSV cell, is parsed."""
    value = row.value(*names, default=None)
    if not isinstance(value, str) or value.strip()[:1] not in ("[", "{"):
        return value
    for parse in (lambda text: parse_json(text, ""), ast.literal_eval):
        try:
            return parse(value)
        except (InputError, ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return value


def name_from_path(path: Path) -> str:
    """Return the name of a set that is only named by its file or folder.

    >>> name_from_path(Path("goldens/desk.jsonl.gz"))
    'desk'
    """
    name = path.absolute().name
    return name if path.is_dir() else name.removesuffix(".gz").rpartition(".")[0] or name


def digest(text: str) -> str:
    """Return an id for a text that has none. It depends on the text and not on its place in the file."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class Names:
    """Ids for queries that have none, derived from their texts. A repeated text gets a number as well."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def assign(self, text: str) -> str:
        """Return the id of the next query."""
        name = f"q-{digest(text)}"
        self._seen[name] += 1
        return name if self._seen[name] == 1 else f"{name}-{self._seen[name]}"
