"""Chunks kept in a file, so that unchanged documents are not chunked again."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from karat.core import Document, InputError, Span
from karat.systems._chunk import Chunk
from karat.systems.index import Saved, fingerprint, save

_ABOUT = {"kind": "chunks"}
_CODE = ("text", "systems/chunk")
_Row = tuple[str, str, int, int, str, str, str]


class Chunks(tuple[Chunk, ...]):
    """The chunks of all documents, in order, which can be saved and loaded."""

    __slots__ = ()

    def save(self, path: Path, fingerprint: str) -> None:
        """Write the chunks to one file, with the fingerprint of what they were made from."""
        rows = [(c.id, c.document, c.span.start, c.span.end, c.text, c.type, c.section) for c in self]
        try:
            data = msgspec.msgpack.encode(rows)
        except UnicodeEncodeError as error:  # half of a surrogate pair, which JSON can hold and UTF-8 cannot
            raise InputError(f"cannot be written: {error.reason}", source=str(path)) from None
        save(path, fingerprint, _ABOUT, {"chunks": np.frombuffer(data, np.uint8)})

    @classmethod
    def load(cls, path: Path, fingerprint: str) -> Chunks:
        """Read saved chunks; raise InputError if they were made from something else, or in another way."""
        with Saved(path, fingerprint, _ABOUT) as saved:
            data = saved.array("chunks").tobytes()
            try:
                rows = msgspec.msgpack.decode(data, type=list[_Row])
            except msgspec.MsgspecError as error:
                raise saved.damaged(str(error)) from None
        return cls(
            Chunk(id=name, document=document, span=Span(start, end), text=text, type=kind, section=section)
            for name, document, start, end, text, kind, section in rows
        )


def fingerprint_chunks(chunker: Mapping[str, Any], documents: Sequence[Document]) -> str:
    """Return the fingerprint of all that decides what the chunks are: chunker, its code, and the documents."""
    described = {"chunker": chunker, "code": _hash_code(), "unicode": unicodedata.unidata_version}
    return fingerprint(described, _texts(documents))


def _texts(documents: Sequence[Document]) -> Iterator[str]:
    for document in documents:
        yield from (document.id, document.title, document.text)


@cache
def _hash_code() -> str:
    """Return the hash of the code that cuts texts: chunks of another version of it must not be used."""
    digest = hashlib.sha256()
    for folder in _CODE:
        for file in sorted((Path(__file__).parents[1] / folder).glob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()
