"""A folder that karat exported, read again: records as they were, neither hashed nor redacted a second time."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path, PurePosixPath
from typing import Any

from karat.core import InputError, shorten
from karat.files import decode, open_file, parse_json, parse_json_lines, read_bytes, write_file
from karat.online._records import LoggedQuery, Record
from karat.online._times import format_day
from karat.online._ubi import read_row
from karat.schema import Mismatch, OnlineExport, from_plain, to_json
from karat.store import read_path

CONTENTS = "export.json"
"""The file that says what an export holds. It is written last: a folder without it is no complete export."""


def write_contents(folder: Path, document: OnlineExport) -> None:
    """Write what an export holds."""
    write_file(folder / CONTENTS, to_json(document) + "\n", private=True)


def read_export(folder: Path) -> Iterator[Record]:
    """Yield the records of a folder that karat exported, of either format; one that is not complete is refused."""
    document = read_contents(folder)
    queries = events = 0
    for name in document.files:
        for record in _read_file(folder, name):
            is_query = isinstance(record, LoggedQuery)
            queries, events = queries + is_query, events + (not is_query)
            yield record
    require_counts(folder, document, queries, events)


def require_counts(folder: Path, document: OnlineExport, queries: int, events: int) -> None:
    """Refuse an export that has other records than it says."""
    if (queries, events) != (document.queries, document.events):
        problem = f"has {queries:,} of {document.queries:,} queries, and {events:,} of {document.events:,} events"
        raise InputError(problem, source=str(folder), hint="files of it were changed; export it again")


def read_contents(folder: Path) -> OnlineExport:
    """Return what a folder that karat exported holds."""
    path = folder / CONTENTS
    if not path.is_file():
        hint = f"name the files in it; one that karat online export wrote has {CONTENTS}"
        raise InputError("is a folder, and no export of karat", source=str(folder), hint=hint)
    try:
        return from_plain(parse_json(decode(read_bytes(path), str(path)), str(path), strict=True), OnlineExport)
    except Mismatch as error:
        raise InputError(f"is not the list of an export: {error}", source=str(path)) from None


def _find_path(folder: Path, name: str) -> Path:
    """Return the path of a file, which lies in the folder."""
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or PurePosixPath(name).is_absolute():
        raise InputError(f"names {name!r}, which is outside of it", source=str(folder / CONTENTS))
    return folder.joinpath(*parts)


def _read_file(folder: Path, name: str) -> Iterator[Record]:
    """Yield the records of one file, which lies in the folder."""
    path = _find_path(folder, name)
    if path.suffix == ".parquet":
        from karat.online._parquet import read_rows

        yield from read_rows(path, "query" if PurePosixPath(name).parts[0] == "queries" else "event")
        return
    for line, value in parse_json_lines(read_bytes(path), str(path)):
        yield read_row(value, str(path), line, own=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportFiles:
    """The Parquet files of an export."""

    name: str
    """As somebody named the folder."""
    files: tuple[str, ...] = ()
    """In the folder; empty at an address that only an engine reads."""
    queries: int | None = None
    """How many there are; None if nobody knows before they are read."""

    @property
    def has_queries(self) -> bool:
        """Whether there are files of queries."""
        return not self.files or any(file.startswith("queries/") for file in self.files)

    @property
    def has_events(self) -> bool:
        """Whether there are files of events."""
        return not self.files or any(file.startswith("events/") for file in self.files)

    def list_paths(self, since: float | None = None, until: float | None = None) -> tuple[str, ...]:
        """Return the files with records of a span of time, or of days that it touches."""
        if "://" in self.name:
            return f"{self.name.rstrip('/')}/queries", f"{self.name.rstrip('/')}/events"
        first, last = ("" if time is None else format_day(time) for time in (since, until))
        days = {file: PurePosixPath(file).parent.name.removeprefix("date=") for file in self.files}
        within = [file for file, day in days.items() if first <= day and (not last or day <= last)]
        # Queries come first: an engine guesses from the first rows how large all are, and those are the largest.
        within.sort(key=lambda file: not file.startswith("queries/"))
        return tuple(str(Path(self.name, file)) for file in within)

    def list_limits(self, since: float | None = None, until: float | None = None) -> dict[str, tuple[Any, Any]]:
        """Return the columns by which records lie in a span: their time, and at an address the day of their folder."""
        if since is None and until is None:
            return {}
        limits: dict[str, tuple[Any, Any]] = {"time": (since, until)}
        if "://" in self.name:  # elsewhere, only files of these days are listed
            first, last = (None if time is None else date.fromisoformat(format_day(time)) for time in (since, until))
            limits["date"] = first, None if last is None else last + timedelta(days=1)
        return limits


def is_export(place: str | os.PathLike[str]) -> bool:
    """Return whether a place is a folder of Parquet files, or an address of one, and not a store."""
    is_folder, name = read_path(place).is_dir(), os.fspath(place)
    return is_folder or ("://" in name and not name.startswith(("postgresql://", "postgres://")))


def find_files(place: str | os.PathLike[str]) -> ExportFiles:
    """Return the files of an export as Parquet. One that is not complete, or of an earlier version, is refused."""
    import polars as pl

    from karat.online._parquet import HOME

    if "://" in os.fspath(place):
        return ExportFiles(name=os.fspath(place))
    folder = Path(place)
    document = read_contents(folder)
    hint = f"write it again: karat online export STORE {shorten(folder.name)} --format parquet"
    if any(not file.endswith(".parquet") for file in document.files):
        raise InputError("is an export as UBI; this needs one as Parquet", source=str(folder), hint=hint)
    counts = Counter[str]()
    for name in document.files:
        path = _find_path(folder, name)
        open_file(path).close()  # Polars would wait for a pipe
        try:
            if HOME not in pl.read_parquet_schema(path):
                problem = "was written by an earlier karat, and does not say to which session an event belongs"
                raise InputError(problem, source=str(path), hint=hint)
            counts[PurePosixPath(name).parts[0]] += pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
        except (pl.exceptions.PolarsError, OSError) as error:
            problem = " ".join(str(error).split())
            raise InputError(f"is not a file of records that karat exported: {problem}", source=str(path)) from None
    require_counts(folder, document, counts["queries"], counts["events"])
    return ExportFiles(name=os.fspath(place), files=document.files, queries=document.queries)
