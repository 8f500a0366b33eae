"""Documents as people have them: a folder of files, or one file of rows."""

from __future__ import annotations

from pathlib import Path

from karat.core import Document, InputError
from karat.files import Reading, decode, read_bytes

FORMAT_OF_ENDING = {".md": "markdown", ".markdown": "markdown", ".txt": "text", ".text": "text", ".json": "json"}


def read_documents(path: Path, reading: Reading) -> tuple[Document, ...]:
    """Read a folder of .md, .txt and .json files (the id is the path without its ending), or a JSONL file.

    A folder is read with all folders below it; hidden files are left out, and so is what leads out of it.
    """
    if path.is_dir():
        return _folder(path, reading)
    found = []
    for row in reading.jsonl(path):
        with row:
            found.append(
                Document(
                    id=row.id("id", "_id", "doc_id", "docid"),
                    text=row.text("text", "content", "contents", default=""),
                    title=row.text("title", default=""),
                    metadata=row.mapping("metadata"),
                )
            )
    return tuple(found)


def _folder(folder: Path, reading: Reading) -> tuple[Document, ...]:
    found = []
    root = folder.resolve()
    for file in sorted(folder.rglob("*")):
        inside = file.relative_to(folder)
        written = FORMAT_OF_ENDING.get(file.suffix.lower())
        if written is None or any(part.startswith(".") for part in inside.parts) or not file.is_file():
            continue
        if not file.resolve().is_relative_to(root):
            reading.note(f"{file}: leads out of {folder}, left out")
            continue
        text = decode(read_bytes(file), str(file))
        found.append(Document(id=inside.with_suffix("").as_posix(), text=text, format=written))
    if not found:
        raise InputError("holds no .md, .txt or .json file", source=str(folder))
    return tuple(found)
