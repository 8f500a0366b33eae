"""Models of the package sentence-transformers, for those who have it: karat itself installs no torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from karat.core import InputError, UsageError
from karat.systems._package import package, version_of
from karat.systems.embed._embedder import Matrix, check_texts


class SentenceTransformers:
    """Embeds with a model that sentence-transformers can load, by its name or from a folder."""

    def __init__(self, model: str, *, batch: int = 32) -> None:
        if not model:
            raise UsageError("sentence-transformers needs the name of a model, as in sentence-transformers:my/model")
        library = package(
            "sentence_transformers",
            install="'karat[sentence-transformers]'",
            what=f"the embedder sentence-transformers:{model}",
        )
        try:
            self._model = library.SentenceTransformer(model)
        except (OSError, ValueError) as error:  # what the library raises where there is no such model, or no network
            raise InputError(f"sentence-transformers cannot load it: {error}", source=model) from None
        self.model = model
        self.batch = batch

    @property
    def name(self) -> str:
        """The model, and the version of the library, which decides how it is read."""
        return f"sentence-transformers:{self.model}@{version_of('sentence-transformers')}"

    @property
    def size(self) -> int:
        """How many numbers a vector has."""
        return int(self._model.get_sentence_embedding_dimension())

    def describe(self) -> dict[str, Any]:
        """Give all that decides what the vectors are, as far as it can be known from here."""
        return {
            "kind": "sentence-transformers",
            "model": self.model,
            "version": version_of("sentence-transformers"),
            "tokens": self._model.max_seq_length,
        }

    def __call__(self, texts: Sequence[str], /) -> Matrix:
        """Give one row of length 1 for each text."""
        found = self._model.encode(
            check_texts(texts),
            batch_size=self.batch,
            normalize_embeddings=True,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        return np.asarray(found, np.float32).reshape(len(texts), self.size)
