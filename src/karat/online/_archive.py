"""The archive: queries that are too old for the store, one file of JSON lines for each day, packed."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

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
    lines = {str(row["id"]): line for line, row in _read(path)} if path.exists() else {}
    before = len(lines)
    lines.update({query.id: _encode(to_object(query)) for query in queries})
    _write(path, lines.values())
    return len(lines) - before


def read_archive(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield all queries of an archive."""
    for path in sorted(folder.glob("queries-*.jsonl.gz")):
        yield from (row for _, row in _read(path))


def forget_archived(folder: Path, is_forgotten: Callable[[dict[str, Any]], bool]) -> int:
    """Remove queries from the archive; return how many. A file that is empty then goes."""
    count = 0
    for path in sorted(folder.glob("queries-*.jsonl.gz")):
        rows = list(_read(path))
        kept = [line for line, row in rows if not is_forgotten(row)]
        if len(kept) == len(rows):
            continue
        count += len(rows) - len(kept)
        if kept:
            _write(path, kept)
        else:
            path.unlink()
    return count


def _read(path: Path) -> Iterable[tuple[bytes, dict[str, Any]]]:
    for line in read_bytes(path).splitlines():
        yield line, msgspec.json.decode(line)


def _write(path: Path, lines: Iterable[bytes]) -> None:
    with replace_file(path) as file:
        file.write(gzip.compress(b"".join(line + b"\n" for line in lines), mtime=0))
