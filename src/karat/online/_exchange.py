"""Logs from elsewhere and for elsewhere: UBI as JSON lines, Parquet by day."""

from __future__ import annotations

import os
import secrets
import shutil
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any

import msgspec

from karat.core import InputError, UsageError
from karat.files import parse_json_lines, read_bytes, refuse_input, replace_file
from karat.online._drafts import replace_halves
from karat.online._export_folder import read_export, write_contents
from karat.online._homes import name_session
from karat.online._paths import find_paths
from karat.online._privacy import Redaction, find_key, make_redaction, note_key, read_key
from karat.online._records import LoggedEvent, LoggedQuery, Record
from karat.online._stored import LogReader, event_row, query_row, read_log
from karat.online._times import format_day
from karat.online._ubi import Row, event_to_ubi, find_violations, query_to_ubi, read_row
from karat.online._ubi_privacy import RowPrivacy
from karat.schema import OnlineExport, OnlineImport
from karat.store import Store, open_store

FORMATS = ("ubi", "parquet")
_ROWS = 100_000  # of a Parquet file
_RECORDS = 5_000  # of a folder that are read before they are added
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
    for folder in folders:
        deque(read_export(folder), maxlen=0)  # what is not whole is refused before anything is written
    inputs = [(os.fspath(file), read_bytes(file)) for file in files if not Path(file).is_dir()]
    paths, redaction = find_paths(path), None if redact is False else make_redaction(redact)
    keep = keep_ids or not inputs
    if not keep and key is None and read_key(paths.key) is None:
        _read_rows(inputs, RowPrivacy(redaction, secrets.token_bytes()))  # what is refused leaves no key behind
    hash_key = None if keep else find_key(paths.key, key)
    queries, events = _read_rows(inputs, RowPrivacy(redaction, hash_key))
    if hash_key is not None:
        note_key(paths.key_checks, hash_key)
    with open_store(path, write=True) as store, store.transaction():
        new = Counter(queries=store.add_queries(queries), events=store.add_events(events))
        repeated = len(queries) + len(events) - new.total()
        for records in _batches(record for folder in folders for record in read_export(folder)):
            added = _add_records(store, records)
            new += added
            repeated += len(records) - added.total()
    return OnlineImport(queries=new["queries"], events=new["events"], repeated=repeated)


def _add_records(store: Store, records: Sequence[Record]) -> Counter[str]:
    """Add records to a store, and return how many are new."""
    queries = [query_row(record) for record in records if isinstance(record, LoggedQuery)]
    events = [event_row(record) for record in records if isinstance(record, LoggedEvent)]
    return Counter(queries=store.add_queries(queries), events=store.add_events(events))


def _read_rows(inputs: Iterable[tuple[str, bytes]], privacy: RowPrivacy) -> tuple[list[Any], list[Any]]:
    """Return the rows of queries and of events of some files, given by name and content."""
    queries, events = list[Any](), list[Any]()
    seen: Counter[str] = Counter()
    for name, data in inputs:
        has_halves = b"\\ud" in data.lower()  # half of a surrogate pair, which no store holds, is always escaped
        for line, value in parse_json_lines(data, name):
            record = read_row(replace_halves(value) if has_halves else value, name, line, privacy.hide)
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
    """Write the records of a span of time into a new folder: as UBI 1.3.0, or as Parquet, by day.

    Of an export that fails, such as on a full disk, nothing stays in the folder.
    """
    if format not in FORMATS:
        raise UsageError(f"unknown format {format!r}; known: {', '.join(FORMATS)}")
    with read_log(path) as reader:
        refuse_input(folder, "the destination", folder=True)
        writing = _Writing(_make_folder(Path(folder)))
        try:
            return writing.write(reader, format, since, until)
        except BaseException as error:
            _empty(writing.folder)
            if isinstance(error, OSError):
                raise InputError(f"cannot be written: {error.strerror}", source=str(folder)) from None
            raise


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


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

    def write(self, reader: LogReader, format: str, since: float | None, until: float | None) -> OnlineExport:
        """Write all files, and what they hold."""
        (self.write_ubi if format == "ubi" else self.write_parquet)(reader, since, until)
        document = OnlineExport(
            queries=self.counts["queries"],
            events=self.counts["events"],
            files=tuple(sorted(self.files)),
            invalid=self.counts["invalid"],
            reason=self.reason,
        )
        write_contents(self.folder, document)
        return document

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
        self._write_days("queries", ((query, name_session(query)) for query in reader.queries(since, until)))
        self._write_days("events", reader.homes(since, until))

    def _write_days(self, name: str, records: Iterable[tuple[Record, str]]) -> None:
        from karat.online._parquet import write_rows

        for day, group in groupby(records, key=lambda pair: format_day(pair[0].time)):
            pairs = iter(group)
            for number, first in enumerate(pairs):
                file = Path(name) / f"date={day}" / f"{number:04}.parquet"
                (self.folder / file).parent.mkdir(parents=True, exist_ok=True)
                self.files.append(file.as_posix())
                write_rows(self.folder / file, self._count(name, chain([first], islice(pairs, _ROWS - 1))))

    def _count(self, name: str, records: Iterable[tuple[Record, str]]) -> Iterator[tuple[Record, str]]:
        for pair in records:
            self.counts[name] += 1
            yield pair


def _batches(records: Iterator[Record]) -> Iterator[list[Record]]:
    while rows := list(islice(records, _RECORDS)):
        yield rows
