"""The first bytes of a file, and what they show: the keys of its records, or the header of its table."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from karat.files import BOM

_BYTES = 1 << 16
_TOKEN = re.compile(r'[^"{}\[\]:]*+(?:("(?:[^"\\]|\\.)*+")|([{}\[\]:]))')


@dataclass(frozen=True, kw_only=True)
class Head:
    """What a file begins with."""

    text: str = ""
    whole: bool = True
    """Whether this is all of the file."""

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of the objects in a JSON or JSONL file, those further in as ``queries[].id``.

        The records of a list are like those of a JSONL file:

        >>> sorted(Head(text='[{"input": "?", "meta": {"a": 1}}]').keys)
        ['input', 'meta', 'meta.a']
        """
        return frozenset(_keys(self.text)) if self.is_json else frozenset()

    @property
    def is_json(self) -> bool:
        """Whether it looks like JSON or JSONL."""
        return self.text.lstrip()[:1] in ("{", "[") and self.text.strip() != ""

    @cached_property
    def columns(self) -> frozenset[str]:
        """The header of a CSV file; for any other file something that means nothing."""
        first = next((line for line in self.text.split("\n") if line.strip()), "")
        return frozenset() if self.is_json else frozenset(cell.strip() for cell in next(csv.reader([first]), []))

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines that are not blank, without one that is cut off."""
        lines = self.text.split("\n")
        return tuple(line.rstrip("\r") for line in (lines if self.whole else lines[:-1]) if line.strip())


def head(path: Path) -> Head:
    """Give the first bytes of a file, unpacked; of a folder, or of what cannot be read, nothing."""
    try:
        if not path.is_file():  # a pipe would be waited for
            return Head()
        with path.open("rb") as file:
            data = file.read(_BYTES)
        if data[:2] == b"\x1f\x8b":
            with gzip.open(path) as packed:
                data = packed.read(_BYTES)
    except (OSError, EOFError, ValueError, zlib.error):
        return Head()
    return Head(text=data.removeprefix(BOM).decode(errors="replace"), whole=len(data) < _BYTES)


def _keys(text: str) -> Iterator[str]:
    """Walk over what is there of a JSON text; a string that is cut off ends it."""
    around: list[tuple[str, bool]] = []  # of each open container the path of what is in it, and whether it is a list
    name, value = "", ""
    at = 0
    while found := _TOKEN.match(text, at):
        at = found.end()
        inside, listed = around[-1] if around else ("", True)
        match found[2]:
            case None:
                name = found[1][1:-1]
            case ":":
                value = f"{inside}.{name}" if inside else name
                yield value
            case "{":
                around.append((inside if listed else value, False))
            case "[":
                around.append(("" if not around else f"{inside if listed else value}[]", True))
            case _:
                if not around:
                    return
                around.pop()
