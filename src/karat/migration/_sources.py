"""Versions of documents to compare: from golden sets, projects, folders of documents, or the blocks of an index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.core import Document, InputError, Span, UsageError, shorten
from karat.files import Reading, Row, parse_json, read_bytes
from karat.golden import open_set, read_documents
from karat.migration._edition import Block, Edition
from karat.text import canonical, outline

_BLOCK_IDS = ("id", "block_id", "chunk_id")
_DOCUMENT_IDS = ("document", "doc_id")
_SPARSE = 16
"""How many times as long as its blocks a document may be: a span that says otherwise is a mistake."""
_ROOM = 1_000_000


def read_editions(source: str | Path, *, cut: str = "outline", version: str = "") -> tuple[Edition, ...]:
    """Return the documents of a golden set, a project, a folder or a JSONL file, cut into blocks.

    ``cut`` is ``outline`` for the blocks that a golden set names, ``pipeline`` for the chunks that the project's own
    chunker makes, or a chunker with its options, such as ``sentence,size=128``. A JSONL file whose rows have an ``id``
    and a ``document`` holds the blocks of an index as they are, and ``cut`` does not matter. ``version`` names the
    version of all documents; by default it is a digest of each.
    """
    path = Path(source)
    if path.is_file() and _holds_blocks(path):
        editions: Iterable[Edition] = _read_blocks(path)
    else:
        documents = read_new_documents(path)
        editions = _cut(documents, _choose_cutter(cut, path))
    return tuple(edition.named(version) if version else edition for edition in editions)


def parse_gone(path: str | Path) -> frozenset[tuple[str, str]]:
    """Return the blocks of a JSONL file with ``doc_id`` and ``block``, which a person has confirmed to be gone."""
    reading, gone = Reading(), set()
    for row in reading.jsonl(path):
        with row:
            gone.add((row.id("doc_id", "document"), row.id("block", "id", "old_block_id")))
            row.ignore("text", "score", "coverage", "reason")
    reading.finish()
    return frozenset(gone)


def _holds_blocks(path: Path) -> bool:
    """Return whether the first record of a file is a block: it has an id of its own and names its document."""
    for line in read_bytes(path).split(b"\n"):
        if line.strip():
            try:
                record = parse_json(line.decode(errors="replace"), str(path), 1)
            except InputError:
                return False
            return isinstance(record, dict) and all(
                any(name in record for name in names) for names in (_BLOCK_IDS, _DOCUMENT_IDS)
            )
    return False


def read_new_documents(source: str | Path) -> tuple[Document, ...]:
    """Return the documents of a golden set, a project, a folder or a JSONL file."""
    path = Path(source)
    if not path.exists():
        raise InputError("no such file or folder", source=str(path))
    is_set = path.is_dir() and any((path / name).exists() for name in ("karat.toml", "golden.toml"))
    if is_set or not (path.is_dir() or path.suffix in (".jsonl", ".gz")):
        documents = open_set(path).documents
    else:
        reading = Reading()
        documents = read_documents(path, reading)
        reading.finish()
    if not documents:
        raise InputError("holds no documents", source=str(path))
    ids = {document.id for document in documents}
    if len(ids) < len(documents):
        raise InputError("has a document id twice", source=str(path), hint="ids have to be unique")
    return documents


@dataclass(frozen=True, slots=True)
class _Chunks:
    chunker: Any

    def __call__(self, document: Document) -> Edition:
        blocks = [Block(id=chunk.id, span=chunk.span, type=chunk.type) for chunk in self.chunker(document)]
        return Edition(document=document.id, text=canonical(document.text), blocks=tuple(blocks))


def outline_edition(document: Document) -> Edition:
    """Return a document with the blocks of its outline, which golden sets name."""
    text = canonical(document.text)
    blocks = tuple(Block(id=block.id, span=block.span, type=block.type) for block in outline(text).blocks)
    return Edition(document=document.id, text=text, blocks=blocks)


def _cut(documents: Iterable[Document], cutter: Any) -> Iterable[Edition]:
    return (cutter(document) for document in documents)


def _choose_cutter(cut: str, path: Path) -> Any:
    if cut == "outline":
        return outline_edition
    from karat.systems import Stages
    from karat.systems.chunk import make_chunker

    if cut == "pipeline":
        from karat.config import read_config

        return _Chunks(make_chunker(Stages.from_table(read_config(path).pipeline).chunk))
    name, _, options = cut.partition(",")
    return _Chunks(make_chunker({"name": name, **_parse_options(options)}))


def _parse_options(options: str) -> dict[str, Any]:
    """Return the options of a chunker.

    >>> _parse_options("size=128,context=title")
    {'size': 128, 'context': 'title'}
    """
    parsed: dict[str, Any] = {}
    for option in options.split(",") if options else ():
        name, equals, value = option.partition("=")
        if not equals or not name:
            raise UsageError(f"{shorten(option)} is not an option of a chunker; write it like sentence,size=128")
        parsed[name] = int(value) if value.isdecimal() and value.isascii() and len(value) < 10 else value
    return parsed


def _read_blocks(path: Path) -> Iterable[Edition]:
    reading = Reading()
    rows: dict[str, list[tuple[str, str, Span | None, str]]] = {}
    for row in reading.jsonl(path):
        with row:
            document = row.id(*_DOCUMENT_IDS)
            block = (row.id(*_BLOCK_IDS), row.text("text", "content"), _read_span(row), row.text("type", default=""))
            row.ignore("metadata", "section", "section_id", "title", "tokens", "hash", "id_prev")
            rows.setdefault(document, []).append(block)
    reading.finish()
    return [_place(document, blocks, str(path)) for document, blocks in rows.items()]


def _read_span(row: Row) -> Span | None:
    span = row.span("span", "offsets")
    if span is not None and not 0 <= span.start <= span.end:
        raise row.error(f"offsets [{span.start}, {span.end}] do not rise from 0")
    text = row.text("text", "content")
    if span is not None and len(text.encode()) != len(span):
        problem = f"the text has {len(text.encode())} bytes, but its offsets have {len(span)}"
        raise row.error(problem, "leave out the offsets, or a title that was put before the text")
    return span


def _place(document: str, rows: Sequence[tuple[str, str, Span | None, str]], source: str) -> Edition:
    """Return the document that some blocks make: at their offsets, or without any, one after the other."""
    spans = [span for _, _, span, _ in rows if span is not None]
    if spans and len(spans) < len(rows):
        raise InputError(f"some blocks of {shorten(document)} have no offsets", source=source)
    if not spans:
        return _join(document, rows)
    held = sum(len(span) for span in spans)
    size = max(span.end for span in spans)
    if size > _SPARSE * held + _ROOM:
        raise InputError(f"the blocks of {shorten(document)} hold {held:,} of {size:,} bytes", source=source)
    data = bytearray(b" " * size)
    for _, text, span, _ in rows:
        if span is not None:
            data[span.start : span.end] = text.encode()
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise InputError(f"blocks of {shorten(document)} overlap with other bytes", source=source) from None
    blocks = tuple(Block(id=id_, span=span, type=type_) for id_, _, span, type_ in rows if span is not None)
    return Edition(document=document, text=text, blocks=blocks)


def _join(document: str, rows: Sequence[tuple[str, str, Span | None, str]]) -> Edition:
    blocks, at = [], 0
    for id_, text, _, type_ in rows:
        size = len(text.encode())
        blocks.append(Block(id=id_, span=Span(at, at + size), type=type_))
        at += size + 2
    return Edition(document=document, text="\n\n".join(text for _, text, _, _ in rows), blocks=tuple(blocks))
