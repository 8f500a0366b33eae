"""Chroma's chunking evaluation: ``questions.csv`` and the texts that it asks about.

- A row has a question, its references as JSON (``content``, ``start_index``, ``end_index``) and the ``corpus_id`` of
  the text that contains them: a file ``<corpus_id>.md``, ``.txt`` or ``.json`` in ``corpora/`` or beside the questions,
  or the path of a file.
- Offsets count characters of the text as it is; karat's spans count bytes of its canonical form. The ``content`` of a
  reference decides: offsets that do not fit are corrected, with a note, if it occurs only once in the text.
- A reference to the whole text becomes the document itself.
- Extension: ``id``. Chroma's questions have none. Rows with the same id are one question, which is how a question about
  several texts is written.
- A question without an answer is written without references, under the first text.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from karat.core import Document, GoldenSet, InputError, Judgment, Query, Target, shorten
from karat.files import Reading, Row, record_folder
from karat.golden._documents import FORMAT_OF_ENDING
from karat.golden._format import FORMATS, Format
from karat.golden.formats._head import read_head
from karat.golden.formats._offsets import Offsets
from karat.golden.formats._records import Names, name_from_path, read_cell
from karat.golden.formats._scale import BINARY

_COLUMNS = ("id", "question", "references", "corpus_id")
_FOLDER = "corpora"
_CELL = 131_072  # characters: a longer CSV cell cannot be read back


@dataclass(slots=True, kw_only=True)
class _Corpora:
    """The texts of a set, each read when it is first needed."""

    folder: Path
    reading: Reading
    documents: dict[str, Document] = field(default_factory=dict)
    offsets: dict[str, Offsets] = field(default_factory=dict)

    def find(self, row: Row, corpus: str) -> str:
        """Return the id of the document with this name: the path of its file, without the ending."""
        for place in (self.folder / _FOLDER, self.folder):
            candidates = [place / f"{corpus}{ending}" for ending in FORMAT_OF_ENDING]
            for file in (*candidates, place / corpus, place / Path(corpus).name):
                if _is_inside(file, place):
                    return self.load(file, place)
        raise row.error(
            f"corpus {shorten(corpus)} is not beside the questions",
            f"put a file of that name with the ending .md or .txt into {self.folder}",
        )

    def load(self, file: Path, place: Path) -> str:
        """Read a file, and return the id of its document."""
        name = file.resolve().relative_to(place.resolve()).with_suffix("").as_posix()
        if name not in self.documents:
            text = self.reading.text(file)
            self.documents[name] = Document(id=name, text=text, format=FORMAT_OF_ENDING[file.suffix])
            self.offsets[name] = Offsets(text)
        return name


def _is_inside(file: Path, place: Path) -> bool:
    """Return whether a text file is in a folder or below it. A link that leads elsewhere is not."""
    try:
        return file.suffix in FORMAT_OF_ENDING and file.is_file() and file.resolve().is_relative_to(place.resolve())
    except OSError:  # the file system does not allow the name
        return False


def _read(path: Path, reading: Reading) -> GoldenSet:
    file = _find_questions(path) if path.is_dir() else path
    if file is None:
        raise InputError("holds no CSV of question, references and corpus_id", source=str(path))
    corpora, names = _Corpora(folder=file.parent, reading=reading), Names()
    queries: dict[str, Query] = {}
    judgments: dict[tuple[str, Target], Judgment] = {}
    for row in reading.csv(file):
        with row:
            text = row.text("question")
            query = Query(id=row.id("id", "query_id", default="") or names.assign(text), text=text)
            if queries.setdefault(query.id, query).text != text:
                raise row.error(f"question {shorten(query.id)} had another text before")
            references = _read_references(row)
            corpus = row.id("corpus_id", default="") if not references else row.id("corpus_id")
            name = corpora.find(row, corpus) if corpus else ""
            for reference in references:
                target = _read_target(reference, name, corpora.offsets[name], reading)
                judgments[query.id, target] = Judgment(query=query.id, target=target, grade=1)
    record_folder(file.parent / _FOLDER, tuple(FORMAT_OF_ENDING))
    for other in sorted((file.parent / _FOLDER).rglob("*")):
        if _is_inside(other, file.parent / _FOLDER):
            corpora.load(other, file.parent / _FOLDER)
    return GoldenSet(
        name=name_from_path(path),
        grades=BINARY,
        relevant=1,
        documents=tuple(corpora.documents.values()),
        queries=tuple(queries.values()),
        judgments=tuple(judgments.values()),
    )


def _read_references(row: Row) -> list[Row]:
    row.value("references")
    references = read_cell(row, "references")
    if not isinstance(references, list):
        raise row.error(f"'references' is {shorten(references)}, not a JSON list")
    return list(row.nested({"references": references}, "").rows("references"))


def _read_target(row: Row, document: str, offsets: Offsets, reading: Reading) -> Target:
    content = row.text("content")
    start, end = row.integer("start_index"), row.integer("end_index")
    row.close()
    text = offsets.text
    if not 0 <= start < end <= len(text) or text[start:end] != content:
        first = text.find(content) if content else -1
        if first < 0:
            raise row.error(f"{shorten(content)} does not occur in {document}", "correct its content")
        if text.find(content, first + 1) >= 0:
            problem = f"{shorten(content)} occurs several times in {document}, and not at {start}-{end}"
            raise row.error(problem, "correct start_index and end_index")
        last = first + len(content)
        reading.note(str(row.error(f"is at {first}-{last} of {document}, not at {start}-{end}: read from there")))
        start, end = first, last
    if (start, end) == (0, len(text)):
        return Target(document=document)
    span = offsets.to_bytes(start, end)
    if span is None:
        raise row.error(f"{shorten(content)} is not in the canonical text", "mark some words")
    return Target(document=document, span=span)


def _find_questions(folder: Path) -> Path | None:
    return next((file for file in sorted(folder.glob("*.csv")) if _is_questions(file)), None)


def _is_questions(file: Path) -> bool:
    return {"question", "references", "corpus_id"} <= read_head(file).columns


def _write(golden: GoldenSet, path: Path) -> None:
    (path / _FOLDER).mkdir(parents=True)
    for document in golden.documents:
        file = path / _FOLDER / _file_name(document)
        _check_text(document.text, f"document {shorten(document.id)}")
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8", newline="") as out:
            out.write(document.text)
    with (path / "questions.csv").open("w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
        rows.writerow(_COLUMNS)
        for query, corpus, references in _rows(golden):
            cells = (query.id, query.text, json.dumps(references), corpus)
            for content in cells[:2]:
                _check_text(content, f"query {shorten(query.id)}", empty=False)
            if len(cells[2]) > _CELL:
                problem = f"query {shorten(query.id)}: references of more than {_CELL:,} characters do not fit a cell"
                raise InputError(problem, hint="judge passages instead of documents")
            rows.writerow(cells)


def _check_text(text: str, where: str, *, empty: bool = True) -> None:
    """Refuse a text that could not be read back from a plain file."""
    if "\0" in text or text[:1] == "\ufeff" or not (text or empty):
        problem = "is empty" if not text else "holds NUL or begins with a byte-order mark"
        raise InputError(f"{where}: its text {problem}, which chroma cannot hold", hint="correct it")


def _file_name(document: Document) -> str:
    """Return the name of a document's file. The id ``policies/pets`` becomes a file in a folder."""
    parts = document.id.split("/")
    if any(not part or part[0] == "." or "\\" in part or not part.isprintable() or len(part) > 80 for part in parts):
        raise InputError(f"id {shorten(document.id)} is not a file name, which chroma needs", hint="rename it")
    endings = {written: ending for ending, written in reversed(FORMAT_OF_ENDING.items())}
    return document.id + endings.get(document.format, ".md")


