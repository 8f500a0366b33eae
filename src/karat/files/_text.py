"""Bytes decoded and text parsed, with one clear message when that fails."""

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
_PACKED = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
    b"7z\xbc\xaf": "7-Zip",
}
"""How files begin that other programs packed."""
_JSON_TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|[{}]')
_CSV_ERRORS = {
    "end of data": "a quote is opened here and never closed",
    "field limit": "a cell has more than 131,072 characters, or a quote is never closed",
    "new-line": "the line contains a carriage return",
}


def decode(data: bytes, source: str) -> str:
    """Return UTF-8 text without its byte-order mark, or raise an InputError that names the line."""
    data = data.removeprefix(BOM)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        at, problem = error.start, f"byte 0x{data[error.start]:02x} is not UTF-8"
    else:
        at, problem = data.find(0), "a NUL byte, which text never has"
        if at < 0:
            return text
    if packer := next((name for start, name in _PACKED.items() if data.startswith(start)), ""):
        raise InputError(f"is packed with {packer}", source=source, hint="unpack it, or pack it with gzip")
    line = data.count(b"\n", 0, at) + 1
    raise InputError(problem, source=source, line=line, hint="convert it to UTF-8, for example with iconv")


def parse_json_lines(data: bytes, source: str) -> Iterator[tuple[int, object]]:
    """Yield the line and the value of each record of a JSONL file. Blank lines are skipped."""
    for number, line in enumerate(decode(data, source).split("\n"), 1):
        if line.strip(" \t\r"):
            yield number, parse_json(line, source, number)


def parse_json(text: str, source: str, line: int | None = None, *, strict: bool = False) -> object:
    """Return the value of a JSON text, in which no object may repeat a key. ``strict`` refuses NaN and Infinity."""
    if (value := _parse_plain(text)) is not _UNSURE:
        return value

    def constant(name: str) -> float:
        if strict:
            raise InputError(
                f"is not valid JSON: {name} is not a JSON number", source=source, line=line, hint="use null"
            )
        return float(name)

    def number(digits: str) -> float:
        value = float(digits)
        if strict and value in (math.inf, -math.inf):
            raise InputError(f"holds {shorten(digits)}, which is larger than any number", source=source, line=line)
        return value

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping = dict(pairs)
        if len(mapping) < len(pairs):
            key, at = _second_key(text)
            raise InputError(
                f"key {shorten(key)} appears twice in one object",
                source=source,
                line=at if line is None else line,
                hint="keep one of them",
            )
        return mapping

    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=constant, parse_float=number)
    except json.JSONDecodeError as error:
        at = line if line is not None else error.lineno
        raise InputError(f"is not valid JSON: {error.msg} (column {error.colno})", source=source, line=at) from None
    except RecursionError:
        raise InputError("is nested too deep", source=source, line=line) from None
    except ValueError:
        raise InputError("holds a number of more than 4,300 digits", source=source, line=line) from None


def _parse_plain(text: str) -> Any:
    """Return a value if it is valid and certainly repeats no key, else _UNSURE: a short way for nearly all texts.

    The decoder refuses NaN, Infinity and numbers that are larger than any float, and keeps the last of two equal keys.
    Where a key was lost, so was the colon that follows it.
    """
    import msgspec

    if "\\u" in text:  # half of a surrogate pair, or a colon in disguise
        return _UNSURE
    try:
        value = msgspec.json.decode(text)
        return value if msgspec.json.encode(value).count(b":") == text.count(":") else _UNSURE
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):  # parse_json says what is wrong
        return _UNSURE


_UNSURE = object()


def _second_key(text: str) -> tuple[str, int]:
    """Return the first repeated key of an object, and its line. The text up to there is valid JSON."""
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
    raise AssertionError("called only when a key is repeated")


_SEPARATOR_LINE = re.compile(r"sep=([,;\t])\r?(?=\n)", re.IGNORECASE)


def find_separator(text: str) -> tuple[str, str]:
    r"""Return what separates the cells of a CSV text, and the text without a first line that only says so.

    The separator is a comma if the header has one, or else what it has. Where spreadsheets write the line ``sep=;``,
    an empty one stays, so that the others keep their numbers.

    >>> find_separator("question;document"), find_separator("question")
    ((';', 'question;document'), (',', 'question'))
    >>> find_separator("sep=;\nquestion, or query;document")
    (';', '\nquestion, or query;document')
    """
    if declared := _SEPARATOR_LINE.match(text):
        return declared[1], text[declared.end() :]
    header = text.lstrip().partition("\n")[0]
    return next((separator for separator in ",;\t" if separator in header), ","), text


def name_column(cell: str) -> str:
    """Return the name of a column as karat writes names: people write them with capitals and blanks.

    >>> name_column(" Question ID")
    'question_id'
    """
    return "_".join(cell.lower().split())


def parse_csv(text: str, source: str, separator: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Yield the first line and the cells of each row of a CSV text."""
    reader = csv.reader(io.StringIO(text, newline="\n"), strict=True, delimiter=separator)
    line = 1
    try:
        for cells in reader:
            yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        reason = next((text for part, text in _CSV_ERRORS.items() if part in str(error)), str(error))
        raise InputError(f"is not valid CSV: {reason}", source=source, line=line) from None
