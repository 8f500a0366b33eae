"""The protocol of an embedder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from karat.core import InputError, UsageError, shorten

Matrix: TypeAlias = NDArray[np.float32]
Real = TypeVar("Real", np.float32, np.float64)


class ModelMissing(InputError, UsageError):
    """The model is not installed, or is another one; the hint says how to install it.

    As a UsageError it ends a run: otherwise every question would fail.
    """


class Embedder(Protocol):
    """Turns texts into vectors whose inner product measures similarity of meaning."""

    @property
    def name(self) -> str:
        """The key of caches: embedders with the same name return the same vectors."""
        ...

    @property
    def size(self) -> int:
        """The number of dimensions of a vector."""
        ...

    def __call__(self, texts: Sequence[str], /) -> Matrix:
        """Return one row of length 1 for each text."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return everything that decides what the vectors are, as plain data for fingerprints."""
        ...


def check_texts(texts: Sequence[str]) -> list[str]:
    """Return a list of texts that every model accepts; UsageError is raised for anything but texts.

    Half of a surrogate pair, which JSON can hold and UTF-8 cannot, becomes the replacement character.

    >>> check_texts(["pool", "a" + chr(0xD83D)])
    ['pool', 'a\ufffd']
    >>> check_texts("pool")
    Traceback (most recent call last):
    karat.core._errors.UsageError: 'pool' is one text; pass a list of texts
    """
    if isinstance(texts, str | bytes):
        raise UsageError(f"{shorten(texts)} is one text; pass a list of texts")
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise UsageError(f"text {number} is {shorten(text)}, not a string")
    return [text if text.isascii() else _replace_surrogates(text) for text in texts]


def _replace_surrogates(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def normalise(matrix: NDArray[Real]) -> NDArray[Real]:
    """Return the matrix with every row scaled to length 1; a row of zeros stays as it is."""
    largest = np.abs(matrix).max(axis=1, keepdims=True)
    largest[largest == 0] = 1
    scaled: NDArray[Real] = matrix / largest  # so that squares neither overflow nor underflow
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    scaled /= lengths
    return scaled
