"""The local key of a block: its beginning, written so that layout does not count."""

from __future__ import annotations

from karat.migration._edition import Edition
from karat.text import sentences

_LENGTH = 96  # bytes


def local_key(edition: Edition, at: int) -> str:
    """Return the local key of a block, by its position.

    Of prose and tables it is the first 96 bytes without case, spaces and punctuation; of code they are those of its
    lines without indentation; of a figure or caption, those of its first sentence.
    """
    block = edition.blocks[at]
    text = edition.bytes_of(block)[: 8 * _LENGTH].decode(errors="ignore")
    if block.type == "code":
        text = "\n".join(line.strip() for line in text.split("\n"))
    else:
        if block.type in ("figure", "caption"):
            text = next(iter(sentences(text)), text)
        text = "".join(letter for letter in text.casefold() if letter.isalnum())
    return text.encode()[:_LENGTH].decode(errors="ignore")
