"""Embedding models on this machine, through sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from karat.core import UsageError
from karat.net import find_version
from karat.systems._local_model import load_local_model
from karat.systems.embed._embedder import Matrix, check_texts


class SentenceTransformers:
    """Embeds with a model in a folder or in the cache of Hugging Face; nothing is downloaded."""

    def __init__(self, model: str, *, batch: int = 32) -> None:
        if not model:
            raise UsageError("sentence-transformers needs the name of a model, as in sentence-transformers:my/model")
        self._model = load_local_model("SentenceTransformer", model, f"the embedder sentence-transformers:{model}")
        self.model = model
        self.batch = batch
        self.size = self._encode([""]).shape[1]  # by a test: the method that returns it has had two names

    @property
    def name(self) -> str:
        """The model, and the version of the library, which may change its vectors."""
        return f"sentence-transformers:{self.model}@{find_version('sentence-transformers')}"

    def describe(self) -> dict[str, Any]:
        """Return everything known here that decides what the vectors are."""
        return {
            "kind": "sentence-transformers",
            "model": self.model,
            "version": find_version("sentence-transformers"),
            "tokens": self._model.max_seq_length,
        }

    def __call__(self, texts: Sequence[str], /) -> Matrix:
        """Return one row of length 1 for each text."""
        checked = check_texts(texts)
        return self._encode(checked) if checked else np.empty((0, self.size), np.float32)

    def _encode(self, texts: list[str]) -> Matrix:
        vectors = self._model.encode(
            texts,
            batch_size=self.batch,
            normalize_embeddings=True,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        return np.asarray(vectors, np.float32)
