"""Embeddings on disk, so that no text is embedded twice by one model."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from karat.core import InputError
from karat.systems.embed._embedder import Embedder, Matrix, check_texts
from karat.systems.embed._store import Store

_SLICE = 256  # so many texts are embedded before they are written: what a killed process has to do again


def cached(embedder: Embedder, path: str | os.PathLike[str], *, say: Callable[[str], None] | None = None) -> Cached:
    """Give an embedder that looks into a file first, and adds to it what it had to ask for.

    One file serves many embedders, which it knows apart by their names, and many processes at once. A damaged file is
    moved aside, and one that cannot be written to is not used: ``say`` gets the message (by default it is a warning).
    """
    return Cached(embedder, Store(path, say or _warn))


class Cached:
    """An embedder with a memory; made by :func:`cached`."""

    def __init__(self, embedder: Embedder, store: Store) -> None:
        self.embedder = embedder
        self._store = store

    @property
    def name(self) -> str:
        """The embedder's own: what is remembered is the same."""
        return self.embedder.name

    @property
    def size(self) -> int:
        """How many numbers a vector has."""
        return self.embedder.size

    def describe(self) -> dict[str, Any]:
        """Give what the embedder says of itself."""
        return self.embedder.describe()

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        self._store.close()

    def __call__(self, texts: Sequence[str], /) -> Matrix:
        """Give one row of length 1 for each text; the embedder is asked only for texts that it was never asked for."""
        checked = check_texts(texts)
        keys = [hashlib.sha256(text.encode()).digest() for text in checked]
        wanted = dict(zip(keys, checked, strict=True))
        found = self._store.read(self.name, list(wanted))
        missing = {key: text for key, text in wanted.items() if key not in found}
        for part in _slices(missing):
            fresh = dict(zip(part, self.embedder(list(part.values())), strict=True))
            self._store.write(self.name, fresh)
            found.update(fresh)
        return self._matrix([found[key] for key in keys])

    def _matrix(self, rows: Sequence[Matrix]) -> Matrix:
        if not rows:
            return np.empty((0, self.size), np.float32)
        if len(sizes := {len(row) for row in rows}) > 1:
            raise InputError(
                f"holds vectors of {' and of '.join(map(str, sorted(sizes)))} numbers under one name, {self.name}",
                source=self._store.name,
                hint="the model behind the name has changed; use another file",
            )
        return np.stack(rows)


def _slices(texts: Mapping[bytes, str]) -> Iterator[dict[bytes, str]]:
    items = iter(texts.items())
    while part := dict(islice(items, _SLICE)):
        yield part


def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=2)
