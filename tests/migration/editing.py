"""Documents that a script edits, and that therefore knows where every block went: the truth that a table is held to.

A document is a list of paragraphs, and a block is a paragraph. The script moves lists of words about, and aligns none.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from karat.core import Document, Span
from karat.migration import Block, Edition
from karat.text import canonical, outline

_LEAST_WORDS = 12
"""Of a paragraph that is edited: with fewer, one new word makes it another paragraph."""


@dataclass
class Piece:
    """A paragraph of the new version, with the old blocks that it holds."""

    text: str
    origins: list[int] = field(default_factory=list)


@dataclass
class Edited:
    """Two versions of a document, and what became of each old block: the positions of its new ones, in order."""

    old: Edition
    new: Edition
    truth: dict[int, list[int]]
    edits: dict[int, str]
    """What was done to an old block; nothing for those that only moved because of others."""


def paragraphs_of(document: Document) -> list[str]:
    """Return the blocks of a document's outline as texts."""
    text = canonical(document.text)
    data = text.encode()
    return [data[block.span.start : block.span.end].decode() for block in outline(text).blocks]


def make_edition(document: str, paragraphs: Sequence[str], prefix: str = "b") -> Edition:
    """Return a document of paragraphs with a blank line between them."""
    blocks, at = [], 0
    for number, text in enumerate(paragraphs):
        size = len(text.encode())
        blocks.append(Block(id=f"{prefix}{number}", span=Span(at, at + size)))
        at += size + 2
    return Edition(document=document, text="\n\n".join(paragraphs), blocks=tuple(blocks))


def edit(document: str, paragraphs: Sequence[str], news: Sequence[str], rng: random.Random, rate: float) -> Edited:
    """Return a document and an edited version of it; a share of the blocks is edited, each in one way."""
    pieces = [Piece(text, [at]) for at, text in enumerate(paragraphs)]
    edits: dict[int, str] = {}
    for at in range(len(paragraphs)):
        if rng.random() >= rate:
            continue
        kind = rng.choice(("insert", "delete", "move", "split", "merge", "reword"))
        place = next((i for i, piece in enumerate(pieces) if at in piece.origins), None)
        if place is None or len(pieces[place].origins) > 1:
            continue
        if _apply(kind, pieces, place, news, rng):
            edits[at] = kind
    truth = {at: [i for i, piece in enumerate(pieces) if at in piece.origins] for at in range(len(paragraphs))}
    new = make_edition(document, [piece.text for piece in pieces], "n")
    return Edited(make_edition(document, paragraphs), new, truth, edits)


def _apply(kind: str, pieces: list[Piece], place: int, news: Sequence[str], rng: random.Random) -> bool:
    """Do an edit, and return whether it can be done to this block."""
    piece = pieces[place]
    words = piece.text.split(" ")
    is_whole = not any(piece is not other and set(piece.origins) & set(other.origins) for other in pieces)
    if not is_whole:
        return False
    match kind:
        case "insert":
            pieces.insert(place, Piece(rng.choice(news)))
        case "delete":
            pieces.pop(place)
        case "move":
            pieces.insert(rng.randrange(len(pieces)), pieces.pop(place))
        case "split" if len(words) >= 2 * _LEAST_WORDS:
            cut = rng.randrange(_LEAST_WORDS, len(words) - _LEAST_WORDS + 1)
            halves = [Piece(" ".join(part), list(piece.origins)) for part in (words[:cut], words[cut:])]
            pieces[place : place + 1] = halves
        case "merge" if place + 1 < len(pieces) and len(pieces[place + 1].origins) == 1:
            following = pieces.pop(place + 1)
            pieces[place] = Piece(f"{piece.text} {following.text}", [*piece.origins, *following.origins])
        case "reword" if len(words) >= 2 * _LEAST_WORDS:
            words[rng.randrange(len(words))] = "Brandnew"
            pieces[place] = Piece(" ".join(words), piece.origins)
        case _:
            return False
    return True
