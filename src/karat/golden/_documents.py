"""Documents in a folder of files, or in one file of rows."""

from __future__ import annotations

from pathlib import Path

from karat.core import Document, InputError
from karat.files import Reading, record_folder

FORMAT_OF_ENDING = {".md": "markdown", ".markdown": "markdown", ".txt": "text", ".text": "text", ".json": "json"}


def read_documents(path: Path, reading: Reading) -> tuple[Document, ...]:
    """Return the documents of a JSONL file, or of a folder of .md, .txt and .json files.

    The id of a file is its path without the ending. A folder is read with all folders below it, without hidden files
    and links that lead out of it.
    """
    if path.is_dir():
        return _read_folder(path, reading)
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
