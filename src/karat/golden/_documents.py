"""Documents in a folder of files, or in one file of rows."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from karat.config import FrontMatter
from karat.core import Document, InputError
from karat.files import Reading, record_folder

FORMAT_OF_ENDING = {".md": "markdown", ".markdown": "markdown", ".txt": "text", ".text": "text", ".json": "json"}


_FRONT = re.compile(
    r"---[ \t]*\r?\n(?P<block>(?:[ \t]*(?:#.*)?\r?\n)*[A-Za-z_][\w .-]*:(?:.*\n)*?)(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)"
)
"""Front matter: lines of YAML, the first of which is a key, between two lines of hyphens at the start of a file."""
_TITLE = re.compile(r"^title:[ \t]+(?P<quote>[\"']?)(?P<title>[^\s>|&*].*?)(?P=quote)[ \t]*\r?$", re.MULTILINE)
_HEADING = re.compile(r"\s*# ?\S")


def read_documents(path: Path, reading: Reading, *, front_matter: FrontMatter = "text") -> tuple[Document, ...]:
    """Return the documents of a JSONL file, or of a folder of .md, .txt and .json files.

    The id of a file is its path without the ending. A folder is read with all folders below it, without hidden files
    and links that lead out of it. ``front_matter`` says what that of a Markdown file is: part of the text, as it
    stands, or the source of its title (see :func:`take_title`).
    """
    if path.is_dir():
        files = _read_folder(path, reading)
        return tuple(map(take_title, files)) if front_matter == "title" else files
    documents = []
    for row in reading.jsonl(path):
        with row:
            documents.append(
                Document(
                    id=row.id("id", "_id", "doc_id", "docid"),
                    text=row.text("text", "content", "contents", default=""),
                    title=row.text("title", default=""),
                    metadata=row.mapping("metadata"),
                )
            )
    return tuple(documents)


def take_title(document: Document) -> Document:
    r"""Return a Markdown document without its front matter, which becomes metadata; its title is the first heading.

    So the title can be found, and nothing else of the front matter. A document that begins with a heading of its own
    keeps that one.

    >>> text = "---\ntitle: Payroll\nupdated: 2026-10-01\n---\nPaid monthly."
    >>> take_title(Document(id="pay", text=text, format="markdown")).text
    '# Payroll\n\nPaid monthly.'
    """
    match = _FRONT.match(document.text.removeprefix("\ufeff")) if document.format == "markdown" else None
    if match is None:
        return document
    block = match["block"]
    text = document.text.removeprefix("\ufeff")[match.end() :]
    title = named["title"] if (named := _TITLE.search(block)) else ""
    if title and not _HEADING.match(text):
        text = f"# {title}\n\n{text.lstrip()}"
    return replace(document, text=text, title=title, metadata={**document.metadata, "front_matter": block})


def _read_folder(folder: Path, reading: Reading) -> tuple[Document, ...]:
    documents = []
    root = folder.resolve()
    record_folder(folder, tuple(FORMAT_OF_ENDING))
    for file in sorted(folder.rglob("*")):
        relative = file.relative_to(folder)
        written_as = FORMAT_OF_ENDING.get(file.suffix.lower())
        if written_as is None or any(part.startswith(".") for part in relative.parts) or not file.is_file():
            continue
        if not file.resolve().is_relative_to(root):
            reading.note(f"{file}: leads out of {folder}, left out")
            continue
        text = reading.text(file)
        documents.append(Document(id=relative.with_suffix("").as_posix(), text=text, format=written_as))
    if not documents:
        raise InputError("holds no .md, .txt or .json file", source=str(folder))
    return tuple(documents)
