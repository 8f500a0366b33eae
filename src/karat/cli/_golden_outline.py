"""``karat golden outline``: the sections and blocks of a document, with the ids and bytes that a golden set names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from karat.cli._table import emit, escaped, render

if TYPE_CHECKING:
    from karat.schema import GoldenOutline

_WIDTH = 60


@click.command("outline", short_help="Show the sections and blocks of a document, with their bytes.")
@click.argument("document", metavar="DOC")
@click.option("--id", "name", metavar="ID", help="The document to show, if DOC is a golden set or a project.")
@click.option("--blocks/--no-blocks", default=True, show_default=True, help="Show the blocks, or only the sections.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(document: str, name: str | None, blocks: bool, as_json: bool) -> None:
    """Show the sections and blocks of DOC: Markdown, plain text or JSON in UTF-8; - is standard input.

    DOC may also be a golden set or a project; --id then names the document.

    Bytes count in the canonical form of the text, which is what a golden set freezes; the output says whether DOC
    already has this form. A section's bytes begin after its heading and include the sections below it.

    Example: karat golden outline README.md --no-blocks
    """
    from karat.schema import to_json
    from karat.text import canonical, outline

    data, text = _read(document) if name is None else _read_from_set(document, name)
    normal = canonical(text)
    changed = normal.encode() != data
    parts = outline(normal)
    if as_json:
        emit(to_json(parts.document(name or document, changed=changed, blocks=blocks)))
        return
    form = "other bytes than in the file" if changed else "the same bytes as in the file"
    whole = parts.document(name or document, changed=changed)
    counts = [(whole.bytes, "byte"), (len(whole.sections), "section"), (len(whole.blocks or ()), "block")]
    sizes = ", ".join(f"{number:,} {noun}{'' if number == 1 else 's'}" for number, noun in counts)
    emit(f"{escaped(whole.document)}: {sizes}; canonical text {whole.normaliser}, {form}\n")
    emit(render(_rows(whole, normal.encode(), blocks), left=4))


def _read(document: str) -> tuple[bytes, str]:
    from karat.core import UsageError
    from karat.files import decode, read_bytes

    if document != "-" and Path(document).is_dir():
        raise UsageError(f"{document} is a folder; name one of its documents with --id")
    data = read_bytes(document)
    return data, decode(data, "standard input" if document == "-" else document)


def _read_from_set(source: str, name: str) -> tuple[bytes, str]:
    from karat.core import UsageError, did_you_mean, shorten
    from karat.golden import open_set

    documents = open_set(source).document_by_id
    if name not in documents:
        raise UsageError(f"{source} has no document {shorten(name)}{did_you_mean(name, documents)}")
    text = documents[name].text
    return text.encode(errors="surrogatepass"), text


def _rows(document: GoldenOutline, data: bytes, with_blocks: bool) -> list[list[str]]:
    rows = [["id", "type", "bytes", "title or first words"]]
    blocks = iter((document.blocks or ()) if with_blocks else ())
    block = next(blocks, None)
    for section in document.sections:
        margin = "  " * (section.depth - 1)
        rows.append([margin + section.id, "section", _bytes(section.whole), _shortened(section.title)])
        while block is not None and block.section == section.id:
            start, end = block.span
            words = data[start:end][: 8 * _WIDTH].decode(errors="ignore")
            rows.append([f"{margin}  {block.id}", block.type, _bytes(block.span), _shortened(words)])
            block = next(blocks, None)
    return rows


def _bytes(span: tuple[int, int]) -> str:
    return f"{span[0]}-{span[1]}"


def _shortened(text: str) -> str:
    words = escaped(" ".join(text.split()))
    return words if len(words) <= _WIDTH else words[: _WIDTH - 3] + "..."
