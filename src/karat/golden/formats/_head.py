"""The first bytes of a file, from which its format is recognised: the keys of its records, or its CSV header."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from karat.core import InputError
from karat.files import BOM, GZIP, find_separator, open_file

_BYTES = 1 << 16
_DEEPEST = 20  # levels of the paths of keys
_LONGEST = 1000  # characters of such a path
_TOKEN = re.compile(r'[^"{}\[\]:]*+(?:("(?:[^"\\]|\\.)*+")|([{}\[\]:]))')


@dataclass(frozen=True, kw_only=True)
class Head:
    """The beginning of a file."""

    text: str = ""
    whole: bool = True
    """Whether this is all of the file."""

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of the objects in a JSON or JSONL file. Nested keys are written as ``queries[].id``.

        The records of a list are treated like those of a JSONL file:

        >>> sorted(Head(text='[{"input": "?", "meta": {"a": 1}}]').keys)
        ['input', 'meta', 'meta.a']
        """
        return frozenset(_keys(self.text)) if self.is_json else frozenset()

    @property
    def is_json(self) -> bool:
        """Whether the file looks like JSON or JSONL."""
        return self.text.lstrip()[:1] in ("{", "[") and self.text.strip() != ""

    @cached_property
    def columns(self) -> Set[str]:
        """The header of a CSV file, in its order. For any other file the result has no meaning."""
        separator, text = find_separator(self.text)
        first = next((line for line in text.split("\n") if line.strip()), "")
        try:
            cells = [] if self.is_json else next(csv.reader([first], delimiter=separator), [])
        except csv.Error:  # a carriage return within the line, or a huge cell
            return frozenset()
        return dict.fromkeys(cell.strip() for cell in cells).keys()

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines that are not blank, without a last line that is cut off."""
        lines = self.text.split("\n")
        return tuple(line.rstrip("\r") for line in (lines if self.whole else lines[:-1]) if line.strip())


def read_head(path: Path) -> Head:
    """Return the first bytes of a file, unpacked. A folder or an unreadable file has an empty head."""
    try:
        if not path.is_file():  # reading a pipe would block
            return Head()
        with open_file(path) as file:
            data = file.read(_BYTES)
            if data[:2] == GZIP:
                file.seek(0)
                with gzip.open(file) as packed:
                    data = packed.read(_BYTES)
    except (InputError, OSError, EOFError, ValueError, zlib.error):
        return Head()
    return Head(text=data.removeprefix(BOM).decode(errors="replace"), whole=len(data) < _BYTES)


def _keys(text: str) -> Iterator[str]:
    """Yield the keys of a JSON text, which may be cut off."""
    # Of each open container: the path of its items, and whether it is a list. A path that is long or has many parts
    # belongs to no format, and would be copied for each key in it.
    containers: list[tuple[str, bool]] = []
    name, value = "", ""
    at = 0
    while token := _TOKEN.match(text, at):
        at = token.end()
        path, is_list = containers[-1] if containers else ("", True)
        known = len(containers) <= _DEEPEST and len(path) + len(name) <= _LONGEST
        match token[2]:
            case None:
                name = token[1][1:-1]
            case ":":
                value = (f"{path}.{name}" if path else name) if known else ""
                if value:
                    yield value
            case "{":
                containers.append((path if is_list else value, False))
            case "[":
                containers.append((f"{path if is_list else value}[]" if containers and known else "", True))
            case _:
                if not containers:
                    return
                containers.pop()
