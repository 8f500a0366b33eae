"""The golden set that a project starts with: sentences of its own documents, or of an example."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from karat import golden as sets
from karat.core import Document, GoldenSet, InputError
from karat.files import access_file

_EXAMPLE = {
    "breakfast": "Breakfast is served from seven to ten. It costs twelve euros for guests.",
    "pool": "The pool opens at six in the morning. Children swim with an adult.",
    "wifi": "The wireless network is free for guests. The desk hands out the password.",
}
_FILES = ("documents.jsonl", "golden.toml", "judgments.jsonl", "queries.jsonl")
_LONG = 5_000_000
_SHOWN = 5
_MOST = 200
"""Queries: enough to see that all works, and few enough to look at before they are replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """A golden set, and what making it noticed."""

    golden: GoldenSet
    notes: tuple[str, ...] = ()

    def referring(self) -> Starter:
        """Give the set without its documents, for a configuration that says where they are."""
        return replace(self, golden=replace(self.golden, documents=()))


def example() -> Starter:
    """Make a set of three short documents, for who has none at hand."""
    documents = tuple(Document(id=id_, text=text, format="text") for id_, text in _EXAMPLE.items())
    return Starter(golden=sets.synthesise(documents, 2, name="example"))


def starter(path: Path, name: str) -> Starter:
    """Make a set from documents: up to three sentences of each, and 200 in all, spread evenly over the documents.

    Say which of the documents gave none, or how many are asked for where there are more, and which are very long.
    What cannot be read is an error: the documents would be read again at every check.
    """
    reading = sets.Reading()
    if not os.access(path, os.R_OK):
        there = os.path.lexists(path)
        raise InputError("cannot be read" if there else "no such file or folder", source=str(path))
    if path.is_file() and path.suffix.lower() not in (".jsonl", ".ndjson", ".gz"):
        raise InputError("is one file", source=str(path), hint="give the folder that it lies in, or a JSONL file")
    found = _documents(path, reading)
    twice = [id_ for id_, count in Counter(one.id for one in found).items() if count > 1]
    if twice:
        raise InputError(
            f"several documents would have the id {twice[0]!r}", source=str(path), hint="rename all but one"
        )
    made = sets.synthesise(found, name=name or "starter", most=_MOST)
    if not made.queries:
        what = "holds no sentence to ask for" + (
            ", or only such as stand in several documents" if len(found) > 1 else ""
        )
        raise InputError(what, source=str(path), hint="write a few, or give others")
    asked = {judgment.target.document for judgment in made.judgments}
    silent = [one.id for one in found if one.id not in asked] if len(found) <= _MOST else []
    long = [one.id for one in found if len(one.text) > _LONG]
    notes = [*reading.notes()]
    notes += [f"{len(asked):,} of {len(found):,} documents are asked for"] if len(found) > _MOST else []
    notes += [f"no sentence to ask for in {_some(silent)}"] if silent else []
    notes += [f"very long, and slow to index: {_some(long)}"] if long else []
    return Starter(golden=made, notes=tuple(notes))


def _documents(path: Path, reading: sets.Reading) -> tuple[Document, ...]:
    try:
        found = sets.read_documents(path, reading)
        reading.finish()
    except InputError as error:
        if not path.is_dir() or error.line is None:
            raise
        hint = "make it UTF-8, or move it elsewhere"
        raise InputError(error.what, source=error.source, line=error.line, hint=hint) from None
    return found


def _some(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def has_documents(folder: Path) -> bool:
    """Say whether the set in a folder holds documents itself."""
    file = folder / "documents.jsonl"
    return file.is_file() and file.stat().st_size > 0


def write_set(made: GoldenSet, folder: Path) -> None:
    """Write a set into a new or empty folder; where it has no documents there is no file for them."""
    sets.write(made, folder)
    if not made.documents:
        (folder / "documents.jsonl").unlink()


def same_set(made: GoldenSet, folder: Path) -> bool:
    """Say whether a folder holds what would be written, whatever its line ends."""
    with tempfile.TemporaryDirectory(prefix="karat-") as other:
        write_set(made, Path(other) / "golden")
        return all(_bytes(folder / name) == _bytes(Path(other) / "golden" / name) for name in _FILES)


def _bytes(file: Path) -> bytes | None:
    return access_file(str(file), file.read_bytes).replace(b"\r\n", b"\n") if file.is_file() else None
