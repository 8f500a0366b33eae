"""The records of a file: every field checked, every mistake reported with its place, and unknown keys noted.

A reader asks a row for the fields it knows. Mistakes are collected, so that one pass over a file reports all of them.
Keys that no reader asked for become notes, because a misspelt key would otherwise go unnoticed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from karat.core import InputError, Span, check_id, did_you_mean, find_similar, shorten
from karat.files._files import read_bytes
from karat.files._text import decode, find_separator, name_column, parse_csv, parse_json

D = TypeVar("D")

_REQUIRED: Any = object()
_SHOWN = 20
_LARGEST = sys.float_info.max
_FARTHEST = 10**15
_WHOLE = re.compile(r"(-?[0-9]+)(?:\.0+)?")
_DIGITS = 18
"""Of a whole number: arrays hold no more."""


class Reading:
    """The mistakes and notes that are collected while a golden set is read.

    All that is read through it counts towards one limit: a thousand small files can unpack to more than the memory.
    """

    def __init__(self, relevant: int | None = None) -> None:
        self.relevant = relevant
        """The lowest grade that is relevant in a file that does not say so, if the project does."""
        self.errors: list[InputError] = []
        self._bytes = 0
        self._notes: dict[str, None] = {}
        self._unknown: dict[tuple[str, str], list[Any]] = {}

    def note(self, text: str) -> None:
        """Add a note, which is not a mistake. A repeated note is kept once."""
        self._notes[text] = None

    def unknown(self, file: str, place: str, key: str, known: Iterable[str]) -> None:
        """Report a key that means nothing here."""
        if (file, key) not in self._unknown:
            self._unknown[file, key] = [0, place, did_you_mean(key, known)]
        self._unknown[file, key][0] += 1

    def notes(self) -> tuple[str, ...]:
        """Return all notes. A key that is unknown in many rows has one note."""
        keys = []
        for (file, key), (count, place, near) in self._unknown.items():
            where = f"{file}{', ' + place if place else ''}"
            rows = "" if count == 1 else f" (and in {count - 1:,} more rows)"
            keys.append(f"{where}: unknown key {shorten(key)}{rows}, ignored{near}")
        return (*self._notes, *keys)

    def finish(self) -> None:
        """Raise all mistakes as one error, if there are any."""
        if len(self.errors) == 1:
            raise self.errors[0]
        if self.errors:
            lines = [str(error) for error in self.errors[:_SHOWN]]
            more = len(self.errors) - len(lines)
            lines += [f"and {more:,} more"] if more else []
            raise Mistakes(self.errors, "\n".join([f"{len(self.errors):,} mistakes", *lines]))

    def jsonl(self, path: str | Path, name: str = "") -> Iterator[Row]:
        """Yield the rows of a JSONL file. A line that is not an object is a mistake."""
        file = name or str(path)
        for number, line in enumerate(self.lines(path, file), 1):
            if not line.strip(" \t\r"):
                continue
            try:
                value = parse_json(line, file, number, strict=True)
            except InputError as error:
                self.errors.append(error)
                continue
            if isinstance(value, dict):
                yield Row(self, value, file, line=number)
            else:
                self.errors.append(InputError(f"{shorten(value)} is not an object", source=file, line=number))

    def lines(self, path: str | Path, name: str = "") -> list[str]:
        """Return the lines of a text file."""
        return self.text(path, name).split("\n")

    def text(self, path: str | Path, name: str = "") -> str:
        """Return the text of a file."""
        data = read_bytes(path, before=self._bytes)
        self._bytes += len(data)
        return decode(data, name or str(path))

    def json(self, path: str | Path, name: str = "") -> Any:
        """Return the value of a JSON file."""
        return parse_json(self.text(path, name), name or str(path), strict=True)

    def object(self, path: str | Path, name: str = "") -> Row:
        """Return the object that a JSON file holds."""
        value = self.json(path, name)
        if not isinstance(value, dict):
            raise InputError(f"holds {shorten(value)}, not an object", source=name or str(path))
        return Row(self, value, name or str(path))

    def csv(
        self, path: str | Path, name: str = "", *, lower: bool = False, trim: Collection[str] = ()
    ) -> Iterator[Row]:
        """Yield the rows of a CSV file with a header. An empty cell is a missing field.

        Spreadsheets also separate cells by semicolons or tabs; the header shows it, or a line such as ``sep=;`` before
        it. With ``lower`` the names of columns are taken in lower case, with ``_`` for blanks. In the columns that
        ``trim`` names, blanks around the text of a cell do not count.
        """
        file = name or str(path)
        header: list[str] | None = None
        separator, text = find_separator(self.text(path, file))
        for line, cells in parse_csv(text, file, separator):
            if not any(cells):
                continue
            if header is None:
                header = [name_column(cell) if lower else cell.strip() for cell in cells]
                continue
            if len(cells) != len(header):
                problem = f"{len(cells)} columns instead of {len(header)}"
                self.errors.append(InputError(problem, source=file, line=line))
                continue
            named = zip(header, cells, strict=True)
            yield Row(
                self, {key: (cell.strip() if key in trim else cell) or None for key, cell in named}, file, line=line
            )


class Mistakes(InputError):
    """Several mistakes in one set. ``errors`` has each of them."""

    def __init__(self, errors: list[InputError], text: str) -> None:
        super().__init__(text)
        self.errors = errors

    @property
    def lines(self) -> tuple[str, ...]:
        """The number of mistakes, then each mistake on its line."""
        return tuple(str(self).split("\n"))


class Row:
    """One record. As a context manager it collects the first mistake, or reports unknown keys if there is none.

    >>> reading = Reading()
    >>> with Row(reading, {"id": "q1", "txet": "how?"}, "queries.jsonl", line=3) as row:
    ...     _ = row.id("id"), row.text("text", default="")
    >>> reading.notes()
    ("queries.jsonl, line 3: unknown key 'txet', ignored, did you mean 'text'?",)
    """

    __slots__ = ("_asked", "_file", "_line", "_path", "_reading", "_values")

    def __init__(
        self, reading: Reading, values: Mapping[str, Any], file: str, *, line: int | None = None, path: str = ""
    ) -> None:
        self._reading = reading
        self._values = values
        self._file = file
        self._line = line
        self._path = path
        self._asked: set[str] = set()

    def __enter__(self) -> Row:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        if error is None:
            self.close()
        elif isinstance(error, InputError):
            self._reading.errors.append(error)
            return True
        return False

    def close(self) -> None:
        """Report the keys that were never asked for."""
        for key in self._values.keys() - self._asked:
            place = f"line {self._line}" if self._line is not None else self._path
            self._reading.unknown(self._file, place, key, self._asked)

    @property
    def line(self) -> int | None:
        """The line that it is on, if the file has lines."""
        return self._line

    def error(self, problem: str, hint: str = "") -> InputError:
        """Return an error that says where this row is."""
        path = f"{self._path}: " if self._path else ""
        return InputError(f"{path}{problem}", source=self._file, line=self._line, hint=hint)

    def has(self, *names: str) -> bool:
        """Return whether one of these fields has a value."""
        return any(self._values.get(name) is not None for name in names)

    def plain(self, kinds: Mapping[str, type], required: Set[str]) -> Mapping[str, Any] | None:
        """Return the fields if each is one of ``kinds``, with a value of just that type and, if text, of ASCII.

        If one is not, or a required one is missing, return None: then the reader has to ask for each field. Nearly all
        rows of a large file can take this short way.
        """
        for name, value in self._values.items():
            kind = type(value)
            if kind is not kinds.get(name) or (kind is str and not (value and value.isascii())):
                return None
            if kind is int and abs(value) >= 10**_DIGITS:
                return None
        if not required <= self._values.keys():
            return None
        self._asked.update(self._values)
        return self._values

    def ignore(self, *names: str) -> None:
        """Accept some fields without reading them."""
        self._asked.update(names)

    def value(self, *names: str, default: Any = _REQUIRED) -> Any:
        """Return the value of the first of these fields that has one. Null is the same as a missing field."""
        self._asked.update(names)
        for name in names:
            value = self._values.get(name)
            if value is not None:
                return value
        if default is _REQUIRED:
            others = "".join(f" (or {shorten(name)})" for name in names[1:2])
            similar = find_similar(names[0], self._values.keys() - self._asked)
            meant = f"; did you mean it by {' or '.join(map(repr, similar))}?" if similar else ""
            raise self.error(f"{shorten(names[0])}{others} is missing{meant}")
        return default

    def _typed(self, names: tuple[str, ...], kinds: Any, description: str, default: Any) -> Any:
        value = self.value(*names, default=default)
        if value is default or (isinstance(value, kinds) and not isinstance(value, bool)):
            return value
        raise self.error(f"{shorten(self._name(names))} is {shorten(value)}, not {description}")

    def _name(self, names: tuple[str, ...]) -> str:
        return next((name for name in names if self._values.get(name) is not None), names[0])

    def id(self, *names: str, default: str = _REQUIRED) -> str:
        """Return an id: text, or a whole number as text."""
        value = self.value(*names, default=default)
        return value if value is default else self._id(value, names)

    def _id(self, value: object, names: tuple[str, ...]) -> str:
        try:
            return check_id(value, "")
        except InputError as error:
            raise self.error(f"{shorten(self._name(names))}: {error.what}", error.hint) from None

    def ids(self, *names: str) -> tuple[str, ...]:
        """Return a list of ids, empty if the field is missing."""
        return tuple(self._id(item, names) for item in self.list(*names))

    def text(self, *names: str, default: str = _REQUIRED) -> str:
        """Return text."""
        return self._encodable(self._typed(names, str, "text", default), names)

    def _encodable(self, text: str, names: tuple[str, ...]) -> str:
        """Refuse half of a surrogate pair, which JSON can hold and a UTF-8 file cannot."""
        try:
            text.isascii() or text.encode()
        except UnicodeEncodeError:
            problem = f"{shorten(self._name(names))} holds half of a surrogate pair, which is not a character"
            raise self.error(problem) from None
        return text

    def texts(self, *names: str) -> tuple[str, ...]:
        """Return a list of texts, empty if the field is missing. A single text is a list of one."""
        value = self.value(*names, default=())
        items = [value] if isinstance(value, str) else self.list(*names)
        for item in items:
            if not isinstance(item, str):
                raise self.error(f"{shorten(self._name(names))} holds {shorten(item)}, not text")
        return tuple(self._encodable(item, names) for item in items)

    def list(self, *names: str) -> list[Any]:
        """Return a list, empty if the field is missing."""
        items: list[Any] = self._typed(names, list, "a list", [])
        return items

    def integer(self, *names: str, default: int = _REQUIRED) -> int:
        """Return a whole number, which may be written as 2.0 or, as in CSV, as text."""
        value = self.value(*names, default=default)
        if not self.has(*names):
            return default
        if isinstance(value, str) and (match := _WHOLE.fullmatch(value)):
            if len(match[1].lstrip("-0")) > _DIGITS:
                raise self.error(f"{shorten(self._name(names))} is {shorten(value)}, which is too large a number")
            return int(match[1])
        if isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1:
            if abs(value) >= 10**_DIGITS:
                raise self.error(f"{shorten(self._name(names))} is {shorten(value)}, which is too large a number")
            return int(value)
        raise self.error(f"{shorten(self._name(names))} is {shorten(value)}, not a whole number")

    def flag(self, *names: str, default: bool) -> bool:
        """Return true or false."""
        value = self.value(*names, default=default)
        if not self.has(*names):
            return default
        if not isinstance(value, bool):
            raise self.error(f"{shorten(self._name(names))} is {shorten(value)}, neither true nor false")
        return value

    def number(self, *names: str, default: D) -> float | D:
        """Return a finite number."""
        value = self._typed(names, int | float, "a number", default)
        if value is default:
            return default
        if not abs(value) <= _LARGEST:
            raise self.error(f"{shorten(self._name(names))} is {shorten(value)}, not a finite number")
        return float(value)

    def mapping(self, *names: str) -> dict[str, Any]:
        """Return an object as it is, empty if the field is missing."""
        mapping: dict[str, Any] = self._typed(names, dict, "an object", {})
        return mapping

    def span(self, *names: str) -> Span | None:
        """Return a pair of byte offsets, or None if the field is missing."""
        offsets = self.list(*names)
        if not offsets:
            return None
        if len(offsets) != 2 or not all(isinstance(n, int) and not isinstance(n, bool) for n in offsets):
            raise self.error(f"{shorten(self._name(names))} is {shorten(offsets)}, not [start, end] in bytes")
        if max(map(abs, offsets)) > _FARTHEST:
            raise self.error(f"{shorten(self._name(names))} is {shorten(offsets)}, and no text has so many bytes")
        return Span(*offsets)

    def row(self, *names: str) -> Row | None:
        """Return an object as a row of its own, or None if the field is missing."""
        values = self._typed(names, dict, "an object", None)
        return None if values is None else self.nested(values, self._name(names))

    def nested(self, values: Mapping[str, Any], path: str) -> Row:
        """Return a part of this row as a row of its own, at a place such as ``negatives[2]``."""
        return Row(
            self._reading, values, self._file, line=self._line, path=f"{self._path}.{path}" if self._path else path
        )

    def rows(self, *names: str) -> Iterator[Row]:
        """Yield the objects of a list as rows of their own."""
        for i, item in enumerate(self.list(*names)):
            row = self.nested(item if isinstance(item, dict) else {}, f"{self._name(names)}[{i}]")
            if isinstance(item, dict):
                yield row
            else:
                self._reading.errors.append(row.error(f"{shorten(item)} is not an object"))
