"""The archive: queries that are too old for the store, one file of JSON lines for each day, packed."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from karat.core import KaratError
from karat.files import read_bytes, replace_file
from karat.online._records import LoggedQuery

_encode = msgspec.json.Encoder().encode


def to_object(query: LoggedQuery) -> dict[str, Any]:
    """Return a query with the names of its fields; in a record they are positions.

    >>> to_object(LoggedQuery("1", 1.5, "wifi?"))["text"]
    'wifi?'
    """
    fields = {name: getattr(query, name) for name in query.__struct_fields__}
    fields["hits"] = [{name: getattr(hit, name) for name in hit.__struct_fields__} for hit in query.hits]
    return fields


def archive_day(folder: Path, day: str, queries: Iterable[LoggedQuery]) -> int:
    """Write the queries of a day, beside those of it that are there already; return how many are new."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"queries-{day}.jsonl.gz"
    there = _read(path) if path.exists() else ()
    lines = {line.decode("latin-1") if row is None else str(row.get("id")): line for line, row in there}
    before = len(lines)
    lines.update({query.id: _encode(to_object(query)) for query in queries})
    _write(path, lines.values())
    return len(lines) - before


class Archive:
    """The files of an archive, as far as they can be read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.unread: set[str] = set()
        """The names of files that cannot be read, or not all of them."""

    def _list(self) -> list[Path]:
        return sorted(self._folder.glob("queries-*.jsonl.gz"))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield all queries."""
        for path in self._list():
            yield from (row for _, row in self._read(path) if row is not None)

    def forget(self, is_forgotten: Callable[[dict[str, Any]], bool]) -> int:
        """Remove queries; return how many. A file that is empty then goes; what cannot be read stays."""
        count = 0
        for path in self._list():
            rows = list(self._read(path))
            kept = [line for line, row in rows if row is None or not is_forgotten(row)]
            if len(kept) == len(rows):
                continue
            count += len(rows) - len(kept)
            if kept:
                _write(path, kept)
            else:
                path.unlink()
        return count

    def _read(self, path: Path) -> Iterator[tuple[bytes, dict[str, Any] | None]]:
        """Yield the lines of a file with what is in them; None is what cannot be read."""
        try:
            for line, row in _read(path):
                if row is None:
                    self.unread.add(path.name)
                yield line, row
        except (KaratError, OSError, EOFError, zlib.error):
            self.unread.add(path.name)


def _read(path: Path) -> Iterator[tuple[bytes, dict[str, Any] | None]]:
    """Yield the lines of a file with the objects in them; None is a line that is none."""
    for line in read_bytes(path).splitlines():
        row: Any = None
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            row = msgspec.json.decode(line)
        yield line, row if isinstance(row, dict) else None


def _write(path: Path, lines: Iterable[bytes]) -> None:
    with suppress(FileNotFoundError):
        path.chmod(0o600)  # what people asked is for the owner's eyes; earlier versions left it to the umask
    with replace_file(path) as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(gzip.compress(b"".join(line + b"\n" for line in lines), mtime=0))
