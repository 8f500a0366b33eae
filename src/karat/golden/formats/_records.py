"""Records of a file that may be a JSON list, JSONL or CSV, and what files do not say: a name, and ids."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from karat.core import InputError, check_id, shorten
from karat.files import Reading, Row, parse_json
from karat.golden.formats._head import head


def records(path: Path, reading: Reading, wrapper: str) -> Iterator[Row]:
    """Give the records of a JSON list, of an object that holds one under ``wrapper``, of JSONL, or of CSV."""
    seen = head(path)
    if not seen.is_json:
        return reading.csv(path)
    if seen.text.lstrip()[0] == "[" or wrapper in seen.keys:
        return _listed(path, reading, wrapper)
    return reading.jsonl(path)


def _listed(path: Path, reading: Reading, wrapper: str) -> Iterator[Row]:
    value = reading.json(path)
    if isinstance(value, dict):
        yield from Row(reading, value, str(path)).rows(wrapper)
        return
    for i, item in enumerate(value):
        if isinstance(item, dict):
            yield Row(reading, item, str(path), path=f"[{i}]")
        else:
            reading.errors.append(InputError(f"[{i}]: {shorten(item)} is not an object", source=str(path)))


def texts(row: Row, *names: str, separator: str = "") -> tuple[str, ...]:
    """Give a list of texts; in a CSV cell it is written as JSON or as Python, or its items are joined."""
    written, found = row.value(*names, default=None), cell(row, *names)
    if isinstance(written, str) and not _are_texts(found):
        found = written.split(separator) if separator else [written]
    if found is None:
        return ()
    if not _are_texts(found):
        raise row.error(f"{shorten(names[0])} is {shorten(found)}, not a list of texts")
    return tuple(row.nested({names[0]: item}, "").text(names[0]) for item in found)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def ids(row: Row, *names: str) -> tuple[str, ...]:
    """Give a list of ids, in a CSV cell as for texts."""
    found = cell(row, *names)
    if found is None:
        return ()
    if not isinstance(found, list):
        raise row.error(f"{shorten(names[0])} is {shorten(found)}, not a list of ids")
    try:
        return tuple(check_id(item, "") for item in found)
    except InputError as error:
        raise row.error(f"{shorten(names[0])}: {error.what}", error.hint) from None


def cell(row: Row, *names: str) -> Any:
    """Give a value; text that is a list or an object, as in a cell of CSV, is taken apart."""
    found = row.value(*names, default=None)
    if not isinstance(found, str) or found.strip()[:1] not in ("[", "{"):
        return found
    for parse in (lambda text: parse_json(text, ""), ast.literal_eval):
        try:
            return parse(found)
        except (InputError, ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return found


def name_of(path: Path) -> str:
    """Give the name of a set that has none but its file's.

    >>> name_of(Path("goldens/desk.jsonl.gz"))
    'desk'
    """
    name = path.absolute().name
    return name if path.is_dir() else name.removesuffix(".gz").rpartition(".")[0] or name


def digest(text: str) -> str:
    """Give an id for a text that has none: it changes with the text, and not with its place in the file."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class Names:
    """Ids for queries that have none: made of their texts, with a number where a text comes again."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def give(self, text: str) -> str:
        """Give the id of the next query."""
        made = f"q-{digest(text)}"
        self._seen[made] += 1
        return made if self._seen[made] == 1 else f"{made}-{self._seen[made]}"
