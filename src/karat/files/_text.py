"""Text as it comes: decoded, parsed and shown, and one clear message where it cannot be."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator
from typing import Any

from karat.core import InputError, shorten

BOM = b"\xef\xbb\xbf"
_JSON_TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|[{}]')
_CSV_ERRORS = {
    "end of data": "a quote is opened here and never closed",
    "field limit": "a cell has more than 131,072 characters, or a quote is never closed",
    "new-line": "a carriage return stands inside the line",
}


def decode(data: bytes, source: str) -> str:
    """Give UTF-8 text, without a byte-order mark, or say at which line it is none."""
    data = data.removeprefix(BOM)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        at, what = error.start, f"byte 0x{data[error.start]:02x} is not UTF-8"
    else:
        at, what = data.find(0), "a NUL byte, which text never has"
        if at < 0:
            return text
    line = data.count(b"\n", 0, at) + 1
    raise InputError(what, source=source, line=line, hint="convert it to UTF-8, as with iconv")


def json_lines(data: bytes, source: str) -> Iterator[tuple[int, object]]:
    """Give the values of a JSONL file with their lines; blank lines are skipped."""
    for number, line in enumerate(decode(data, source).split("\n"), 1):
        if line.strip(" \t\r"):
            yield number, parse_json(line, source, number)


def parse_json(text: str, source: str, line: int | None = None, *, strict: bool = False) -> object:
    """Read JSON, and refuse an object in which a key stands twice; ``strict`` refuses NaN and Infinity too."""

    def constant(name: str) -> float:
        if strict:
            raise InputError(
                f"is no valid JSON: {name} is no number of JSON", source=source, line=line, hint="use null"
            )
        return float(name)

    def number(digits: str) -> float:
        value = float(digits)
        if strict and value in (math.inf, -math.inf):
            raise InputError(f"holds {shorten(digits)}, which is larger than any number", source=source, line=line)
        return value

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            key, at = _second_key(text)
            raise InputError(
                f"key {shorten(key)} stands twice in one object",
                source=source,
                line=at if line is None else line,
                hint="keep one of them",
            )
        return found

    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=constant, parse_float=number)
    except json.JSONDecodeError as error:
        at = line if line is not None else error.lineno
        raise InputError(f"is no valid JSON: {error.msg} (column {error.colno})", source=source, line=at) from None
    except RecursionError:
        raise InputError("is nested too deep", source=source, line=line) from None
    except ValueError:
        raise InputError("holds a number of more than 4,300 digits", source=source, line=line) from None


def _second_key(text: str) -> tuple[str, int]:
    """Find the first key that its object had already, and its line; the text up to there is valid JSON."""
    open_objects: list[set[str]] = []
    for token in _JSON_TOKEN.finditer(text):
        if token[0] == "{":
            open_objects.append(set())
        elif token[0] == "}":
            open_objects.pop()
        elif token[2]:
            key = json.loads(token[1])
            if key in open_objects[-1]:
                return key, text.count("\n", 0, token.start()) + 1
            open_objects[-1].add(key)
    raise AssertionError("called only when there is one")


def csv_rows(text: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Give the rows of a CSV file with the lines on which they begin."""
    reader = csv.reader(io.StringIO(text, newline="\n"), strict=True)
    line = 1
    try:
        for cells in reader:
            yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        what = next((text for part, text in _CSV_ERRORS.items() if part in str(error)), str(error))
        raise InputError(f"is no valid CSV: {what}", source=source, line=line) from None
