"""The golden set that a project starts with: sentences of its own documents, or of an example."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from karat import golden as sets
from karat.config import FrontMatter
from karat.core import Document, GoldenSet, InputError, count_things
from karat.files import read_bytes

_EXAMPLE = {
    "breakfast": "Breakfast is served from seven to ten. It costs twelve euros for guests.",
    "pool": "The pool opens at six in the morning. Children swim with an adult.",
    "wifi": "The wireless network is free for guests. The desk hands out the password.",
}
_FILES = ("documents.jsonl", "golden.toml", "judgments.jsonl", "queries.jsonl")
_LONG = 5_000_000
_SHOWN = 5
_MOST = 200
"""Queries: enough to see that everything works, and few enough to read before they are replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """A golden set, and notes about its documents."""

    golden: GoldenSet
    notes: tuple[str, ...] = ()
    with_front_matter: int = 0
    """How many documents have front matter."""

    def without_documents(self) -> Starter:
        """Return the set without its documents, for a configuration that names them."""
        return replace(self, golden=replace(self.golden, documents=()))


def make_example() -> Starter:
    """Return a set of three short documents, for a project without documents."""
    documents = tuple(Document(id=id_, text=text, format="text") for id_, text in _EXAMPLE.items())
    return Starter(golden=sets.synthesise(documents, 2, name="example"))


def make_starter(path: Path, name: str, front_matter: FrontMatter = "text") -> Starter:
    """Return a set of up to three sentences of each document, at most 200, spread evenly over the documents.

    The notes name documents that gave no query, and very long ones. Documents that cannot be read raise InputError,
    since they would stop every check.
    """
    reading = sets.Reading()
    if not os.access(path, os.R_OK):
        raise InputError("cannot be read" if os.path.lexists(path) else "no such file or folder", source=str(path))
    if path.is_file() and path.suffix.lower() not in (".jsonl", ".ndjson", ".gz"):
        raise InputError("is one file", source=str(path), hint="name the folder that contains it, or a JSONL file")
    documents = _read_documents(path, reading, front_matter)
    repeated = [id_ for id_, count in Counter(document.id for document in documents).items() if count > 1]
    if repeated:
        raise InputError(
            f"several documents would have the id {repeated[0]!r}", source=str(path), hint="rename all but one"
        )
    golden = sets.synthesise(documents, name=name or "starter", most=_MOST)
    if not golden.queries:
        shared = ", or only sentences that several documents share" if len(documents) > 1 else ""
        raise InputError(
            f"holds no sentence to ask for{shared}",
            source=str(path),
            hint=f"write a few of {sets.SHORTEST_QUERY} to {sets.LONGEST_QUERY} characters, or name other documents",
        )
    targets = {judgment.target.document for judgment in golden.judgments}
    few = len(documents) <= _MOST
    silent = [document.id for document in documents if document.id not in targets] if few else []
    long = [document.id for document in documents if len(document.text) > _LONG]
    notes = [*reading.notes()]
    notes += [] if few else [f"{len(targets):,} of {len(documents):,} documents are asked for"]
    notes += [f"no sentence to ask for in {_list_some(silent)}"] if silent else []
    notes += [f"very long, and slow to index: {_list_some(long)}"] if long else []
    front, said = _find_front_matter(documents)
    return Starter(golden=golden, notes=(*notes, *said), with_front_matter=front)


def read_own(
    path: Path, documents: Path | None, front_matter: FrontMatter = "text", relevant: int | None = None
) -> Starter:
    """Return a golden set that exists already, with its documents if they are elsewhere, and a note on its size.

    What cannot be read raises InputError, since it would stop every check. A set with spans counts the bytes of the
    documents as they stand, with their front matter.
    """
    golden = sets.read(path, documents=documents, front_matter=front_matter, relevant=relevant)
    if any(target.span is not None for target in golden.judged_targets):
        golden = sets.read(path, documents=documents, relevant=relevant)
    front, said = _find_front_matter(golden.documents)
    size = f"{count_things(len(golden.queries), 'query', 'queries')}, {count_things(golden.judgment_count, 'judgment')}"
    return Starter(golden=golden, notes=(size, *golden.notes, *said), with_front_matter=front)


def _find_front_matter(documents: Sequence[Document]) -> tuple[int, list[str]]:
    """Return how many documents have front matter that is not part of their text, and a note on it if any has."""
    front = sum("front_matter" in document.metadata for document in documents)
    note = f"front matter of {count_things(front, 'document')} is no text; its title is the first heading"
    return front, [note] if front else []


def _read_documents(path: Path, reading: sets.Reading, front_matter: FrontMatter) -> tuple[Document, ...]:
    try:
        documents = sets.read_documents(path, reading, front_matter=front_matter)
        reading.finish()
    except InputError as error:
        if not path.is_dir() or error.line is None:
            raise
        hint = "make it UTF-8, or move it elsewhere"
        raise InputError(error.what, source=error.source, line=error.line, hint=hint) from None
    return documents


def _list_some(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def has_documents(folder: Path) -> bool:
    """Return whether the set in a folder has documents of its own."""
    file = folder / "documents.jsonl"
    return file.is_file() and file.stat().st_size > 0


def write_set(golden: GoldenSet, folder: Path) -> None:
    """Write a set into a new or empty folder; without documents there is no file for them."""
    sets.write(golden, folder)
    if not golden.documents:
        (folder / "documents.jsonl").unlink()


def is_same_set(golden: GoldenSet, folder: Path) -> bool:
    """Return whether a folder holds what would be written, whatever its line ends."""
    with tempfile.TemporaryDirectory(prefix="karat-") as other:
        write_set(golden, Path(other) / "golden")
        return all(_bytes(folder / name) == _bytes(Path(other) / "golden" / name) for name in _FILES)


def _bytes(file: Path) -> bytes | None:
    return read_bytes(file).replace(b"\r\n", b"\n") if file.is_file() else None
