"""The cache of embeddings: no text is embedded twice by the same model, in whichever project it is."""

from __future__ import annotations

import hashlib
import math
import os
import platform
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from karat.core import InputError
from karat.files import find_cache_folder
from karat.systems.embed._embedder import Embedder, Matrix, check_texts
from karat.systems.embed._vector_file import VectorFile

LIMIT = 2e9
"""Bytes."""
_SLICE = 256  # texts that are embedded between two writes: what a killed process has to do again


def find_cache() -> Path | None:
    """Return the file of the user's cache of embeddings, or None if the environment turns it off.

    It is ``embeddings/vectors.sqlite`` in the user's cache. Without a home folder RuntimeError is raised.
    """
    folder = find_cache_folder()
    return None if folder is None else folder / "embeddings" / "vectors.sqlite"


def with_cache(
    embedder: Embedder,
    path: str | os.PathLike[str],
    *,
    limit: float = LIMIT,
    say: Callable[[str], None] | None = None,
) -> Cached:
    """Return an embedder that reads known vectors from a file, and adds the others to it.

    One file serves many embedders, which it tells apart by name, and many processes at once. It holds about ``limit``
    bytes; vectors that were not used for the longest time are deleted. A damaged file is moved aside, and a file that
    cannot be written is not used: ``say`` gets the message (a warning by default).
    """
    return Cached(embedder, VectorFile(path, say or _warn, limit))


class Cached:
    """An embedder with a cache; made by :func:`with_cache`."""

    def __init__(self, embedder: Embedder, file: VectorFile) -> None:
        self.embedder = embedder
        self._file = file

    @property
    def name(self) -> str:
        """The embedder's own name: its vectors are the same with a cache."""
        return self.embedder.name

    @property
    def size(self) -> int:
        """The number of dimensions of a vector."""
        return self.embedder.size

    def describe(self) -> dict[str, Any]:
        """Return the embedder's own description."""
        return self.embedder.describe()

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        self._file.close()

    def __call__(self, texts: Sequence[str], /) -> Matrix:
        """Return one row of length 1 for each text; the embedder gets only the texts that the file does not have."""
        checked = check_texts(texts)
        keys = [hashlib.sha256(text.encode()).digest() for text in checked]
        text_of = dict(zip(keys, checked, strict=True))
        vectors = self._file.read(self.name, list(text_of))
        missing = {key: text for key, text in text_of.items() if key not in vectors}
        for part in _slices(missing):
            fresh = dict(zip(part, self.embedder(list(part.values())), strict=True))
            self._file.write(self.name, fresh)
            vectors.update(fresh)
        return self._matrix([vectors[key] for key in keys])

    def _matrix(self, rows: Sequence[Matrix]) -> Matrix:
        if not rows:
            return np.empty((0, self.size), np.float32)
        if len(sizes := {len(row) for row in rows}) > 1:
            raise InputError(
                f"holds vectors of {' and of '.join(map(str, sorted(sizes)))} dimensions under one name, {self.name}",
                source=self._file.name,
                hint="the model behind the name has changed; remove the file, or give the model another name",
            )
        return np.stack(rows)


class Questions:
    """Embeds single questions. One that an earlier run embedded costs nothing, and counts the time that it took then.

    So latency is never better than the truth, and nobody pays for the same questions at every check. Times of another
    kind of machine are not used. Questions that are asked at the same time as others are not recorded, since they take
    longer than one alone. The first question of a process takes longer, too: a local model embeds it once more, and
    that time is recorded; of a service, which may have to be paid, it is not recorded.
    """

    def __init__(self, embedder: Embedder, path: str | os.PathLike[str], say: Callable[[str], None]) -> None:
        self._embedder = embedder
        self._name = f"{embedder.name} for questions on {platform.machine()} with {os.cpu_count()} cores"
        self._file = VectorFile(path, say, LIMIT)
        self._lock = threading.Lock()
        self._active = self._started = 0
        self._is_warm = False
        self._is_local = not getattr(embedder, "is_remote", False)
        self._fresh: dict[bytes, tuple[Matrix, float | None]] = {}

    def __call__(self, text: str, /) -> tuple[Matrix, float]:
        """Return the vector of a question, and the milliseconds that it took."""
        key = hashlib.sha256(check_texts([text])[0].encode()).digest()
        with self._lock:
            self._active += 1
            self._started += 1
            is_alone, number = self._active == 1, self._started
        try:
            vector, milliseconds = self._read(key) if is_alone else (None, None)
            if vector is None or milliseconds is None:
                vector, milliseconds = recorded = self._embed(text)
                is_first = not self._is_warm
                if is_first and is_alone and self._is_local and self._started == number:
                    recorded = self._embed(text)
                with self._lock:
                    if is_alone and self._started == number and (self._is_local or not is_first):
                        self._fresh[key] = recorded
                    self._is_warm = True
        finally:
            with self._lock:
                self._active -= 1
        return vector, milliseconds

    def _embed(self, text: str) -> tuple[Matrix, float]:
        start = time.perf_counter()
        vector = self._embedder([text])[0]
        return vector, (time.perf_counter() - start) * 1000

    def _read(self, key: bytes) -> tuple[Matrix, float] | tuple[None, None]:
        """Return the vector and the time of a question; nothing if the file has no time that can be true."""
        vector, milliseconds = self._file.read_timed(self._name, [key]).get(key, (None, None))
        if vector is None or not isinstance(milliseconds, float) or not 0 < milliseconds < math.inf:
            return None, None
        return vector, milliseconds

    def close(self) -> None:
        """Write what is new to the file, and close it."""
        with self._lock:
            fresh, self._fresh = self._fresh, {}
        if fresh:
            self._file.write_timed(self._name, fresh)
        self._file.close()


def _slices(texts: Mapping[bytes, str]) -> Iterator[dict[bytes, str]]:
    items = iter(texts.items())
    while part := dict(islice(items, _SLICE)):
        yield part


def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=2)
