"""``karat golden outline``: the sections and blocks of a document, with the ids and bytes that a golden set names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._table import emit, escaped, render

if TYPE_CHECKING:
    from karat.core import Span
    from karat.text import Outline

_WIDTH = 60


@click.command("outline", short_help="Show the sections and blocks of a document, with their bytes.")
@click.argument("document", metavar="DOC")
@click.option("--blocks/--no-blocks", default=True, show_default=True, help="Show the blocks, or only the sections.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(document: str, blocks: bool, as_json: bool) -> None:
    """Show the sections and blocks of DOC: Markdown, plain text or JSON in UTF-8; - is standard input.

    The bytes count in the canonical form of the text, which is what a golden set freezes; the output says whether DOC
    has this form already. A section's bytes begin after its heading and include the sections below it.

    Example: karat golden outline README.md --no-blocks
    """
    from karat.core import NORMALISER
    from karat.text import canonical, outline

    data, text = _read(document)
    normal = canonical(text)
    found, changed = outline(normal), normal.encode() != data
    if as_json:
        import json

        plain = found.to_dict()
        if not blocks:
            del plain["blocks"]
        emit(json.dumps({"document": document, "normaliser": NORMALISER, "changed": changed, **plain}))
        return
    form = "other bytes than in the file" if changed else "the same bytes as in the file"
    emit(
        f"{escaped(document)}: {_count(found.size, 'byte')}, {_count(len(found.sections), 'section')}, "
        f"{_count(len(found.blocks), 'block')}; canonical text {NORMALISER}, {form}\n"
    )
    emit(render(_rows(found, normal.encode(), blocks), left=4))


def _read(document: str) -> tuple[bytes, str]:
    from karat.files import decode, read_bytes

    name = "standard input" if document == "-" else document
    data = read_bytes(document)
    return data, decode(data, name)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _rows(found: Outline, data: bytes, with_blocks: bool) -> list[list[str]]:
    rows = [["id", "type", "bytes", "title or first words"]]
    blocks = iter(found.blocks if with_blocks else ())
    block = next(blocks, None)
    for section in found.sections:
        margin = "  " * (section.depth - 1)
        rows.append([margin + section.id, "section", _bytes(section.whole), _shortened(section.title)])
        while block is not None and block.section == section.id:
            words = data[block.span.start : block.span.end][: 8 * _WIDTH].decode(errors="ignore")
            rows.append([f"{margin}  {block.id}", block.type, _bytes(block.span), _shortened(words)])
            block = next(blocks, None)
    return rows


def _bytes(span: Span) -> str:
    return f"{span.start}-{span.end}"


def _shortened(text: str) -> str:
    words = escaped(" ".join(text.split()))
    return words if len(words) <= _WIDTH else words[: _WIDTH - 3] + "..."
