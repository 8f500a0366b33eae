"""What karat asks of an embedder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from karat.core import InputError, UsageError, shorten

Matrix: TypeAlias = NDArray[np.float32]
Real = TypeVar("Real", np.float32, np.float64)


class ModelMissing(InputError):
    """The model is not installed; the hint says how to get it. The pipeline goes on with the lexical channel alone."""


class Embedder(Protocol):
    """Turns texts into vectors whose inner product says how near they are in meaning."""

    @property
    def name(self) -> str:
        """Which vectors these are: embedders of one name give the same ones, so the name is the key of caches."""
        ...

    @property
    def size(self) -> int:
        """How many numbers a vector has."""
        ...

    def __call__(self, texts: Sequence[str], /) -> Matrix:
        """Give one row of length 1 for each text."""
        ...

    def describe(self) -> dict[str, Any]:
        """Give all that decides what the vectors are, as plain data for fingerprints."""
        ...


def check_texts(texts: Sequence[str]) -> list[str]:
    """Give the texts as every model can take them, or say what is none.

    Half of a surrogate pair, which JSON can hold and UTF-8 cannot, becomes the replacement character.

    >>> check_texts(["pool", "a" + chr(0xD83D)])
    ['pool', 'a\ufffd']
    >>> check_texts("pool")
    Traceback (most recent call last):
    karat.core._errors.UsageError: 'pool' is one text; give a list of texts
    """
    if isinstance(texts, str | bytes):
        raise UsageError(f"{shorten(texts)} is one text; give a list of texts")
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise UsageError(f"text {number} is {shorten(text)}, not a string")
    return [text if text.isascii() else _well_formed(text) for text in texts]


def _well_formed(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def normalised(matrix: NDArray[Real]) -> NDArray[Real]:
    """Scale every row to length 1; a row of zeros stays one, and is near to nothing."""
    largest = np.abs(matrix).max(axis=1, keepdims=True)
    largest[largest == 0] = 1
    scaled: NDArray[Real] = matrix / largest  # squares of numbers near 1 are neither too large nor too small
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    scaled /= lengths
    return scaled