def _rows(golden: GoldenSet) -> Iterator[tuple[Query, str, list[dict[str, Any]]]]:
    rows: dict[str, dict[str, list[dict[str, Any]]]] = {query.id: {} for query in golden.queries}
    offsets: dict[str, Offsets] = {}
    for (query, target), grade in golden.decided.items():
        if grade < golden.relevant or query not in rows or target.section or target.block:
            continue
        document = golden.document_by_id.get(target.document)
        if document is None:
            problem = f"query {shorten(query)}: document {shorten(target.document)} is not in the set"
            raise InputError(problem, hint="add the documents to the set first: 'karat golden convert --documents'")
        text = offsets.setdefault(document.id, Offsets(document.text))
        rows[query].setdefault(document.id, []).append(_reference(query, target, text))
    default = golden.documents[0].id if golden.documents else ""
    for question in golden.queries:
        for corpus, references in (rows[question.id] or {default: []}).items():
            yield question, corpus, references


def _reference(query: str, target: Target, offsets: Offsets) -> dict[str, Any]:
    place = (0, len(offsets.text)) if target.span is None else offsets.to_characters(target.span)
    if place is None or place[0] >= place[1]:
        raise InputError(f"query {shorten(query)}: {target} marks no characters of its text", hint="correct its span")
    return {"content": offsets.text[slice(*place)], "start_index": place[0], "end_index": place[1]}


def _recognise(path: Path) -> bool:
    return _find_questions(path) is not None if path.is_dir() else _is_questions(path)


FORMATS.add(
    "chroma",
    Format(
        name="chroma",
        summary="a folder: questions.csv with character spans, corpora/*.md",
        read=_read,
        recognise=_recognise,
        published="Chroma publishes its sets in its GitHub repository chunking_evaluation",
        write=_write,
        folder=True,
        keeps=frozenset(
            {
                *("set.documents", "set.queries", "set.judgments"),
                *("document.id", "document.text", "document.format", "query.id", "query.text"),
                *("judgment.query", "judgment.target", "target.document", "target.span"),
            }
        ),
    ),
)
