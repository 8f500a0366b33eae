"""A folder that karat exported, read again: records as they were, neither hashed nor redacted a second time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from karat.core import InputError
from karat.files import decode, parse_json, parse_json_lines, read_bytes, write_file
from karat.online._records import LoggedQuery, Record
from karat.online._ubi import read_row
from karat.schema import Mismatch, OnlineExport, from_plain, to_json

CONTENTS = "export.json"
"""The file that says what an export holds. It is written last: a folder without it is no complete export."""


def write_contents(folder: Path, document: OnlineExport) -> None:
    """Write what an export holds."""
    write_file(folder / CONTENTS, to_json(document) + "\n", private=True)


def read_export(folder: Path) -> list[Record]:
    """Return the records of a folder that karat exported, of either format; one that is not complete is refused."""
    document = _read_contents(folder)
    records = [record for name in document.files for record in _read_file(folder, name)]
    queries = sum(isinstance(record, LoggedQuery) for record in records)
    events = len(records) - queries
    if (queries, events) != (document.queries, document.events):
        problem = f"has {queries:,} of {document.queries:,} queries, and {events:,} of {document.events:,} events"
        raise InputError(problem, source=str(folder), hint="files of it were changed; export it again")
    return records


def _read_contents(folder: Path) -> OnlineExport:
    path = folder / CONTENTS
    if not path.is_file():
        hint = f"name the files in it; one that karat online export wrote has {CONTENTS}"
        raise InputError("is a folder, and no export of karat", source=str(folder), hint=hint)
    try:
        return from_plain(parse_json(decode(read_bytes(path), str(path)), str(path), strict=True), OnlineExport)
    except Mismatch as error:
        raise InputError(f"is not the list of an export: {error}", source=str(path)) from None


def _read_file(folder: Path, name: str) -> Iterator[Record]:
    """Yield the records of one file, which lies in the folder."""
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or PurePosixPath(name).is_absolute():
        raise InputError(f"names {name!r}, which is outside of it", source=str(folder / CONTENTS))
    path = folder.joinpath(*parts)
    if path.suffix == ".parquet":
        from karat.online._parquet import read_rows

        yield from read_rows(path, "query" if parts[0] == "queries" else "event")
        return
    for line, value in parse_json_lines(read_bytes(path), str(path)):
        yield read_row(value, str(path), line, own=True)
