"""A cross-encoder on this machine, through sentence-transformers."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from karat.core import SystemFailed, UsageError
from karat.net import find_version, require_package
from karat.systems._chunk import Chunk
from karat.systems._local_model import EXTRA, load_local_model


class CrossEncoder:
    """Reads query and chunk together with a model in a folder or in the cache of Hugging Face.

    Nothing is downloaded. Scores are between 0 and 1: the sigmoid of the model's output.
    """

    def __init__(self, model: str, *, batch: int = 32, device: str | None = None) -> None:
        if not model or batch < 1:
            raise UsageError(
                f"model {model!r}, batch={batch} of the cross-encoder; name a model, and a batch from 1 up"
            )
        self._model, self._batch, self._device = model, batch, device
        self._loaded: Any = None
        self._lock = threading.Lock()

    def describe(self) -> dict[str, Any]:
        """Return everything that decides the scores."""
        return {
            "kind": "cross-encoder",
            "model": self._model,
            "activation": "sigmoid",
            "sentence-transformers": find_version("sentence-transformers"),
        }

    def __call__(self, query: str, chunks: Sequence[Chunk], /) -> list[float]:
        """Return the model's score for each chunk."""
        if not chunks:
            return []
        pairs = [(query, chunk.text) for chunk in chunks]
        with self._lock:  # one model, and it uses all cores by itself
            encoder = self._encoder()
            sigmoid = require_package("torch", extra=EXTRA, purpose="the cross-encoder").nn.Sigmoid()
            scores = encoder.predict(
                pairs, batch_size=self._batch, activation_fn=sigmoid, convert_to_numpy=True, show_progress_bar=False
            )
        if scores.ndim != 1:
            raise SystemFailed(
                f"cross-encoder {self._model} returns {scores.shape[1]} scores for each pair; choose a model with one"
            )
        return [float(score) for score in scores]

    def _encoder(self) -> Any:
        if self._loaded is None:
            purpose = f"the cross-encoder {self._model}"
            self._loaded = load_local_model("CrossEncoder", self._model, purpose, device=self._device)
        return self._loaded
