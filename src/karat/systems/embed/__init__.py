"""Embedders, which turn texts into vectors: the built-in model, others on this machine or behind HTTP; and a cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core import open_lazily
from karat.systems.embed._choice import make_embedder
from karat.systems.embed._embedder import Embedder, Matrix, ModelMissing

if TYPE_CHECKING:
    from karat.systems.embed._cache import Cached, Questions, find_cache, with_cache
    from karat.systems.embed._endpoint import Endpoint
    from karat.systems.embed._granite import Granite
    from karat.systems.embed._sentence_transformers import SentenceTransformers

__all__ = [
    "Cached",
    "Embedder",
    "Endpoint",
    "Granite",
    "Matrix",
    "ModelMissing",
    "Questions",
    "SentenceTransformers",
    "find_cache",
    "make_embedder",
    "with_cache",
]

_HOME = {
    **dict.fromkeys(("Cached", "Questions", "find_cache", "with_cache"), "_cache"),
    "Endpoint": "_endpoint",
    "Granite": "_granite",
    "SentenceTransformers": "_sentence_transformers",
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
