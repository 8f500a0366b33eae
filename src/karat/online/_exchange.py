"""Logs from elsewhere and for elsewhere: UBI as JSON lines, Parquet by day."""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import msgspec

from karat.core import InputError, UsageError
from karat.files import parse_json_lines, read_bytes, refuse_input, replace_file
from karat.online._export_folder import read_export, write_contents
from karat.online._paths import find_paths
from karat.online._privacy import Redaction, find_key, make_redaction, note_key, read_key
from karat.online._records import LoggedEvent, LoggedQuery
from karat.online._stored import LogReader, event_row, query_row, read_log
from karat.online._times import format_day
from karat.online._ubi import Row, event_to_ubi, find_violations, query_to_ubi, read_row
from karat.online._ubi_privacy import RowPrivacy
from karat.schema import OnlineExport, OnlineImport
from karat.store import open_store

FORMATS = ("ubi", "parquet")
_ROWS = 100_000  # of a Parquet file, and of one transaction
_encode = msgspec.json.Encoder().encode


def import_ubi(
    path: str | os.PathLike[str],
    files: Sequence[str | os.PathLike[str]],
    *,
    redact: bool | Mapping[str, str] | Redaction = True,
    keep_ids: bool = False,
    key: str | None = None,
) -> OnlineImport:
    """Read queries and events of UBI 1.3.0, one JSON object a line, into a store; the same twice changes nothing.

    Texts are redacted and ids of people hashed, as :func:`karat.online.open` does with what a host logs, whose settings
    these are. Ids of a file that karat exported are hashed already: ``keep_ids`` leaves them as they are. A folder
    among the files is one that :func:`export_log` wrote, of either format: its records stay as they are.
    """
    folders = [Path(file) for file in files if Path(file).is_dir()]
    exported = [record for folder in folders for record in read_export(folder)]
    inputs = [(os.fspath(file), read_bytes(file)) for file in files if not Path(file).is_dir()]
    paths, redaction = find_paths(path), None if redact is False else make_redaction(redact)
    keep = keep_ids or not inputs
    if not keep and key is None and read_key(paths.key) is None:
        _read_rows(inputs, RowPrivacy(redaction, secrets.token_bytes()))  # what is refused leaves no key behind
    hash_key = None if keep else find_key(paths.key, key)
    queries, events = _read_rows(inputs, RowPrivacy(redaction, hash_key))
    queries += [query_row(record) for record in exported if isinstance(record, LoggedQuery)]
    events += [event_row(record) for record in exported if isinstance(record, LoggedEvent)]
    if hash_key is not None:
        note_key(paths.key_checks, hash_key)
    with open_store(path, write=True) as store, store.transaction():
        new_queries, new_events = store.add_queries(queries), store.add_events(events)
    repeated = len(queries) + len(events) - new_queries - new_events
    return OnlineImport(queries=new_queries, events=new_events, repeated=repeated)


def _read_rows(inputs: Iterable[tuple[str, bytes]], privacy: RowPrivacy) -> tuple[list[Any], list[Any]]:
    """Return the rows of queries and of events of some files, given by name and content."""
    queries, events = list[Any](), list[Any]()
    seen: Counter[str] = Counter()
    for name, data in inputs:
        for line, value in parse_json_lines(data, name):
            record = read_row(value, name, line, privacy.hide)
            if isinstance(record, LoggedQuery):
                queries.append(query_row(record))
                continue
            seen[record.id] += 1
            again = f"-{seen[record.id]}" if seen[record.id] > 1 else ""  # an event may happen twice in the same moment
            events.append((record.id + again, *event_row(record)[1:]))
    return queries, events


def export_log(
    path: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    format: str = "ubi",
    since: float | None = None,
    until: float | None = None,
) -> OnlineExport:
    """Write the records of a span of time into a new folder: as UBI 1.3.0, or as Parquet, by day."""
    if format not in FORMATS:
        raise UsageError(f"unknown format {format!r}; known: {', '.join(FORMATS)}")
    with read_log(path) as reader:
        refuse_input(folder, "the destination", folder=True)
        writing = _Writing(_make_folder(Path(folder)))
        (writing.write_ubi if format == "ubi" else writing.write_parquet)(reader, since, until)
    document = OnlineExport(
        queries=writing.counts["queries"],
        events=writing.counts["events"],
        files=tuple(sorted(writing.files)),
        invalid=writing.counts["invalid"],
        reason=writing.reason,
    )
    write_contents(writing.folder, document)
    return document


def _make_folder(place: Path) -> Path:
    """Make a folder, which may be there if nothing is in it."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        if any(place.iterdir()):
            raise InputError("is not empty", source=str(place), hint="name a new folder")
    except OSError as error:  # a file is in its place, for example
        raise InputError(f"cannot be written: {error.strerror}", source=str(place)) from None
    return place


@dataclass(slots=True)
class _Writing:
    folder: Path
    counts: Counter[str] = field(default_factory=Counter)
    files: list[str] = field(default_factory=list)
    reason: str = ""

    def write_ubi(self, reader: LogReader, since: float | None, until: float | None) -> None:
        """Write two files of JSON lines."""
        self._write_lines("queries", (query_to_ubi(query) for query in reader.queries(since, until)))
        self._write_lines("events", (event_to_ubi(event) for event in reader.events(since, until)))

    def _write_lines(self, name: str, rows: Iterable[Row]) -> None:
        path = self.folder / f"{name}.jsonl"
        with replace_file(path, private=True) as file:
            for row in rows:
                self.counts[name] += 1
                if problem := next(find_violations(row), ""):
                    self.counts["invalid"] += 1
                    self.reason = self.reason or problem
                file.write(_encode(row) + b"\n")
        self.files.append(path.name)

    def write_parquet(self, reader: LogReader, since: float | None, until: float | None) -> None:
        """Write files such as ``queries/date=2026-11-17/0000.parquet``."""
        self._write_days("queries", reader.queries(since, until))
        self._write_days("events", reader.events(since, until))

    def _write_days(self, name: str, records: Iterable[LoggedQuery] | Iterable[LoggedEvent]) -> None:
        from karat.online._parquet import write_rows

        for day, group in _by_day(records):
            for number, rows in enumerate(_batches(group)):
                file = Path(name) / f"date={day}" / f"{number:04}.parquet"
                (self.folder / file).parent.mkdir(parents=True, exist_ok=True)
                write_rows(self.folder / file, rows)
                self.files.append(file.as_posix())
                self.counts[name] += len(rows)


def _by_day(records: Iterable[Any]) -> Iterator[tuple[str, Iterator[Any]]]:
    return groupby(records, key=lambda record: format_day(record.time))


def _batches(records: Iterator[Any]) -> Iterator[list[Any]]:
    while rows := list(islice(records, _ROWS)):
        yield rows
