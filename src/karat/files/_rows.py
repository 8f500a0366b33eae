"""Rows of someone's file: every field checked, every mistake with its place, every unknown key reported.

A reader asks a row for the fields it knows. What it finds wrong is collected, so that one pass over a file tells all
of its mistakes; keys that nobody asked for become notes, because a misspelt key is silent otherwise.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from karat.core import InputError, Span, check_id, did_you_mean
from karat.core import shorten as shown
from karat.files._files import read_bytes
from karat.files._text import csv_rows, decode, parse_json

D = TypeVar("D")

_REQUIRED: Any = object()
_SHOWN = 20
_LARGEST = sys.float_info.max
_FARTHEST = 10**15
_WHOLE = re.compile(r"-?[0-9]{1,18}")


class Reading:
    """What was noticed while reading a golden set."""

    def __init__(self) -> None:
        self.errors: list[InputError] = []
        self._notes: dict[str, None] = {}
        self._unknown: dict[tuple[str, str], list[Any]] = {}

    def note(self, text: str) -> None:
        """Say something that is no mistake; once, however often it is said."""
        self._notes[text] = None

    def unknown(self, file: str, place: str, key: str, known: Iterable[str]) -> None:
        """Report a key that means nothing here."""
        counted = self._unknown.setdefault((file, key), [0, place, did_you_mean(key, known)])
        counted[0] += 1

    def notes(self) -> tuple[str, ...]:
        """Give all notes; a key that is unknown in many rows is one of them."""
        keys = []
        for (file, key), (count, place, near) in self._unknown.items():
            where = f"{file}{', ' + place if place else ''}"
            rows = "" if count == 1 else f" (and in {count - 1:,} more rows)"
            keys.append(f"{where}: unknown key {shown(key)}{rows}, ignored{near}")
        return (*self._notes, *keys)

    def finish(self) -> None:
        """Raise what was wrong, all of it in one error."""
        if len(self.errors) == 1:
            raise self.errors[0]
        if self.errors:
            lines = [str(error) for error in self.errors[:_SHOWN]]
            more = len(self.errors) - len(lines)
            lines += [f"and {more:,} more"] if more else []
            raise Mistakes(self.errors, "\n".join([f"{len(self.errors):,} mistakes", *lines]))

    def jsonl(self, path: str | Path, name: str = "") -> Iterator[Row]:
        """Give the rows of a JSONL file; a line that is no object is a mistake."""
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
                self.errors.append(InputError(f"{shown(value)} is no object", source=file, line=number))

    def lines(self, path: str | Path, name: str = "") -> list[str]:
        """Give the lines of a text file."""
        return decode(read_bytes(path), name or str(path)).split("\n")

    def json(self, path: str | Path, name: str = "") -> Any:
        """Give the value of a JSON file."""
        return parse_json(decode(read_bytes(path), name or str(path)), name or str(path), strict=True)

    def object(self, path: str | Path, name: str = "") -> Row:
        """Give the one object that a JSON file holds."""
        value = self.json(path, name)
        if not isinstance(value, dict):
            raise InputError(f"holds {shown(value)}, not an object", source=name or str(path))
        return Row(self, value, name or str(path))

    def csv(self, path: str | Path, name: str = "") -> Iterator[Row]:
        """Give the rows of a CSV file with a header; an empty cell is a field that is not there."""
        file = name or str(path)
        header: list[str] | None = None
        for line, cells in csv_rows(decode(read_bytes(path), file), file):
            if not any(cells):
                continue
            if header is None:
                header = [cell.strip() for cell in cells]
                continue
            if len(cells) != len(header):
                what = f"{len(cells)} columns instead of {len(header)}"
                self.errors.append(InputError(what, source=file, line=line))
                continue
            yield Row(self, dict(zip(header, [cell or None for cell in cells], strict=True)), file, line=line)


class Mistakes(InputError):
    """Several mistakes in one set; ``errors`` has each of them."""

    def __init__(self, errors: list[InputError], text: str) -> None:
        super().__init__(text)
        self.errors = errors

    @property
    def lines(self) -> tuple[str, ...]:
        """A count, and each mistake on its line."""
        return tuple(str(self).split("\n"))


class Row:
    """One record. As a context manager it collects the first mistake, and when there is none the unknown keys.

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
        """Report the keys that nobody asked for."""
        for key in self._values.keys() - self._asked:
            place = f"line {self._line}" if self._line is not None else self._path
            self._reading.unknown(self._file, place, key, self._asked)

    def wrong(self, what: str, hint: str = "") -> InputError:
        """Make an error that says where this row stands."""
        path = f"{self._path}: " if self._path else ""
        return InputError(f"{path}{what}", source=self._file, line=self._line, hint=hint)

    def has(self, *names: str) -> bool:
        """Say whether one of these fields is there."""
        return any(self._values.get(name) is not None for name in names)

    def ignore(self, *names: str) -> None:
        """Know some fields without needing them."""
        self._asked.update(names)

    def value(self, *names: str, default: Any = _REQUIRED) -> Any:
        """Give a field by the first of its names that is there, whatever it holds; null is not there."""
        self._asked.update(names)
        for name in names:
            found = self._values.get(name)
            if found is not None:
                return found
        if default is _REQUIRED:
            others = "".join(f" (or {shown(name)})" for name in names[1:2])
            near = did_you_mean(names[0], self._values.keys() - self._asked)
            raise self.wrong(f"{shown(names[0])}{others} is missing{near}")
        return default

    def _typed(self, names: tuple[str, ...], kinds: Any, what: str, default: Any) -> Any:
        found = self.value(*names, default=default)
        if found is default or (isinstance(found, kinds) and not isinstance(found, bool)):
            return found
        raise self.wrong(f"{shown(self._name(names))} is {shown(found)}, not {what}")

    def _name(self, names: tuple[str, ...]) -> str:
        return next((name for name in names if self._values.get(name) is not None), names[0])

    def id(self, *names: str, default: str = _REQUIRED) -> str:
        """Give an id: text, or a whole number as text."""
        found = self.value(*names, default=default)
        return found if found is default else self._id(found, names)

    def _id(self, value: object, names: tuple[str, ...]) -> str:
        try:
            return check_id(value, "")
        except InputError as error:
            raise self.wrong(f"{shown(self._name(names))}: {error.what}", error.hint) from None

    def ids(self, *names: str) -> tuple[str, ...]:
        """Give a list of ids, empty where there is none."""
        return tuple(self._id(item, names) for item in self.list(*names))

    def text(self, *names: str, default: str = _REQUIRED) -> str:
        """Give text."""
        return self._whole(self._typed(names, str, "text", default), names)

    def _whole(self, text: str, names: tuple[str, ...]) -> str:
        """Refuse half of a surrogate pair, which JSON can hold and no file can."""
        try:
            text.isascii() or text.encode()
        except UnicodeEncodeError:
            what = f"{shown(self._name(names))} holds half of a surrogate pair, which is no character"
            raise self.wrong(what) from None
        return text

    def texts(self, *names: str) -> tuple[str, ...]:
        """Give a list of texts, empty where there is none; a single text is a list of one."""
        found = self.value(*names, default=())
        items = [found] if isinstance(found, str) else self.list(*names)
        for item in items:
            if not isinstance(item, str):
                raise self.wrong(f"{shown(self._name(names))} holds {shown(item)}, not text")
        return tuple(self._whole(item, names) for item in items)

    def list(self, *names: str) -> list[Any]:
        """Give a list, empty where there is none."""
        found: list[Any] = self._typed(names, list, "a list", [])
        return found

    def integer(self, *names: str, default: int = _REQUIRED) -> int:
        """Give a whole number; 2.0 is one, and so is "2" (CSV has only text)."""
        found = self.value(*names, default=default)
        if not self.has(*names):
            return default
        if isinstance(found, str) and _WHOLE.fullmatch(found):
            return int(found)
        if isinstance(found, int | float) and not isinstance(found, bool) and found == found // 1:
            return int(found)
        raise self.wrong(f"{shown(self._name(names))} is {shown(found)}, not a whole number")

    def number(self, *names: str, default: D) -> float | D:
        """Give a finite number."""
        found = self._typed(names, int | float, "a number", default)
        if found is default:
            return default
        if not abs(found) <= _LARGEST:
            raise self.wrong(f"{shown(self._name(names))} is {shown(found)}, not a finite number")
        return float(found)

    def mapping(self, *names: str) -> dict[str, Any]:
        """Give an object as it is, empty where there is none."""
        found: dict[str, Any] = self._typed(names, dict, "an object", {})
        return found

    def span(self, *names: str) -> Span | None:
        """Give a pair of byte offsets, or None where there is none."""
        found = self.list(*names)
        if not found:
            return None
        if len(found) != 2 or not all(isinstance(n, int) and not isinstance(n, bool) for n in found):
            raise self.wrong(f"{shown(self._name(names))} is {shown(found)}, not [start, end] in bytes")
        if max(map(abs, found)) > _FARTHEST:
            raise self.wrong(f"{shown(self._name(names))} is {shown(found)}, and no text has so many bytes")
        return Span(*found)

    def row(self, *names: str) -> Row | None:
        """Give an object as a row of its own, or None where there is none."""
        found = self._typed(names, dict, "an object", None)
        return None if found is None else self.nested(found, self._name(names))

    def nested(self, values: Mapping[str, Any], path: str) -> Row:
        """Take a part of this row as a row of its own, at a place such as ``negatives[2]``."""
        return Row(
            self._reading, values, self._file, line=self._line, path=f"{self._path}.{path}" if self._path else path
        )

    def rows(self, *names: str) -> Iterator[Row]:
        """Give a list of objects as rows of their own."""
        for i, item in enumerate(self.list(*names)):
            row = self.nested(item if isinstance(item, dict) else {}, f"{self._name(names)}[{i}]")
            if isinstance(item, dict):
                yield row
            else:
                self._reading.errors.append(row.wrong(f"{shown(item)} is no object"))
